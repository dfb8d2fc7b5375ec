//! The verdict band: one sentence a person acts on, the safety as a word, and what it rests on.

use domain::verdict::{Safety, Verdict};
use leptos::prelude::*;

use super::icon::{Icon, IconName};

/// What stands in the band.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    safety: Safety,
    /// The safety in a word or two.
    word: &'static str,
    sentence: String,
    grounds: Vec<String>,
}

impl Standing {
    /// It is over.
    pub fn over(sentence: impl Into<String>) -> Self {
        Self::new(Safety::Final, "Final", sentence)
    }

    /// Machines go on by themselves.
    pub fn wait(sentence: impl Into<String>) -> Self {
        Self::new(Safety::Wait, "Wait", sentence)
    }

    /// It stands until a person decides.
    pub fn person(sentence: impl Into<String>) -> Self {
        Self::new(Safety::NeedsPerson, "Needs a person", sentence)
    }

    fn new(safety: Safety, word: &'static str, sentence: impl Into<String>) -> Self {
        Self { safety, word, sentence: sentence.into(), grounds: Vec::new() }
    }

    /// With what it rests on.
    #[must_use]
    pub fn grounds(mut self, grounds: impl IntoIterator<Item = String>) -> Self {
        self.grounds.extend(grounds);
        self
    }
}

impl From<Verdict> for Standing {
    fn from(verdict: Verdict) -> Self {
        let word = match verdict.safety {
            Safety::Final => "Final",
            Safety::SafeToRetry => "Safe to retry",
            Safety::Wait => "Wait",
            Safety::NeedsPerson => "Do not retry: needs a person",
        };
        Self { safety: verdict.safety, word, sentence: verdict.sentence, grounds: verdict.grounds }
    }
}

/// A verdict with its grounds.
#[component]
pub fn VerdictBand(
    /// The verdict.
    #[prop(into)]
    verdict: Standing,
) -> impl IntoView {
    let (safety, icon) = match verdict.safety {
        Safety::Final => ("final", IconName::Check),
        Safety::SafeToRetry => ("safe_to_retry", IconName::Retry),
        Safety::Wait => ("wait", IconName::Clock),
        Safety::NeedsPerson => ("needs_person", IconName::Person),
    };
    let grounds = (!verdict.grounds.is_empty()).then(|| {
        view! {
            <ul class="verdict-grounds">
                {verdict.grounds.into_iter().map(|ground| view! { <li>{ground}</li> }).collect_view()}
            </ul>
        }
    });
    view! {
        <section class="verdict" data-safety=safety aria-labelledby="verdict-sentence">
            <span class="verdict-mark">
                <Icon name=icon/>
            </span>
            <div class="verdict-body">
                <p class="verdict-safety">{verdict.word}</p>
                <h2 class="verdict-sentence" id="verdict-sentence">
                    {told(&verdict.sentence)}
                </h2>
                {grounds}
            </div>
        </section>
    }
    .into_any()
}

/// A sentence with its references in mono.
fn told(sentence: &str) -> Vec<AnyView> {
    let mut parts = Vec::new();
    let mut words = String::new();
    for word in sentence.split_inclusive(' ') {
        let name = word.trim_end_matches([' ', '.', ',', ':', ';']);
        if is_reference(name) {
            if !words.is_empty() {
                parts.push(std::mem::take(&mut words).into_any());
            }
            parts.push(view! { <span class="key">{name.to_owned()}</span> }.into_any());
            words.push_str(&word[name.len()..]);
        } else {
            words.push_str(word);
        }
    }
    if !words.is_empty() {
        parts.push(words.into_any());
    }
    parts
}

/// Whether a word is a provider's and nobody's: long, and with figures among its letters.
fn is_reference(word: &str) -> bool {
    word.len() >= 12
        && word.contains(|c: char| c.is_ascii_digit())
        && word.contains(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::is_reference;

    #[test]
    fn a_reference_is_told_from_the_words_around_it() {
        for reference in ["ch_2a8ba36c3963af2080bfda78", "msg_e5bbadd9eaa24fbbb6784818"] {
            assert!(is_reference(reference), "{reference}");
        }
        for word in [
            "provider's",
            "129.00",
            "acknowledgement",
            "reconciliation",
            "operator@acme.test",
            "2026-11-30",
        ] {
            assert!(!is_reference(word), "{word}");
        }
    }
}
