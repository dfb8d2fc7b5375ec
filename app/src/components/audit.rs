//! What people did to a record, refusals included, for all who may see the record.

use domain::{
    told::{act, refusal},
    view::AuditView,
};
use leptos::prelude::*;

use super::{part::Part, slice::Slice, timestamp::Timestamp};
use crate::text;

/// What the reasons of one piece take at most, in bytes of the page.
const MAX_PIECE: usize = 12_000;
/// What an action takes besides its reason.
const FRAME: usize = 300;

/// Staff actions on the record, newest first, in pieces where much was said.
#[component]
pub fn Audit<'a>(
    /// The rows.
    audit: &'a [AuditView],
    /// The path of the record's page.
    place: &'a str,
    /// Its query.
    query: &'a str,
) -> impl IntoView {
    if audit.is_empty() {
        return ().into_any();
    }
    let count = audit.len();
    let weigh = |row: &AuditView| FRAME + row.reason.as_deref().map_or(0, text::weight);
    let piece = Slice::weighed((place, query), "audit", MAX_PIECE, audit.iter().map(weigh));
    let rows = piece.of(audit).iter().cloned().map(row).collect_view();
    view! {
        <Part id="audit" title="What people did" count>
            <ul class="receipt-also">{rows}</ul>
            {piece.ways()}
        </Part>
    }
    .into_any()
}

fn row(audit: AuditView) -> impl IntoView {
    let result = match (audit.result.as_str(), audit.code) {
        ("done", _) => String::new(),
        (_, Some(code)) => format!(", refused: {}", refusal(code)),
        (_, None) => ", refused".to_owned(),
    };
    let reason = audit.reason.filter(|reason| !reason.is_empty()).map(|reason| {
        view! { <span>{format!(" \u{201c}{reason}\u{201d}")}</span> }
    });
    let receipt = audit.receipt.map(|receipt| {
        view! {
            " "
            <a href=format!("/receipts/{receipt}")>"Receipt"</a>
        }
    });
    let bulk = audit.bulk.map(|bulk| {
        view! {
            " "
            <a href=format!("/bulks/{bulk}")>"Bulk"</a>
        }
    });
    view! {
        <li>
            <strong>{audit.actor}</strong>
            {format!(" · {}{result} · ", act(&audit.action, audit.result == "done"))}
            <Timestamp at=audit.at/>
            {reason}
            {receipt}
            {bulk}
        </li>
    }
}
