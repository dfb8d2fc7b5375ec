//! Records of any kind as a list: where each stands, what it is, and the way to it.

use domain::view::RecordRef;
use leptos::prelude::*;

use super::{
    amount::Amount,
    key::Key,
    record_state::{record_label, record_state},
};

/// The list.
#[must_use]
pub fn record_list<'a>(records: impl IntoIterator<Item = &'a RecordRef>) -> AnyView {
    let items = records.into_iter().map(item).collect_view();
    view! { <ul class="relations">{items}</ul> }.into_any()
}

/// One of them; what is no longer on record has no page.
fn item(record: &RecordRef) -> AnyView {
    let key = view! { <Key text=record.key.clone()/> };
    let name = if record.status == "gone" {
        key.into_any()
    } else {
        view! { <a href=record.record.href(&record.page_id)>{key}</a> }.into_any()
    };
    let what = match record.label.as_str() {
        "" => record.record.label().to_owned(),
        label => {
            format!("{} \u{b7} {}", record.record.label(), record_label(record.record, label))
        }
    };
    let amount = record.amount.clone().map(|amount| {
        view! { " \u{b7} " <Amount amount=Some(amount)/> }
    });
    view! {
        <li class="related">
            {record_state(record.record, &record.status, false)}
            {name}
            <span class="cell-sub">{what} {amount}</span>
        </li>
    }
    .into_any()
}
