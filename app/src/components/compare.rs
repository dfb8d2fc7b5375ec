//! The amount on record beside what others say, with the difference as a line of its own.

use domain::money::Money;
use leptos::prelude::*;

use super::diff::{difference, signed};

/// Who states an amount, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// Who says it, such as `The provider says now`.
    pub who: String,
    /// The amount, where one was named.
    pub amount: Option<Money>,
}

/// The comparison.
#[component]
pub fn Compare(
    /// The amount on record.
    record: Option<Money>,
    /// What others say.
    stated: Vec<Stated>,
) -> impl IntoView {
    let on_record = record.as_ref().map_or_else(|| "no amount".to_owned(), Money::to_string);
    view! {
        <dl class="compare">
            <div>
                <dt>"On record"</dt>
                <dd>{on_record}</dd>
            </div>
            {stated.into_iter().map(move |stated| lines(record.as_ref(), stated)).collect_view()}
        </dl>
    }
    .into_any()
}

fn lines(record: Option<&Money>, stated: Stated) -> impl IntoView + use<> {
    let words =
        stated.amount.as_ref().map_or_else(|| "names no amount".to_owned(), Money::to_string);
    let difference = stated.amount.as_ref().map(|amount| {
        let difference = difference_words(record, amount);
        let class = if difference == NONE { "" } else { "compare-difference" };
        view! {
            <div class=class>
                <dt>"Difference"</dt>
                <dd>{difference}</dd>
            </div>
        }
    });
    view! {
        <div>
            <dt>{stated.who}</dt>
            <dd>{words}</dd>
        </div>
        {difference}
    }
}

const NONE: &str = "none";

/// The difference in words: `none`, `+63.00 EUR`, `another currency`.
#[must_use]
pub fn difference_words(record: Option<&Money>, stated: &Money) -> String {
    match record {
        None => "nothing on record to compare with".to_owned(),
        Some(record) if record.currency != stated.currency => "another currency".to_owned(),
        Some(record) => match difference(record, stated) {
            Some(difference) if difference.amount_minor == 0 => NONE.to_owned(),
            Some(difference) => signed(&difference),
            None => "too large to name".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(amount_minor: i64, currency: &str) -> Money {
        Money { amount_minor, currency: currency.into() }
    }

    #[test]
    fn a_difference_is_named_and_currencies_are_told_apart() {
        let record = money(12_900, "EUR");
        assert_eq!(difference_words(Some(&record), &money(12_900, "EUR")), "none");
        assert_eq!(difference_words(Some(&record), &money(19_200, "EUR")), "+63.00 EUR");
        assert_eq!(difference_words(Some(&record), &money(12_900, "USD")), "another currency");
        assert_eq!(difference_words(None, &money(1, "EUR")), "nothing on record to compare with");
    }
}
