//! A kind's policy as a form: what was typed, what it means, what it would loosen, and writing it.
//!
//! Looking at the changes is a GET whose address holds what was typed; writing them posts the same
//! fields. So nothing is lost on the way, and a refusal comes back to the form as it was.

use std::collections::BTreeMap;

use domain::action::{Subject, TargetType, Verb};
use engine::{ActionRequest, Decided, store::kind::KindPolicy};
use form_urlencoded::Serializer;
use leptos::prelude::*;

use super::{
    context::{caller, carry_out, engine, explain},
    redirect::{Target, go},
    refused::{Kept, RefusedForm},
};
use crate::{
    error::{ConsoleError, Field, RefusalView},
    location::pairs,
    span,
};

/// Where the form is posted to.
pub const POSTED_TO: &str = "/act/kinds/put";
/// Marks an address that holds a typed policy: an unticked box is not in it.
pub const TYPED: &str = "typed";
/// The most of one typed field that is kept, in bytes.
const MAX_BYTES: usize = 2_000;

/// A policy as it was typed: texts by the names of its fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Typed(BTreeMap<String, String>);

/// The policy that the form of a new kind begins with: the safe side of everything, like the
/// database's own defaults.
#[must_use]
pub fn fresh() -> KindPolicy {
    KindPolicy {
        name: String::new(),
        irreversible: true,
        harmless_reason: None,
        money: false,
        amount_pointer: None,
        currency_pointer: None,
        provider: None,
        lookup: false,
        absent_is_proof: false,
        honours_keys: false,
        key_ttl_ms: None,
        call_deadline_ms: 10_000,
        lease_ms: 30_000,
        settle_window_ms: 60_000,
        max_attempts: 5,
        max_claims: 10,
        max_reconcile_tries: 6,
        backoff_ms: 1_000,
        retention_ms: None,
        approval_threshold_minor: Some(0),
        masked_pointers: Vec::new(),
        search_pointers: Vec::new(),
        reference_url: None,
        undo_kind: None,
        undo_reference_member: None,
        purge_after_ms: None,
        publication: false,
        approval_ttl_ms: 86_400_000,
    }
}

/// The name that a field of a policy has in the form and in an address.
#[must_use]
pub fn input_name(field: Field) -> String {
    format!("policy[{}]", field.as_str())
}

impl Typed {
    /// A policy as the form shows it.
    #[must_use]
    pub fn of(policy: &KindPolicy) -> Self {
        let mut typed = Self::default();
        let p = policy;
        let whole = |number: Option<i64>| number.map(|number| number.to_string());
        let length = |ms: Option<i64>| ms.map(span::written);
        let yes = |is: bool| is.then(|| "true".to_owned());
        let list = |pointers: &[String]| Some(pointers.join(", "));
        for (field, text) in [
            (Field::Name, Some(p.name.clone())),
            (Field::Irreversible, yes(p.irreversible)),
            (Field::HarmlessReason, p.harmless_reason.clone()),
            (Field::Money, yes(p.money)),
            (Field::AmountPointer, p.amount_pointer.clone()),
            (Field::CurrencyPointer, p.currency_pointer.clone()),
            (Field::Provider, p.provider.clone()),
            (Field::Lookup, yes(p.lookup)),
            (Field::AbsentIsProof, yes(p.absent_is_proof)),
            (Field::HonoursKeys, yes(p.honours_keys)),
            (Field::KeyTtlMs, length(p.key_ttl_ms)),
            (Field::CallDeadlineMs, length(Some(p.call_deadline_ms))),
            (Field::LeaseMs, length(Some(p.lease_ms))),
            (Field::SettleWindowMs, length(Some(p.settle_window_ms))),
            (Field::MaxAttempts, whole(Some(p.max_attempts.into()))),
            (Field::MaxClaims, whole(Some(p.max_claims.into()))),
            (Field::MaxReconcileTries, whole(Some(p.max_reconcile_tries.into()))),
            (Field::BackoffMs, length(Some(p.backoff_ms))),
            (Field::RetentionMs, length(p.retention_ms)),
            (Field::ApprovalThresholdMinor, whole(p.approval_threshold_minor)),
            (Field::MaskedPointers, list(&p.masked_pointers)),
            (Field::SearchPointers, list(&p.search_pointers)),
            (Field::ReferenceUrl, p.reference_url.clone()),
            (Field::UndoKind, p.undo_kind.clone()),
            (Field::UndoReferenceMember, p.undo_reference_member.clone()),
            (Field::PurgeAfterMs, length(p.purge_after_ms)),
            (Field::Publication, yes(p.publication)),
            (Field::ApprovalTtlMs, length(Some(p.approval_ttl_ms))),
        ] {
            typed.put(field, text.unwrap_or_default());
        }
        typed
    }

