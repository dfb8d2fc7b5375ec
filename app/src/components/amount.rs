//! Money as it is on record: exact, with its currency, aligned by its digits.

use domain::money::Money;
use leptos::prelude::*;

/// An amount, or a dash where the operation moves no money.
#[component]
pub fn Amount(
    /// The amount.
    amount: Option<Money>,
) -> impl IntoView {
    match amount {
        Some(amount) => view! { <span class="amount">{amount.to_string()}</span> }.into_any(),
        None => view! {
            <span class="amount amount--none">
                <span aria-hidden="true">"–"</span>
                <span class="visually-hidden">"no amount"</span>
            </span>
        }
        .into_any(),
    }
}
