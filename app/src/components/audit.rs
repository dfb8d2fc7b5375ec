//! What people did to a record, refusals included, for all who may see the record.

use domain::{action::Verb, problem::Code, view::AuditView};
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

/// Why something was refused, as the end of a sentence.
#[must_use]
pub fn refusal(code: Code) -> String {
    let mut letters = code.title().trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// What was done, or what somebody wanted to do and was refused.
fn act(action: &str, done: bool) -> String {
    let (asked, word) = match action.strip_prefix("request.") {
        Some(verb) => (true, verb),
        None => (false, action),
    };
    let Ok(verb) = word.parse::<Verb>() else { return action.replace(['_', '.'], " ") };
    let (past, wish) = match verb {
        Verb::Confirm => ("confirmed the outcome", "confirm the outcome"),
        Verb::Release => ("released the lease", "release the lease"),
        Verb::Reconcile => ("asked for reconciliation", "ask for reconciliation"),
        Verb::Retry => ("granted another attempt", "grant another attempt"),
        Verb::Cancel => ("cancelled it", "cancel it"),
        Verb::Correct => ("corrected the outcome", "correct the outcome"),
        Verb::Compensate => ("asked for its undo", "have it undone"),
        Verb::Resume => ("resumed it", "resume it"),
        Verb::Approve => ("approved it", "approve it"),
        Verb::Reject => ("rejected it", "reject it"),
        Verb::Withdraw => ("withdrew it", "withdraw it"),
        Verb::Close => ("closed it", "close it"),
        other => {
            let word = other.as_str().replace('_', " ");
            return if asked { format!("asked for a second person: {word}") } else { word };
        }
    };
    match (asked, done) {
        (true, _) => format!("asked for a second person to {wish}"),
        (false, true) => past.to_owned(),
        (false, false) => format!("wanted to {wish}"),
    }
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

#[cfg(test)]
mod tests {
    use super::act;

    #[test]
    fn what_was_refused_is_never_told_as_done() {
        assert_eq!(act("confirm", true), "confirmed the outcome");
        assert_eq!(act("confirm", false), "wanted to confirm the outcome");
        assert_eq!(
            act("request.correct", true),
            "asked for a second person to correct the outcome"
        );
        // The undo has its own outcome, which nobody knows yet.
        assert_eq!(act("compensate", true), "asked for its undo");
        assert_eq!(act("put_kind", true), "put kind");
        assert_eq!(act("share_view", true), "share view");
    }
}
