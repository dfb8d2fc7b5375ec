//! A refused form in an address: what a browser carries back to the form's page.
//!
//! Anybody can write such an address, so it holds a code of the closed list, ids, numbers and
//! instants; the texts are what the person typed, bounded, and only ever become the values of their
//! own inputs and plain text beside them. The query is read from the raw string: the router decodes `%` twice.

use chrono::{DateTime, Utc};
use domain::{access::Permission, action::Outcome, ids::EvidenceId, problem::Code};
use form_urlencoded::Serializer;

use crate::{
    error::{Field, RefusalView},
    location::value,
};

/// The most of a typed line that comes back, in bytes: a reason of full length, whatever its script.
const MAX_LINE_BYTES: usize = 3 * domain::action::MAX_REASON_CHARS;
/// The same of a text area, which takes 4,000 characters. Escaped, both and a reference stay below
/// the 65,534 bytes that an address may have.
const MAX_AREA_BYTES: usize = 12_000;
/// The same of a reference, a form's key, an amount and a currency.
const MAX_SHORT_BYTES: usize = 1_536;

/// A refusal and what the person had typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedForm {
    /// Why it was refused.
    pub refusal: RefusalView,
    /// What was typed, to fill the form again.
    pub kept: Kept,
}

/// Typed texts that come back after a refusal. The outcome and what is ticked do not: a decision is not
/// preselected. They stand in no address either, and come back where the sender alone had to prove who they
/// are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// The reason.
    pub reason: String,
    /// The provider's reference.
    pub external_reference: String,
    /// The amount in the evidence, in minor units.
    pub amount_minor: String,
    /// Its currency.
    pub currency: String,
    /// The evidence.
    pub evidence: String,
    /// An incident's title.
    pub summary: String,
    /// A note.
    pub text: String,
    /// The key of the note's form: sent again under it, the note is still written once (D41).
    pub form_key: String,
    /// Files that were attached before, as evidence of the same decision.
    pub evidence_files: Vec<EvidenceId>,
    /// The choice, of a form that was held.
    pub outcome: Option<Outcome>,
    /// Whether it decides against what the provider or the record says, of a form that was held.
    pub overrides: bool,
    /// Whether it takes the lease from a worker that still beats, of a form that was held.
    pub force: bool,
    /// Whether the evidence or the note was too long to come back whole.
    pub cut: bool,
}

impl RefusedForm {
    /// The query of the page that explains the refusal, without `?`.
    #[must_use]
    pub fn to_query(&self) -> String {
        let refusal = &self.refusal;
        let mut query = Serializer::new(String::new());
        let mut put = |name: &str, value: &str| put(&mut query, name, value);
        put("refused", refusal.code.as_str());
        put("field", refusal.field.map_or("", Field::as_str));
        put("missing", &refusal.missing.map(permission_word).unwrap_or_default());
        put("shown", &refusal.shown.map(|shown| shown.to_string()).unwrap_or_default());
        put("receipt", &refusal.receipt.map(|id| id.to_string()).unwrap_or_default());
        put("at", &refusal.at.map(|at| at.timestamp_millis().to_string()).unwrap_or_default());
        self.kept.write(&mut query);
        query.finish()
    }

    /// Reads the page's raw query; `None` where it names no known code.
    #[must_use]
    pub fn from_query(query: &str) -> Option<Self> {
        let code: Code = value(query, "refused")?.parse().ok()?;
        let millis = value(query, "at").and_then(|at| at.parse().ok());
        Some(Self {
            refusal: RefusalView {
                code,
                field: value(query, "field").and_then(|field| field.parse().ok()),
                missing: value(query, "missing").and_then(|word| permission(&word)),
                current: None,
                receipt: value(query, "receipt").and_then(|id| id.parse().ok()),
                at: millis.and_then(DateTime::<Utc>::from_timestamp_millis),
                shown: value(query, "shown").and_then(|shown| shown.parse().ok()),
            },
            kept: Kept::from_query(query),
        })
    }
}

impl Kept {
    /// Writes what was typed into an address.
    pub(super) fn write(&self, query: &mut Serializer<'_, String>) {
        let mut put = |name: &str, value: &str| put(query, name, value);
        put("reason", bounded(&self.reason, MAX_LINE_BYTES));
        put("external_reference", bounded(&self.external_reference, MAX_SHORT_BYTES));
        put("amount_minor", bounded(&self.amount_minor, MAX_SHORT_BYTES));
        put("currency", bounded(&self.currency, MAX_SHORT_BYTES));
        put("evidence", bounded(&self.evidence, MAX_AREA_BYTES));
        put("summary", bounded(&self.summary, MAX_SHORT_BYTES));
        put("text", bounded(&self.text, MAX_AREA_BYTES));
        put("form_key", bounded(&self.form_key, MAX_SHORT_BYTES));
        put("evidence_files", bounded(&ids(&self.evidence_files), MAX_SHORT_BYTES));
        let cut = self.cut || self.evidence.len().max(self.text.len()) > MAX_AREA_BYTES;
        put("cut", if cut { "true" } else { "" });
    }

