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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_in_words_that_claim_no_more_than_it_does() {
        let done = |amount| ProviderAnswer::Done { external_reference: "ch_1".into(), amount };
        let money = Money { amount_minor: 12_900, currency: "EUR".into() };
        for (answer, sentence) in [
            (done(Some(money)), "The provider says it happened: ch_1, 129.00 EUR."),
            (done(None), "The provider says it happened: ch_1."),
            (ProviderAnswer::Rejected, "The provider says it rejected it."),
            (
                ProviderAnswer::SomethingElse,
                "The provider answered about something else than was asked.",
            ),
            (ProviderAnswer::Absent, "The provider knows of no such effect right now."),
            (ProviderAnswer::NoLookup, "The provider offers no lookup."),
            (ProviderAnswer::Unreachable, "The provider could not be asked right now."),
        ] {
            assert_eq!(answer.sentence(), sentence);
        }
    }
}
