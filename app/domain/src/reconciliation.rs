//! What a provider says about an effect when it is asked (D13, D14).

use serde::{Deserialize, Serialize};

use crate::money::Money;

/// A provider's answer to a lookup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "says")]
pub enum ProviderAnswer {
    /// It did it.
    Done {
        /// Its own name for the effect.
        external_reference: String,
        /// The amount it names.
        #[serde(default)]
        amount: Option<Money>,
    },
    /// It refused it for good.
    Rejected,
    /// It names an object with another key or target than was asked about: no answer to the question.
    SomethingElse,
    /// It knows of no such effect; proof only where the kind says so.
    Absent,
    /// It offers no lookup, or not for this.
    NoLookup,
    /// It did not answer, or in words that cannot be read.
    Unreachable,
}

impl ProviderAnswer {
    /// What it says, in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Done { external_reference, amount: Some(amount) } => {
                format!("The provider says it happened: {external_reference}, {amount}.")
            }
            Self::Done { external_reference, amount: None } => {
                format!("The provider says it happened: {external_reference}.")
            }
            Self::Rejected => "The provider says it rejected it.".into(),
            Self::SomethingElse => {
                "The provider answered about something else than was asked.".into()
            }
            Self::Absent => "The provider knows of no such effect right now.".into(),
            Self::NoLookup => "The provider offers no lookup.".into(),
            Self::Unreachable => "The provider could not be asked right now.".into(),
        }
    }
}
