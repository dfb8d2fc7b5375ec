//! The amount on record beside what others say, with the difference as a line of its own.

use domain::money::Money;
use leptos::prelude::*;

use crate::difference::{NONE, in_words};

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
        let difference = record.map_or_else(
            || "nothing on record to compare with".to_owned(),
            |record| in_words(record, amount),
        );
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
