//! A refused action, explained where it was taken: what happened, what did not, what is safe now,
//! and the particulars of this case from the record itself.

use chrono::{DateTime, Utc};
use domain::{
    action::Verb,
    lease::LeaseState,
    problem::Code,
    view::{OperationDetail, Receipt, TimelineItem},
};
use leptos::prelude::*;

use crate::{
    components::{
        amount_field::amount_to_mend,
        notice::right,
        receipt_view::decided,
        refusal_summary::{refusal_frame, to_mend},
        timestamp::Timestamp,
    },
    error::{Field, RefusalView},
    text,
};

/// The summary at the top of a form; it takes the focus as the page comes.
#[component]
pub fn RefusalSummary<'a>(
    /// Why the action was refused.
    refusal: &'a RefusalView,
    /// Which action.
    verb: Verb,
    /// The record as it is now.
    detail: &'a OperationDetail,
    /// The decision that stands instead, where there is one.
    other: Option<&'a Receipt>,
) -> impl IntoView {
    refusal_frame(refusal.code, particulars(refusal, verb, detail, other))
}

fn particulars(
    refusal: &RefusalView,
    verb: Verb,
    detail: &OperationDetail,
    other: Option<&Receipt>,
) -> AnyView {
    match refusal.code {
        Code::Unprocessable
            if verb == Verb::Compensate
                && matches!(refusal.field, Some(Field::AmountMinor | Field::Currency)) =>
        {
            amount_to_mend(verb)
        }
        Code::Unprocessable => refusal.field.map(to_mend).into_any(),
        Code::Stale => changes(refusal.shown, detail),
        Code::DecidedOtherwise => other
            .filter(|other| other.target == detail.row.id.to_string())
            .map(other_decision)
            .into_any(),
        Code::PermissionMissing => right(refusal.missing.unwrap_or(verb.permission())),
        Code::TooEarly => refusal.at.or(detail.not_before).map(possible_from).into_any(),
        Code::NotAllowedInState
            if verb == Verb::Release && detail.row.lease.state == LeaseState::Live =>
        {
            lease(detail)
        }
        Code::NotAllowedInState => {
            let words = format!(
                "It is {} now, at version {}.",
                detail.row.status.label(),
                detail.row.version
            );
            view! { <p>{words}</p> }.into_any()
        }
        _ => ().into_any(),
    }
}

fn possible_from(at: DateTime<Utc>) -> AnyView {
    view! {
        <p>
            "Possible from " <Timestamp at/> "."
        </p>
    }
    .into_any()
}

fn lease(detail: &OperationDetail) -> AnyView {
    let lease = &detail.row.lease;
    let words = match (lease.beat_at, lease.lease_until) {
        (Some(beat), Some(until)) => format!(
            "Last beat {}; the lease ends {} unless it is renewed.",
            text::ago(beat, detail.as_of),
            text::instant(until)
        ),
        _ => return ().into_any(),
    };
    view! { <p>{words}</p> }.into_any()
}

fn other_decision(other: &Receipt) -> AnyView {
    view! {
        <p>
            {format!("{}: {}, ", other.actor, decided(other))} <Timestamp at=other.at/> ". "
            <a href=format!("/receipts/{}", other.id)>"Read its receipt"</a>
        </p>
    }
    .into_any()
}

/// The events that moved the version since the page was shown.
#[must_use]
pub fn since(shown: i64, timeline: &[TimelineItem]) -> Vec<TimelineItem> {
    timeline
        .iter()
        .filter(|item| item.version.is_some_and(|version| version > shown))
        .cloned()
        .collect()
}

fn changes(shown: Option<i64>, detail: &OperationDetail) -> AnyView {
    let Some(shown) = shown else { return ().into_any() };
    let changes = since(shown, &detail.timeline);
    let now = format!(
        "Your page showed version {shown}; it is version {} now, {}.",
        detail.row.version,
        detail.row.status.label()
    );
    let operation = detail.row.id;
    let list = (!changes.is_empty()).then(|| {
        view! {
            <ul>
                {changes
                    .into_iter()
                    .map(|item| {
                        view! {
                            <li>
                                <Timestamp at=item.at/>
                                {format!(", {}: {} ", item.actor, item.sentence)}
                                <a href=format!("/operations/{operation}#{}", item.anchor)>
                                    {format!("version {}", item.version.unwrap_or_default())}
                                </a>
                            </li>
                        }
                    })
                    .collect_view()}
            </ul>
        }
    });
    view! {
        <p>{now}</p>
        {list}
        <p>"The form below now carries the new version: look first, then decide again."</p>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(version: Option<i64>) -> TimelineItem {
        let at = DateTime::from_timestamp(0, 0).unwrap();
        TimelineItem { version, attempt: 1, ..TimelineItem::new("e1".into(), "O16", "", at) }
    }

    #[test]
    fn only_what_moved_the_version_since_counts_as_a_change() {
        let timeline = [item(Some(6)), item(None), item(Some(7)), item(Some(8))];
        let versions: Vec<_> =
            since(6, &timeline).into_iter().filter_map(|item| item.version).collect();
        assert_eq!(versions, [7, 8]);
        assert!(since(8, &timeline).is_empty());
    }
}
