//! A refused form in an address: what a browser without WASM carries back to the form's page.
//!
//! Anybody can write such an address, so it holds a code of the closed list, ids, numbers and
//! instants; the two texts are what the person typed, bounded, and only ever become the values of
//! their own inputs. The query is read from the raw string: the router decodes `%` twice.

use chrono::{DateTime, Utc};
use domain::{access::Permission, problem::Code};
use form_urlencoded::Serializer;

use crate::error::{Field, RefusalView};

/// The most of a typed text that comes back, in characters.
pub const MAX_KEPT_CHARS: usize = 1_000;

/// A refusal and what the person had typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedForm {
    /// Why it was refused.
    pub refusal: RefusalView,
    /// What was typed, to fill the form again.
    pub kept: Kept,
}

/// Typed texts that come back after a refusal. The outcome never does: a decision is not
/// preselected.
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
}

impl RefusedForm {
    /// The query of the page that explains the refusal, without `?`.
    #[must_use]
    pub fn to_query(&self) -> String {
        let refusal = &self.refusal;
        let mut query = Serializer::new(String::new());
        let mut put = |name: &str, value: &str| {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        };
        put("refused", refusal.code.as_str());
        put("field", refusal.field.map_or("", Field::as_str));
        put("missing", &refusal.missing.map(permission_word).unwrap_or_default());
        put("shown", &refusal.shown.map(|shown| shown.to_string()).unwrap_or_default());
        put("receipt", &refusal.receipt.map(|id| id.to_string()).unwrap_or_default());
        put("at", &refusal.at.map(|at| at.timestamp_millis().to_string()).unwrap_or_default());
        put("reason", bounded(&self.kept.reason));
        put("external_reference", bounded(&self.kept.external_reference));
        put("amount_minor", bounded(&self.kept.amount_minor));
        put("currency", bounded(&self.kept.currency));
        query.finish()
    }

    /// Reads the page's raw query; `None` where it names no known code.
    #[must_use]
    pub fn from_query(query: &str) -> Option<Self> {
        let code: Code = value(query, "refused")?.parse().ok()?;
        let text = |name| bounded(&value(query, name).unwrap_or_default()).to_owned();
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
            kept: Kept {
                reason: text("reason"),
                external_reference: text("external_reference"),
                amount_minor: text("amount_minor"),
                currency: text("currency"),
            },
        })
    }
}

/// The first value of a name in a raw query, decoded once.
#[must_use]
pub fn value(query: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(query.trim_start_matches('?').as_bytes())
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

fn bounded(text: &str) -> &str {
    text.char_indices().nth(MAX_KEPT_CHARS).map_or(text, |(end, _)| &text[..end])
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
            kept: Kept { reason: reason.into(), ..Kept::default() },
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
    fn a_kept_text_is_bounded_by_characters() {
        let long = "é".repeat(MAX_KEPT_CHARS + 5);
        let back = RefusedForm::from_query(&form(&long).to_query()).unwrap();
        assert_eq!(back.kept.reason.chars().count(), MAX_KEPT_CHARS);
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
