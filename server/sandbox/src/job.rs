//! One piece of a service's work, with the trouble it is to meet.
//!
//! A plan is data: it can be compared, so that a test can say *the same seed
//! gives the same story*, and it is carried out by [`crate::life`] alone.

use serde_json::{Value, json};

use crate::{EffectKind, PREVIEW, providers::Rule};

/// What a service does around one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Reserve, start, call, finish.
    Plain,
    /// The same, then the same request again.
    Replay,
    /// The same request delivered twice at once.
    Twins,
    /// The same, then the same key with another payload.
    Conflict,
    /// The service dies after reserving: its lease is left to run out.
    DiesBeforeStart,
    /// The service dies after start, before the call.
    DiesBeforeCall,
    /// The service dies after the call, before finish.
    DiesAfterCall,
    /// Left to a worker.
    Queued,
}

/// An event of the service's own, told with the success of its operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// What it is about; events of one aggregate are told in order.
    pub aggregate: String,
    /// What happened.
    pub topic: &'static str,
    /// More about it.
    pub payload: Value,
}

/// One operation to carry out.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The effect.
    pub kind: EffectKind,
    /// The engine's operation name, by default the kind's.
    pub operation: &'static str,
    /// The business key.
    pub key: String,
    /// The payload.
    pub payload: Value,
    /// Minor units; only for money.
    pub amount_minor: Option<i64>,
    /// Three letters; only for money.
    pub currency: Option<String>,
    /// What the service does.
    pub flow: Flow,
    /// What the provider does: rules without a match, set for this job alone.
    pub rules: Vec<Rule>,
    /// How long the service waits for the provider, milliseconds; none: as configured.
    pub call_deadline_ms: Option<u64>,
    /// What the service tells with a finish that says *done*.
    pub events: Vec<Told>,
}

impl Job {
    /// `invoice.charge` under the key `charge:{invoice}`.
    pub fn charge(invoice: &str, amount_minor: i64, currency: &str, customer: &str) -> Self {
        let payload = json!({ "invoice_id": invoice, "amount_minor": amount_minor, "currency": currency, "customer_id": customer });
        Self::money(
            EffectKind::Charge,
            format!("charge:{invoice}"),
            payload,
            amount_minor,
            currency,
        )
    }

    /// `invoice.refund` under the key `refund:{invoice}:{nth}`.
    pub fn refund(
        invoice: &str,
        nth: u32,
        charge_reference: &str,
        amount_minor: i64,
        currency: &str,
    ) -> Self {
        let payload = json!({
            "invoice_id": invoice, "charge_reference": charge_reference, "amount_minor": amount_minor, "currency": currency,
        });
        Self::money(
            EffectKind::Refund,
            format!("refund:{invoice}:{nth}"),
            payload,
            amount_minor,
            currency,
        )
    }

    /// `campaign.send` under the key `mail:{campaign}:{recipient}`.
    pub fn mail(campaign: &str, recipient: &str) -> Self {
        let payload = json!({ "campaign_id": campaign, "recipient_id": recipient });
        Self::plain(EffectKind::Mail, format!("mail:{campaign}:{recipient}"), payload)
    }

    /// `document.publish` under the key `publish:{document}:{version}`.
    pub fn publish(document: &str, version: u32) -> Self {
        let payload = json!({ "document_id": document, "version": version });
        Self::plain(EffectKind::Publication, format!("publish:{document}:{version}"), payload)
    }

    /// `document.unpublish` under the key `unpublish:{document}:{version}`.
    pub fn unpublish(document: &str, version: u32, publication_reference: &str) -> Self {
        let payload = json!({
            "document_id": document, "version": version, "publication_reference": publication_reference,
        });
        Self::plain(EffectKind::Unpublication, format!("unpublish:{document}:{version}"), payload)
    }

    /// `draft.generate` under the key `draft:{draft}`.
    pub fn draft(draft: &str, topic: &str) -> Self {
        Self::plain(
            EffectKind::Draft,
            format!("draft:{draft}"),
            json!({ "draft_id": draft, "topic": topic }),
        )
    }

    /// The draft as a preview, which only the service itself makes.
    #[must_use]
    pub fn preview(mut self) -> Self {
        self.operation = PREVIEW;
        self
    }

    /// With another flow.
    #[must_use]
    pub fn flow(mut self, flow: Flow) -> Self {
        self.flow = flow;
        self
    }

    /// With one more rule at the provider.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// With one more event of the service's own.
    #[must_use]
    pub fn tells(mut self, aggregate: &str, topic: &'static str, payload: Value) -> Self {
        self.events.push(Told { aggregate: aggregate.to_owned(), topic, payload });
        self
    }

    /// With another deadline for the provider's answer.
    #[must_use]
    pub fn deadline_ms(mut self, ms: u64) -> Self {
        self.call_deadline_ms = Some(ms);
        self
    }

    /// The invoice, recipient or document: what a rule can match before the
    /// provider key is known.
    pub fn subject(&self) -> Option<&str> {
        let name = match self.kind {
            EffectKind::Charge | EffectKind::Refund => "invoice_id",
            EffectKind::Mail => "recipient_id",
            EffectKind::Publication | EffectKind::Unpublication => "document_id",
            EffectKind::Draft => return None,
        };
        self.payload.get(name).and_then(Value::as_str)
    }

    /// The same key with another payload: 10.00 more, or one field more where no money moves.
    pub(crate) fn contradiction(&self) -> Self {
        let mut other = self.clone();
        match self.amount_minor {
            Some(amount) => {
                other.amount_minor = Some(amount + 1_000);
                other.payload["amount_minor"] = (amount + 1_000).into();
            }
            None => other.payload["template"] = "second-thought".into(),
        }
        other
    }

    fn money(
        kind: EffectKind,
        key: String,
        payload: Value,
        amount_minor: i64,
        currency: &str,
    ) -> Self {
        Self {
            amount_minor: Some(amount_minor),
            currency: Some(currency.to_owned()),
            ..Self::plain(kind, key, payload)
        }
    }

    fn plain(kind: EffectKind, key: String, payload: Value) -> Self {
        Self {
            kind,
            operation: kind.operation(),
            key,
            payload,
            amount_minor: None,
            currency: None,
            flow: Flow::Plain,
            rules: Vec::new(),
            call_deadline_ms: None,
            events: Vec::new(),
        }
    }
}
