//! A form that waits while its sender proves who they are (T12), and what is shown once on a page that
//! answers a form.
//!
//! Guards against typed words in an address: they travel in the body of a request and in hidden inputs of
//! the page that answers it, and nowhere else.

use domain::{action::Outcome, problem::Code};
use form_urlencoded::Serializer;
use http::{HeaderName, request::Parts};
use leptos::prelude::use_context;

use crate::{
    api::{
        refused::{Kept, read_ids, ticked},
        written::written,
    },
    error::Field,
};

/// By which a form's handler says that its sender must prove who they are first: the page of the form. The
/// server takes it off again before anything leaves.
pub const HOLD: HeaderName = HeaderName::from_static("onceover-hold-form");
/// What the names of held fields begin with on the page that asks for the factor.
pub const PREFIX: &str = "held.";

/// What a person is asked to prove themselves by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FactorField {
    /// The password.
    #[default]
    Password,
    /// A code of the second factor.
    Code,
    /// The identity provider, by its name and its page, which opens beside the form.
    Provider(String, String),
}

/// A form that was sent and is held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldForm {
    /// The page that it stands on.
    pub page: String,
    /// Its fields as they were sent.
    pub fields: Vec<(String, String)>,
    /// What is asked for.
    pub factor: FactorField,
    /// Why the last try at the factor was refused.
    pub refused: Option<Code>,
}

impl HeldForm {
    /// The one that this page is rendered for.
    #[must_use]
    pub fn of_request() -> Option<Self> {
        use_context::<Parts>()?.extensions.get::<Self>().cloned()
    }

    /// The first value of a field; nothing where it is not there.
    #[must_use]
    pub fn value(&self, name: &str) -> &str {
        self.fields
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    }

    /// The fields as a form's body has them.
    #[must_use]
    pub fn encoded(&self) -> String {
        Serializer::new(String::new()).extend_pairs(&self.fields).finish()
    }

    /// The version that the form was opened at.
    #[must_use]
    pub fn version(&self) -> Option<i64> {
        self.value("version").trim().parse().ok()
    }

    /// What was typed, the choice among it: it is the sender's own, given back as it was.
    #[must_use]
    pub fn kept(&self) -> Kept {
        let text = |name| self.value(name).to_owned();
        Kept {
            reason: text("reason"),
            external_reference: text("external_reference"),
            amount_minor: text("amount_minor"),
            currency: text("currency"),
            evidence: written(self.value("evidence_kept"), self.value("evidence")),
            form_key: text("form_key"),
            evidence_files: read_ids(self.value("evidence_files")),
            outcome: self.value("outcome").parse::<Outcome>().ok(),
            force: ticked(self.value(Field::Force.as_str())),
            overrides: ticked(self.value(Field::Override.as_str())),
            ..Kept::default()
        }
    }
}

/// What a page shows to whoever asked for it, and never again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownOnce {
    /// The secret of a second factor that was begun: as text, and as a link.
    Secret {
        /// For typing.
        text: String,
        /// For a QR code.
        link: String,
    },
    /// Recovery codes.
    RecoveryCodes(Vec<String>),
}

impl ShownOnce {
    /// What this page is rendered for.
    #[must_use]
    pub fn of_request() -> Option<Self> {
        use_context::<Parts>()?.extensions.get::<Self>().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_form_comes_back_with_its_choice() {
        let fields = [
            ("version", "3"),
            ("outcome", "happened"),
            ("override", "true"),
            ("reason", "seen"),
            ("evidence_kept", "Ticket 7"),
            ("evidence", "and the page"),
        ];
        let held = HeldForm {
            fields: fields.map(|(name, value)| (name.into(), value.into())).to_vec(),
            ..HeldForm::default()
        };
        let kept = held.kept();
        assert_eq!((held.version(), kept.outcome), (Some(3), Some(Outcome::Happened)));
        assert!(kept.evidence.contains("Ticket 7") && kept.evidence.contains("and the page"));
        assert_eq!(kept.reason, "seen");
        assert!(kept.overrides);
        assert!(!HeldForm::default().kept().overrides);
    }
}
