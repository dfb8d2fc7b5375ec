//! The way from a record to the page that gathers it into an incident.

use domain::record::RecordName;
use leptos::prelude::*;

/// The link. It changes nothing, so it stands there for every reader: its page says who may gather.
#[must_use]
pub fn gather_link(record: RecordName) -> AnyView {
    view! {
        <a class="button" href=format!("/incidents/gather?record={record}")>
            "Add to an incident"
        </a>
    }
    .into_any()
}