    /// Reads what was typed from a page's raw query.
    #[must_use]
    pub fn from_query(query: &str) -> Self {
        let text = |name, max| bounded(&value(query, name).unwrap_or_default(), max).to_owned();
        Self {
            reason: text("reason", MAX_LINE_BYTES),
            external_reference: text("external_reference", MAX_SHORT_BYTES),
            amount_minor: text("amount_minor", MAX_SHORT_BYTES),
            currency: text("currency", MAX_SHORT_BYTES),
            evidence: text("evidence", MAX_AREA_BYTES),
            summary: text("summary", MAX_SHORT_BYTES),
            text: text("text", MAX_AREA_BYTES),
            form_key: text("form_key", MAX_SHORT_BYTES),
            evidence_files: read_ids(&text("evidence_files", MAX_SHORT_BYTES)),
            outcome: None,
            overrides: false,
            force: false,
            cut: value(query, "cut").is_some(),
        }
    }
}

/// Ids as one field of a form carries them.
#[must_use]
pub fn ids(ids: &[EvidenceId]) -> String {
    let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
    ids.join(" ")
}

/// The ids in such a field; what is none is left out.
#[must_use]
pub fn read_ids(text: &str) -> Vec<EvidenceId> {
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

/// Whether a box was ticked, by what its form sent.
#[must_use]
pub fn ticked(text: &str) -> bool {
    matches!(text, "true" | "on" | "1")
}

fn put(query: &mut Serializer<'_, String>, name: &str, value: &str) {
    if !value.is_empty() {
        query.append_pair(name, value);
    }
}

fn bounded(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

fn permission_word(permission: Permission) -> String {
    permission.label().replace(' ', "_")
}

fn permission(word: &str) -> Option<Permission> {
    Permission::ALL.into_iter().find(|permission| permission_word(*permission) == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(reason: &str) -> RefusedForm {
        RefusedForm {
            refusal: RefusalView {
                shown: Some(7),
                missing: Some(Permission::Confirm),
                at: DateTime::from_timestamp_millis(1_700_000_000_123),
                ..RefusalView::field(Field::ExternalReference)
            },
            kept: Kept {
                reason: reason.into(),
                evidence: format!("{reason}\n{reason}"),
                evidence_files: vec![EvidenceId::new(uuid::Uuid::from_u128(5))],
                ..Kept::default()
            },
        }
    }

    #[test]
    fn what_was_typed_comes_back_exactly() {
        for reason in
            ["", "100 % sure & paid+ = é😀", "%41%", "a\r\nLocation: https://evil", "<script>"]
        {
            let form = form(reason);
            let query = form.to_query();
            assert!(query.bytes().all(|b| b.is_ascii_graphic()), "{query}");
            assert_eq!(RefusedForm::from_query(&query), Some(form));
        }
    }

    #[test]
    fn what_fits_into_the_form_comes_back_whole_and_what_does_not_says_so() {
        let kept = Kept {
            reason: "語".repeat(domain::action::MAX_REASON_CHARS),
            external_reference: "語".repeat(512),
            evidence: "語".repeat(4_000),
            ..Kept::default()
        };
        let full = RefusedForm { kept, ..form("") };
        let query = full.to_query();
        assert!(query.len() < 65_000, "an address has at most 65,534 bytes: {}", query.len());
        assert_eq!(RefusedForm::from_query(&query), Some(full));

        let kept = Kept { text: "é".repeat(MAX_AREA_BYTES), ..Kept::default() };
        let query = RefusedForm { kept, ..form("") }.to_query();
        let back = RefusedForm::from_query(&query).unwrap().kept;
        assert_eq!(back.text.chars().count(), MAX_AREA_BYTES / 2);
        assert!(back.cut);
    }

    #[test]
    fn a_crafted_code_picks_from_the_closed_list_or_nothing() {
        assert_eq!(RefusedForm::from_query("refused=call+0800+evil"), None);
        assert_eq!(RefusedForm::from_query(""), None);
        let crafted = "refused=stale&field=x&missing=y&shown=z&receipt=%00&at=1e99";
        let form = RefusedForm::from_query(crafted).unwrap();
        assert_eq!(form.refusal, RefusalView::new(Code::Stale));
    }
}
