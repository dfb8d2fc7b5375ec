//! Why a page or a form gave no value: a refusal from the closed list.
//!
//! A refused form is read back from the page's own address, so anybody can craft one. Nothing here
//! holds free text: a crafted refusal can only show one of our own sentences, and no internal text can
//! leave the server through it (T41).

use std::str::FromStr;

use chrono::{DateTime, Utc};
use domain::{
    access::Permission,
    ids::OperationId,
    operation::UnknownWord,
    problem::Code,
    view::{ReceiptState, Refusal},
};
use leptos::{
    prelude::FromServerFnError,
    server_fn::{codec::JsonEncoding, error::ServerFnErrorErr},
};
use serde::{Deserialize, Serialize};

/// Why a page or a form gave no value: the server refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleError(
    /// The refusal.
    pub RefusalView,
);

impl ConsoleError {
    /// A refusal that needs no more than its code.
    #[must_use]
    pub const fn code_only(code: Code) -> Self {
        Self(RefusalView::new(code))
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.0.code
    }

    /// What happened, in a sentence.
    #[must_use]
    pub const fn title(&self) -> &'static str {
        self.code().title()
    }

    /// What did not happen, and what is safe now.
    #[must_use]
    pub const fn advice(&self) -> &'static str {
        self.code().advice()
    }
}

impl From<Refusal> for ConsoleError {
    fn from(refusal: Refusal) -> Self {
        Self(RefusalView::from(refusal))
    }
}

impl FromServerFnError for ConsoleError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        Self::code_only(match error {
            ServerFnErrorErr::Args(_) | ServerFnErrorErr::MissingArg(_) => Code::RequestInvalid,
            _ => Code::Internal,
        })
    }
}

/// A refusal as a page may know it: codes, ids, numbers and instants, no sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalView {
    /// Which.
    pub code: Code,
    /// The field that does not fit.
    pub field: Option<Field>,
    /// The right that is missing.
    pub missing: Option<Permission>,
    /// What the record looks like now.
    pub current: Option<ReceiptState>,
    /// The decision that stands instead.
    pub receipt: Option<OperationId>,
    /// From when it would be allowed.
    pub at: Option<DateTime<Utc>>,
    /// The version that the refused form showed.
    pub shown: Option<i64>,
}

impl RefusalView {
    /// A refusal that needs no more than its code.
    #[must_use]
    pub const fn new(code: Code) -> Self {
        Self {
            code,
            field: None,
            missing: None,
            current: None,
            receipt: None,
            at: None,
            shown: None,
        }
    }

    /// A field that is missing or does not fit.
    #[must_use]
    pub fn field(field: Field) -> Self {
        Self { field: Some(field), ..Self::new(Code::Unprocessable) }
    }
}

impl From<Refusal> for RefusalView {
    fn from(refusal: Refusal) -> Self {
        Self {
            code: refusal.code,
            // A member of a policy is named by its place in the JSON call.
            field: refusal.field.and_then(|field| field.trim_start_matches("policy.").parse().ok()),
            missing: refusal.missing,
            current: refusal.current,
            receipt: refusal.receipt,
            at: refusal.retry_at,
            shown: None,
        }
    }
}

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $label:literal, $mend:literal;)*) => {
        /// A form's or filter's field, by the name that it is posted under.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Field { $($(#[$doc])* $name,)* }

        impl Field {
            /// All fields.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in forms, URLs and the JSON API.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// The name that people read.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// What to write into it.
            #[must_use]
            pub const fn mend(self) -> &'static str {
                match self { $(Self::$name => $mend,)* }
            }
        }
    };
}