    /// What an address holds; `None` for one without a typed policy.
    #[must_use]
    pub fn from_query(query: &str) -> Option<Self> {
        let pairs = pairs(query);
        pairs.iter().any(|(name, _)| name == TYPED).then(|| {
            let named = pairs.into_iter().filter_map(|(name, text)| {
                let name = name.strip_prefix("policy[")?.strip_suffix(']')?.to_owned();
                Some((name, text))
            });
            Self::from(named.collect::<BTreeMap<_, _>>())
        })
    }

    /// A field's text; empty where it was left out.
    #[must_use]
    pub fn text(&self, field: Field) -> &str {
        self.0.get(field.as_str()).map_or("", String::as_str)
    }

    /// Whether a box was ticked.
    #[must_use]
    pub fn yes(&self, field: Field) -> bool {
        matches!(self.text(field), "true" | "on" | "1")
    }

    /// Every field that says something, for the form that sends it on.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    fn put(&mut self, field: Field, text: String) {
        if !text.is_empty() {
            self.0.insert(field.as_str().to_owned(), text);
        }
    }

    /// What it means.
    ///
    /// # Errors
    /// The field that cannot be read.
    pub fn policy(&self) -> Result<KindPolicy, Field> {
        Ok(KindPolicy {
            name: self.text(Field::Name).trim().to_owned(),
            irreversible: self.yes(Field::Irreversible),
            harmless_reason: self.line(Field::HarmlessReason),
            money: self.yes(Field::Money),
            amount_pointer: self.line(Field::AmountPointer),
            currency_pointer: self.line(Field::CurrencyPointer),
            provider: self.line(Field::Provider),
            lookup: self.yes(Field::Lookup),
            absent_is_proof: self.yes(Field::AbsentIsProof),
            honours_keys: self.yes(Field::HonoursKeys),
            key_ttl_ms: self.perhaps(Field::KeyTtlMs, span::read)?,
            call_deadline_ms: self.must(Field::CallDeadlineMs, span::read)?,
            lease_ms: self.must(Field::LeaseMs, span::read)?,
            settle_window_ms: self.must(Field::SettleWindowMs, span::read)?,
            max_attempts: self.must(Field::MaxAttempts, number)?,
            max_claims: self.must(Field::MaxClaims, number)?,
            max_reconcile_tries: self.must(Field::MaxReconcileTries, number)?,
            backoff_ms: self.must(Field::BackoffMs, span::read)?,
            retention_ms: self.perhaps(Field::RetentionMs, span::read)?,
            approval_threshold_minor: self.perhaps(Field::ApprovalThresholdMinor, number)?,
            masked_pointers: self.list(Field::MaskedPointers),
            search_pointers: self.list(Field::SearchPointers),
            reference_url: self.line(Field::ReferenceUrl),
            undo_kind: self.line(Field::UndoKind),
            undo_reference_member: self.line(Field::UndoReferenceMember),
            purge_after_ms: self.perhaps(Field::PurgeAfterMs, span::read)?,
            publication: self.yes(Field::Publication),
            approval_ttl_ms: self.must(Field::ApprovalTtlMs, span::read)?,
        })
    }

    fn line(&self, field: Field) -> Option<String> {
        Some(self.text(field).trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn list(&self, field: Field) -> Vec<String> {
        let parts = self.text(field).split(',').map(str::trim);
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    fn must<T>(&self, field: Field, read: fn(&str) -> Option<T>) -> Result<T, Field> {
        read(self.text(field)).ok_or(field)
    }

    fn perhaps<T>(&self, field: Field, read: fn(&str) -> Option<T>) -> Result<Option<T>, Field> {
        match self.text(field).trim() {
            "" => Ok(None),
            text => read(text).map(Some).ok_or(field),
        }
    }

    /// The query of an address that holds it, without `?`.
    #[must_use]
    pub fn to_query(&self, version: &str, refused: Option<&RefusedForm>) -> String {
        let mut query = Serializer::new(String::new());
        query.append_pair(TYPED, "1");
        for (name, text) in self.fields() {
            query.append_pair(&format!("policy[{name}]"), text);
        }
        query.append_pair("version", version);
        let query = query.finish();
        refused.map_or_else(|| query.clone(), |refused| format!("{query}&{}", refused.to_query()))
    }
}

impl From<BTreeMap<String, String>> for Typed {
    /// Keeps known fields, each bounded.
    fn from(sent: BTreeMap<String, String>) -> Self {
        let mut typed = Self::default();
        for (name, text) in sent {
            if let Ok(field) = name.parse::<Field>() {
                typed.put(field, text[..text.floor_char_boundary(MAX_BYTES)].to_owned());
            }
        }
        typed
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

/// What a typed policy would loosen, a sentence each; or why it would be refused.
///
/// # Errors
/// The refusal, without touching the response: the form shows it beside the field.
pub async fn preview(typed: &Typed) -> Result<Vec<String>, RefusalView> {
    let policy = typed.policy().map_err(RefusalView::field)?;
    let (engine, caller) = (engine().map_err(|error| error.0)?, caller().map_err(|error| error.0)?);
    engine.preview_kind(&caller, policy).await.map_err(|error| explain(&error, &caller).0)
}

/// Writes a kind's policy; what loosens it waits for a second person.
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the form.
#[server(endpoint = "kinds/put")]
pub async fn put_kind(
    #[server(default)] policy: BTreeMap<String, String>,
    #[server(default)] version: String,
    #[server(default)] reason: String,
) -> Result<(), ConsoleError> {
    let typed = Typed::from(policy);
    let target = Subject::new(TargetType::OperationKind, typed.text(Field::Name).trim());
    let refusal = match submit(&target, &typed, &version, &reason).await {
        Ok(Decided::Done(acted)) => {
            go(&Target::receipt(acted.receipt.id, acted.replayed));
            return Ok(());
        }
        Ok(Decided::Asked { approval, .. }) => {
            go(&Target::asked(&target, approval.id));
            return Ok(());
        }
        Err(ConsoleError(refusal)) => refusal,
    };
    let refusal = RefusalView { shown: version.trim().parse().ok(), ..refusal };
    let refused = RefusedForm { refusal, kept: Kept { reason, ..Kept::default() } };
    let is_new = version.trim() == "0";
    go(&Target::policy(&target, is_new, &typed.to_query(version.trim(), Some(&refused))));
    Ok(())
}

async fn submit(
    target: &Subject,
    typed: &Typed,
    version: &str,
    reason: &str,
) -> Result<Decided, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    let version =
        version.trim().parse().map_err(|_| ConsoleError(RefusalView::field(Field::Version)))?;
    let policy = typed.policy().map_err(|field| ConsoleError(RefusalView::field(field)))?;
    let request = ActionRequest {
        policy: Some(Box::new(policy)),
        ..ActionRequest::new(target.clone(), Verb::PutKind, version, reason.trim())
    };
    let by = caller.clone();
    carry_out(&caller, async move { engine.act(&by, request).await }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> KindPolicy {
        KindPolicy {
            name: "invoice.charge".into(),
            money: true,
            amount_pointer: Some("/amount_minor".into()),
            currency_pointer: Some("/currency".into()),
            provider: Some("payments.charges".into()),
            lookup: true,
            honours_keys: true,
            key_ttl_ms: Some(86_400_000),
            call_deadline_ms: 1_500,
            settle_window_ms: 0,
            masked_pointers: vec!["/card".into(), "/customer/first name".into()],
            reference_url: Some("https://pay.example/{reference}".into()),
            ..fresh()
        }
    }

    #[test]
    fn a_policy_that_is_opened_and_sent_back_has_not_changed() {
        let typed = Typed::of(&policy());
        assert_eq!(typed.policy(), Ok(policy()));
        let query = typed.to_query("3", None);
        assert!(query.bytes().all(|b| b.is_ascii_graphic()), "{query}");
        assert_eq!(Typed::from_query(&query), Some(typed));
    }

    #[test]
    fn a_slip_names_its_field() {
        for (field, slip) in [
            (Field::LeaseMs, "soon"),
            (Field::MaxAttempts, "3.5"),
            (Field::ApprovalThresholdMinor, "a lot"),
            (Field::RetentionMs, "-1 d"),
        ] {
            let mut typed = Typed::of(&policy());
            typed.put(field, slip.into());
            assert_eq!(typed.policy(), Err(field), "{slip}");
        }
    }

    #[test]
    fn a_pointer_with_a_comma_is_refused_rather_than_forgotten() {
        let mut typed = Typed::of(&policy());
        typed.put(Field::MaskedPointers, "/a,b".into());
        assert_eq!(typed.policy().unwrap().masked_pointers, ["/a", "b"]);
    }
}
