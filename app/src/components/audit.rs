//! What people did to a record, refusals included, for all who may see the record.

use domain::view::AuditView;
use leptos::prelude::*;

use super::{part::Part, timestamp::Timestamp};

/// Staff actions on the record, newest first.
#[component]
pub fn Audit(
    /// The rows.
    audit: Vec<AuditView>,
) -> impl IntoView {
    if audit.is_empty() {
        return ().into_any();
    }
    let count = audit.len();
    view! {
        <Part id="audit" title="What people did" count>
            <ul class="receipt-also">{audit.into_iter().map(row).collect_view()}</ul>
        </Part>
    }
    .into_any()
}

fn row(audit: AuditView) -> impl IntoView {
    let result = match (audit.result.as_str(), audit.code) {
        ("done", _) => String::new(),
        (_, Some(code)) => format!(", refused: {code}"),
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
    view! {
        <li>
            <strong>{audit.actor}</strong>
            {format!(" · {}{result} · ", audit.action)}
            <Timestamp at=audit.at/>
            {reason}
            {receipt}
        </li>
    }
}
