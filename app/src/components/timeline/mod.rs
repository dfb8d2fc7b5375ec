//! The timeline: an ordered list that reads without the drawing, and the drawing of the same.
//!
//! Every item has a link of its own.

pub mod axis;
mod scale;
mod story;

use chrono::{DateTime, Utc};
use domain::{operation::Status, view::TimelineItem};
use leptos::prelude::*;

use self::story::{Entry, story};
use super::{
    icon::{Icon, IconName},
    slice::Slice,
};
use crate::text;

/// The most of one text of an event that is shown, in bytes of the page: a reason stands in full on its
/// receipt, evidence and notes in their own parts of the page.
const MAX_TEXT: usize = 300;

/// A piece of an operation's life, oldest first.
#[component]
pub fn Timeline<'a>(
    /// The events, oldest first.
    items: &'a [TimelineItem],
    /// Which piece they are.
    piece: &'a Slice,
    /// When they were read.
    as_of: DateTime<Utc>,
    /// Whether the operation is final: it is then not waiting for anything.
    ended: bool,
) -> impl IntoView {
    let entries: Vec<_> =
        story(items, as_of, ended).iter().map(|told| entry(told, piece)).collect();
    view! { <ol class="timeline">{entries}</ol> {piece.ways()} }.into_any()
}

fn entry(entry: &Entry<'_>, piece: &Slice) -> AnyView {
    match entry {
        Entry::Day(day) => view! {
            <li class="timeline-day">
                <span>{text::day_with_zone(*day)}</span>
            </li>
        }
        .into_any(),
        Entry::Attempt(number) => view! {
            <li class="timeline-attempt">
                <span>{format!("Call {number}")}</span>
            </li>
        }
        .into_any(),
        Entry::Gap { seconds, open } => {
            let length = text::length(seconds.saturating_mul(1_000));
            let words = if *open {
                format!("no event for {length}, until now")
            } else {
                format!("no event for {length}")
            };
            view! {
                <li class="timeline-gap">
                    <span class="timeline-gap-words">{words}</span>
                </li>
            }
            .into_any()
        }
        Entry::Item(item) => happening(item, piece),
    }
}

fn happening(item: &TimelineItem, piece: &Slice) -> AnyView {
    let class =
        if item.by_person { "timeline-item timeline-item--person" } else { "timeline-item" };
    let icon = icon(item);
    let href = piece.link(&item.anchor);
    let initials = item.by_person.then(|| {
        view! {
            <span class="initials" aria-hidden="true">
                {text::initials(&item.actor)}
            </span>
        }
    });
    let receipt = item.receipt.map(|receipt| {
        view! { <a href=format!("/receipts/{receipt}")>"Receipt"</a> }
    });
    let reason = item.detail.iter().find(|(name, _)| name == "reason").map(|(_, reason)| {
        let reason = text::cut_end(reason, MAX_TEXT);
        view! { <p class="timeline-who">{format!("\u{201c}{reason}\u{201d}")}</p> }
    });
    view! {
        <li class=class id=item.anchor.clone() data-status=item.to.map(Status::as_str)>
            <a class="timeline-at" href=href>
                <time datetime=text::machine(item.at) title=text::instant_in_full(item.at)>
                    {text::time_of_day_ms(item.at)}
                </time>
            </a>
            <span class="timeline-dot">
                <Icon name=icon/>
            </span>
            <div class="timeline-body">
                <p class="timeline-sentence">{item.sentence.clone()}</p>
                {reason}
                <p class="timeline-who">{initials} <span>{item.actor.clone()}</span> {receipt}</p>
                {raw(item)}
            </div>
        </li>
    }
    .into_any()
}

/// The event as it is stored, folded.
fn raw(item: &TimelineItem) -> AnyView {
    let number =
        |name: &str, value: Option<i64>| value.map(|value| (name.to_owned(), value.to_string()));
    let state =
        |name: &str, state: Option<Status>| state.map(|state| (name.to_owned(), state.to_string()));
    let pairs = [
        Some(("rule".to_owned(), item.rule.clone())),
        state("from", item.from),
        state("to", item.to),
        number("version", item.version),
        number("fence", item.fence),
        number("attempt", Some(i64::from(item.attempt))),
    ];
    let pairs: Vec<_> = pairs.into_iter().flatten().chain(item.detail.iter().cloned()).collect();
    view! {
        <details class="fold raw">
            <summary>"Raw event"</summary>
            <dl class="timeline-detail">
                {pairs
                    .into_iter()
                    .map(|(name, value)| {
                        view! {
                            <div>
                                <dt>{name}</dt>
                                <dd>{text::cut_end(&value, MAX_TEXT)}</dd>
                            </div>
                        }
                    })
                    .collect_view()}
            </dl>
        </details>
    }
    .into_any()
}

fn icon(item: &TimelineItem) -> IconName {
    match (item.rule.as_str(), item.to) {
        ("note", _) => IconName::Pencil,
        ("evidence" | "O24" | "O25" | "O26", _) => IconName::Sheet,
        ("conflict", _) => IconName::Conflict,
        ("outbox", _) => IconName::Outbox,
        (_, Some(status)) => IconName::of(status),
        (_, None) => IconName::Info,
    }
}