fields! {
    /// The version that the page showed.
    Version = "version", "Version", "Open the page again: it carries the version.";
    /// What a person found out.
    Outcome = "outcome", "What happened", "Choose one: it happened, or it did not.";
    /// The provider's reference.
    ExternalReference = "external_reference", "Provider\u{2019}s reference", "If it happened, give the reference under which the provider keeps it, at most 512 characters; what did not happen has none.";
    /// The amount in the evidence.
    AmountMinor = "amount_minor", "Amount in the evidence", "An amount as a statement has it, such as 129.00, or a whole number of the currency\u{2019}s smallest unit, such as 12900. Evidence of another amount than the one on record is not evidence of this effect.";
    /// The currency in the evidence.
    Currency = "currency", "Currency in the evidence", "Three capital letters, such as EUR.";
    /// Why.
    Reason = "reason", "Reason", "Say why in a sentence, at most 2,000 characters; it stays on the record.";
    /// What it rests on.
    Evidence = "evidence", "Evidence", "A text or a link that others can check.";
    /// A file to be given as evidence.
    File = "file", "Evidence as a file", "Choose a file that is not empty, and attach it before you decide.";
    /// Files that were attached.
    EvidenceFiles = "evidence_files", "Attached files", "Attach them again: at most ten files of this operation.";
    /// The key that a form carries.
    FormKey = "form_key", "This form", "It was used before. Open the page again.";
    /// Acting against a fresh lease.
    Force = "force", "Release although it beats", "This needs a second person.";
    /// Deciding against what is said.
    Override = "override", "Decide against it all the same", "This needs a second person.";
    /// A kind's name.
    Name = "name", "Name", "1 to 128 characters without spaces, such as invoice.charge; console.* is the engine\u{2019}s own.";
    /// Whether a repeat would harm.
    Irreversible = "irreversible", "A repeat would harm", "Leave it ticked unless a repeat does no harm.";
    /// Why it would not.
    HarmlessReason = "harmless_reason", "Why a repeat does no harm", "Say why, where a repeat does no harm: machines act on it.";
    /// Whether it moves money.
    Money = "money", "It moves money", "Money needs the places of its amount and currency.";
    /// Where the amount stands.
    AmountPointer = "amount_pointer", "Where the amount stands", "A JSON pointer such as /amount_minor; money needs one.";
    /// Where the currency stands.
    CurrencyPointer = "currency_pointer", "Where the currency stands", "A JSON pointer such as /currency; money needs one.";
    /// Who is called.
    Provider = "provider", "Provider", "The name of an endpoint in the configuration.";
    /// Whether it can be asked.
    Lookup = "lookup", "The provider can be asked", "Only where it answers lookups.";
    /// Whether its absence proves.
    AbsentIsProof = "absent_is_proof", "Its \u{201c}not found\u{201d} is proof", "Only for a provider that can be asked.";
    /// Whether it honours keys.
    HonoursKeys = "honours_keys", "A repeated key gives the first answer", "Only where the provider promises it.";
    /// For how long.
    KeyTtlMs = "key_ttl_ms", "It remembers keys for", "A length of time such as 24 h.";
    /// The longest call.
    CallDeadlineMs = "call_deadline_ms", "A call may take", "A length of time up to 1 h, such as 10 s.";
    /// How long a lease lasts.
    LeaseMs = "lease_ms", "A lease lasts without a beat", "Longer than a call may take, up to 24 h.";
    /// How late an effect may show.
    SettleWindowMs = "settle_window_ms", "An effect may show as late as", "A length of time up to 7 d.";
    /// Calls.
    MaxAttempts = "max_attempts", "Calls before it is given up", "A whole number from 1 to 1000.";
    /// Claims.
    MaxClaims = "max_claims", "Claims without a start", "A whole number from 1 to 1000.";
    /// Questions.
    MaxReconcileTries = "max_reconcile_tries", "Questions before a person decides", "A whole number from 1 to 1000.";
    /// The first pause.
    BackoffMs = "backoff_ms", "First pause between them", "A length of time up to 24 h; it doubles.";
    /// How long contents are kept.
    RetentionMs = "retention_ms", "Kept whole after its end", "A length of time such as 90 d, or nothing: for ever.";
    /// From which amount two people confirm.
    ApprovalThresholdMinor = "approval_threshold_minor", "Two people from this amount on", "A whole number of the currency\u{2019}s smallest unit; 0 is always, nothing is never.";
    /// What is masked.
    MaskedPointers = "masked_pointers", "Masked fields", "JSON pointers such as /card/number, with commas between them.";
    /// What it is found by.
    SearchPointers = "search_pointers", "Found by", "JSON pointers such as /invoice_id, with commas between them.";
    /// The provider's page.
    ReferenceUrl = "reference_url", "Provider\u{2019}s page", "Begins with https:// and holds {reference}.";
    /// What undoes it.
    UndoKind = "undo_kind", "Undone by", "The name of another kind, or nothing: it cannot be undone.";
    /// Where an undo names what it undoes.
    UndoReferenceMember = "undo_reference_member", "An undo names the reference in", "The name of a member of the undo\u{2019}s payload.";
    /// How long a tombstone is kept.
    PurgeAfterMs = "purge_after_ms", "The tombstone is kept", "A length of time, or nothing: for ever. Keys of money and publications are never freed.";
    /// Whether it makes public.
    Publication = "publication", "It makes something public", "Its keys stay closed for ever.";
    /// How long a request stands.
    ApprovalTtlMs = "approval_ttl_ms", "A request for a second person stands", "A length of time from 1 s to 30 d.";
    /// A policy as a whole.
    Policy = "policy", "The policy", "Change something: as it is, nothing would change, or two of its fields contradict each other.";
    /// What a token is called.
    TokenName = "token_name", "Name", "A line of at most 100 characters, such as billing worker, that no token of this tenant has or had.";
    /// Which kinds a token covers.
    Kinds = "kinds", "Kinds", "Names of kinds that this tenant has, with commas between them, at most 100, or leave it empty for every kind.";
    /// Which calls a token covers.
    Verbs = "verbs", "What it may be used for", "Choose at least one.";
    /// How long a token lasts.
    Days = "days", "Days until it expires", "A whole number from 1 to 365; for your own token to 90.";
    /// The role that a person is given.
    Role = "role", "New role", "Choose one that the person does not have yet.";
    /// An incident's title.
    Summary = "summary", "Title", "Say what is the matter in at most 200 characters.";
    /// What is gathered into an incident.
    Records = "records", "Records", "At most 200 at once and 1,000 in all, none of them in the incident already; go back to where they stand and pick again.";
    /// Into which incident.
    Incident = "incident", "Into which incident", "Choose a new one, or one that is open.";
    /// The id that a form carries for what it makes.
    Id = "id", "The form itself", "It is more than a day old: go back to the records and begin anew.";
    /// A note's text.
    Text = "text", "Note", "Write at least a word, at most 4,000 characters.";
    /// Who looks at it.
    Taken = "taken", "Taken by", "Use the button beside it: it says that you look at it, or that you no longer do.";
    /// A search.
    Q = "q", "Search", "At most 512 characters.";
    /// A filter by state.
    Status = "status", "State", "Choose one from the list.";
    /// A filter by kind.
    Operation = "operation", "Kind", "Choose one from the list.";
    /// A filter by age.
    From = "from", "From", "A date, at most 90 days (where nothing else is configured) before the other end.";
    /// A filter by age.
    To = "to", "To", "A date, at most 90 days (where nothing else is configured) after the other end.";
    /// The zone that days are meant in.
    Zone = "zone", "Time zone", "A name such as Europe/Berlin, or UTC.";
    /// Light or dark.
    Theme = "theme", "Theme", "Choose one from the list.";
    /// The height of rows.
    Density = "density", "Rows of lists", "Choose one from the list.";
    /// The length of a page that a person prefers.
    Rows = "rows", "Length of a page", "Choose one from the list: 25, 50, 100 or 200 rows.";
    /// Whether single keys are commands.
    Keys = "keys", "Single keys", "Use the button: it switches them on or off.";
    /// A filter by definition or kind.
    Kind = "kind", "Kind", "Choose one from the list.";
    /// A filter by topic.
    Topic = "topic", "Topic", "A topic, whole.";
    /// A filter by aggregate.
    Aggregate = "aggregate", "Aggregate", "An aggregate, whole.";
    /// A filter by consumer.
    Consumer = "consumer", "Consumer", "A consumer, whole.";
    /// A filter by source.
    Source = "source", "Source", "A source, whole.";
    /// A filter by holder.
    Holder = "holder", "Holder", "The name of a worker, whole.";
    /// A filter by an incident's cause.
    Cause = "cause", "Cause", "Choose one from the list.";
    /// A filter by who acted.
    Actor = "actor", "Who", "An email or the name of a token, whole.";
    /// An action, or a filter by it.
    Verb = "verb", "Action", "Choose one from the list.";
    /// What it was done to.
    Target = "target", "Record", "The id of a record, whole.";
    /// What narrows a list.
    Filter = "filter", "Filters", "Narrow the list by at least one filter: a set is never all there is.";
    /// A place in a list.
    Cursor = "cursor", "Page", "Start again from the first page.";
    /// The length of a page.
    Limit = "limit", "Rows", "Between 1 and 200, where nothing else is configured.";
}

impl FromStr for Field {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .iter()
            .copied()
            .find(|field| field.as_str() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_text_never_travels() {
        let secret = ServerFnErrorErr::ServerError("relation \"operations\" does not exist".into());
        let bytes = ConsoleError::from_server_fn_error(secret).ser();
        assert!(!String::from_utf8_lossy(&bytes).contains("relation"));
    }

    #[test]
    fn a_field_is_the_same_word_in_json_and_in_forms() {
        for field in Field::ALL {
            assert_eq!(field.as_str().parse(), Ok(*field));
        }
        assert!("password".parse::<Field>().is_err());
    }
}
