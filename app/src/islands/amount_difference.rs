//! The difference between the amount on record and the one that is typed, as it is typed.

use domain::money::Money;
use leptos::{ev, prelude::*, wasm_bindgen::JsCast as _, web_sys::HtmlInputElement};

use super::alive;
use crate::difference::{NOTHING, typed};

/// The difference in words.
#[island]
pub fn AmountDifference(
    /// The amount on record, in minor units.
    record_minor: i64,
    /// Its currency.
    #[prop(into)]
    record_currency: String,
    /// The ids of the inputs for an amount in minor units and for its currency.
    fields: (String, String),
    /// What stands in them.
    values: (String, String),
) -> impl IntoView {
    let record = Money { amount_minor: record_minor, currency: record_currency };
    let (written, set_written) = signal(values);
    let alive = alive();
    Effect::new(move || {
        let fields = fields.clone();
        let read = move || set_written.set((value(&fields.0), value(&fields.1)));
        // A browser may have put a text back when one came back to the page.
        read();
        let handle = window_event_listener(ev::input, move |_| read());
        on_cleanup(move || handle.remove());
    });
    let words = move || written.with(|(amount, currency)| typed(&record, amount, currency));
    let said = {
        let words = words.clone();
        // Without scripts nothing follows what is typed: only what came with the page is said.
        move || (alive.get() || words() != NOTHING).then_some("")
    };
    view! { <span data-said=said>{words}</span> }
}

fn value(id: &str) -> String {
    let input = document().get_element_by_id(id);
    let input = input.and_then(|input| input.dyn_into::<HtmlInputElement>().ok());
    input.map(|input| input.value()).unwrap_or_default()
}
