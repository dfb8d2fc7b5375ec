//! Records of any kind as a list: where each stands, what it is, and the way to it.

use domain::view::RecordRef;
use leptos::prelude::*;

use super::{amount::Amount, key::Key};

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
        label => format!("{} \u{b7} {label}", record.record.label()),
    };
    view! {
        <li class="related">
            <strong>{record.status.replace('_', " ")}</strong>
            {name}
            <span class="cell-sub">{what} " " <Amount amount=record.amount.clone()/></span>
        </li>
    }
    .into_any()
}
