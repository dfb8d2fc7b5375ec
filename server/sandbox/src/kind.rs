//! Which effects the fake providers know, and what each is called where.
//!
//! One table for paths, id prefixes, ledger names, webhook types and the
//! engine's operation names, so that no two of them drift apart.

use serde::{Deserialize, Serialize};

/// The operation under which a service drafts for itself, as a preview: the same provider, but no
/// worker of the engine serves it.
pub const PREVIEW: &str = "draft.preview";

/// A fake provider. Each has a ledger file of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Charges and refunds.
    Payments,
    /// Mails to recipients of a campaign.
    Mail,
    /// Published versions of documents.
    Publications,
    /// Generated texts; every call counts, no key is honoured.
    Drafts,
}

impl Provider {
    /// All of them, in the order the ledger lists them.
    pub const ALL: [Self; 4] = [Self::Payments, Self::Mail, Self::Publications, Self::Drafts];

    /// Its name in modes, ledger lines and the file `{name}.jsonl`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Payments => "payments",
            Self::Mail => "mail",
            Self::Publications => "publications",
            Self::Drafts => "drafts",
        }
    }
}

/// One sort of effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffectKind {
    /// Money taken: `invoice.charge`.
    Charge,
    /// Money given back: `invoice.refund`.
    Refund,
    /// A mail sent: `campaign.send`.
    Mail,
    /// A document version made public: `document.publish`.
    Publication,
    /// A publication taken back: `document.unpublish`.
    Unpublication,
    /// A text generated: `draft.generate`.
    Draft,
}

impl EffectKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Charge,
        Self::Refund,
        Self::Mail,
        Self::Publication,
        Self::Unpublication,
        Self::Draft,
    ];

    /// The provider that carries it out.
    pub fn provider(self) -> Provider {
        match self {
            Self::Charge | Self::Refund => Provider::Payments,
            Self::Mail => Provider::Mail,
            Self::Publication | Self::Unpublication => Provider::Publications,
            Self::Draft => Provider::Drafts,
        }
    }

    /// Its name in ledger lines and in a rule's `match.kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Refund => "refund",
            Self::Mail => "mail",
            Self::Publication => "publication",
            Self::Unpublication => "unpublication",
            Self::Draft => "draft",
        }
    }

    /// The inverse of [`Self::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The engine's operation name for it.
    pub fn operation(self) -> &'static str {
        match self {
            Self::Charge => "invoice.charge",
            Self::Refund => "invoice.refund",
            Self::Mail => "campaign.send",
            Self::Publication => "document.publish",
            Self::Unpublication => "document.unpublish",
            Self::Draft => "draft.generate",
        }
    }

    /// The inverse of [`Self::operation`].
    pub fn from_operation(operation: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.operation() == operation)
    }

    /// Where it is posted and looked up.
    pub fn path(self) -> &'static str {
        match self {
            Self::Charge => "/payments/charges",
            Self::Refund => "/payments/refunds",
            Self::Mail => "/mail/messages",
            Self::Publication => "/publications",
            Self::Unpublication => "/publications/withdrawals",
            Self::Draft => "/drafts",
        }
    }

    /// Whether it moves money, and so names an amount and a currency.
    pub fn moves_money(self) -> bool {
        self.provider() == Provider::Payments
    }

    /// What its provider's ids begin with.
    pub(crate) fn id_prefix(self) -> &'static str {
        match self {
            Self::Charge => "ch_",
            Self::Refund => "re_",
            Self::Mail => "msg_",
            Self::Publication => "pub_",
            Self::Unpublication => "unp_",
            Self::Draft => "dr_",
        }
    }

    /// The `type` of its webhook.
    pub(crate) fn webhook_type(self) -> &'static str {
        match self {
            Self::Charge => "charge.succeeded",
            Self::Refund => "refund.succeeded",
            Self::Mail => "mail.sent",
            Self::Publication => "publication.published",
            Self::Unpublication => "publication.withdrawn",
            Self::Draft => "draft.succeeded",
        }
    }

    /// The payload fields that say *whom or what* the effect met: an answer
    /// naming others is not an answer to the request (D10).
    pub fn target_fields(self) -> &'static [&'static str] {
        match self {
            Self::Charge => &["invoice_id"],
            Self::Refund => &["invoice_id", "charge_reference"],
            Self::Mail => &["campaign_id", "recipient_id"],
            Self::Publication => &["document_id", "version"],
            Self::Unpublication => &["document_id", "version", "publication_reference"],
            Self::Draft => &[],
        }
    }
}
