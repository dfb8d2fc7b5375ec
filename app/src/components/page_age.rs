//! Since when a page is right, and the way to read it again: a line above every page. Without scripts
//! it is a link; with them it says what has changed since (`crate::islands::Live`).

use chrono::{DateTime, Utc};
use domain::record::RecordType;
use leptos::prelude::*;

use super::timestamp::Timestamp;
use crate::{
    islands::Live,
    location::{self, PartShown},
};

/// The line above the page at a path, asked for at an instant in the tenant of a short name.
pub fn page_age(as_of: DateTime<Utc>, tenant: &str, path: &str, query: &str) -> AnyView {
    let href = location::afresh(path, query);
    let words = move || {
        view! { "Read " <Timestamp at=as_of/> ". " <span class="live-again">"Refresh"</span> }
    };
    let Some(about) = about(path) else {
        return view! { <p class="live"><a href=href>{words()}</a></p> }.into_any();
    };
    let stream = location::href("/live", [("tenant", tenant), ("since", "")]);
    let since = as_of.timestamp_millis().to_string();
    let may_miss = may_miss(path, query).to_owned();
    view! { <Live stream since about may_miss href>{words()}</Live> }.into_any()
}

/// What a new record may not do where the page shows a part of its list alone; nothing where it shows the
/// beginning of all of it. Leases are operations of which some are held: no notice says which.
fn may_miss(path: &str, query: &str) -> &'static str {
    match location::part_shown(query) {
        Some(PartShown::Filtered) => "match these filters",
        Some(PartShown::Further) => "stand on this page",
        None if path.trim_matches('/') == "leases" => "have a lease",
        None => "",
    }
}

/// What a page is about: one record (`operation/id`), the records of a list (`operation`), everything
/// (nothing named), or nothing that changes by itself.
fn about(path: &str) -> Option<String> {
    let (first, id) = match path.trim_start_matches('/').split_once('/') {
        Some((first, rest)) => (first, rest.split('/').next()),
        None => (path.trim_start_matches('/'), None),
    };
    let records = match first {
        "" => return Some(String::new()),
        // Its rows are operations, but not every operation is one of its rows (`may_miss`).
        "leases" => RecordType::Operation.label(),
        "compensations" => RecordType::Compensation.label(),
        // Not gathered, noted or searched for, so no kind of record to those.
        "bulks" => "bulk",
        first => RecordType::ALL
            .into_iter()
            .find(|kind| kind.list().trim_start_matches('/') == first)?
            .label(),
    };
    Some(id.map_or_else(|| records.to_owned(), |id| format!("{records}/{id}")))
}

#[cfg(test)]
mod tests {
    use super::{about, may_miss};

    #[test]
    fn a_page_knows_what_it_is_about() {
        for (path, what) in [
            ("/", Some("")),
            ("/operations", Some("operation")),
            ("/operations/7", Some("operation/7")),
            ("/operations/7/confirm", Some("operation/7")),
            ("/outbox/7", Some("event/7")),
            ("/inbox", Some("message")),
            ("/compensations/7/retry", Some("compensation/7")),
            ("/leases", Some("operation")),
            ("/bulks", Some("bulk")),
            ("/bulks/7/pause", Some("bulk/7")),
            ("/audit", None),
            ("/me", None),
            ("/admin/kinds/x", None),
        ] {
            assert_eq!(about(path).as_deref(), what, "{path}");
        }
    }

    #[test]
    fn a_new_operation_is_promised_as_a_new_row_only_where_each_is_one() {
        assert_eq!(may_miss("/operations", ""), "");
        assert_eq!(may_miss("/leases", ""), "have a lease");
        assert_eq!(may_miss("/leases", "?status=stale"), "match these filters");
    }
}
