//! The timeline: an ordered list that reads without the drawing, and the drawing of the same.
//!
//! Every item has a link of its own.

pub mod axis;
mod scale;
mod story;

use chrono::{DateTime, Utc};
use domain::{operation::Status, record::RecordType, view::TimelineItem};
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
/// The most of another record's name, in bytes of the page.
const MAX_NAME: usize = 120;
/// Details that are quoted below the sentence instead of standing in the fold.
const QUOTED: [&str; 2] = ["Reason", "Note"];

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
    /// When the lease of its running call ran out, where nobody noted that yet.
    lapsed: Option<DateTime<Utc>>,
) -> impl IntoView {
    let entries: Vec<_> =
        story(items, as_of, ended, lapsed).iter().map(|told| entry(told, piece)).collect();
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
        Entry::Gap(silence) => silence.entry(),
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
        view! { <span><a href=format!("/receipts/{receipt}")>"Receipt"</a></span> }
    });
    let quoted = |text: &str| {
        let words = format!("\u{201c}{}\u{201d}", text::cut_end(text, MAX_TEXT));
        view! { <p class="timeline-who">{words}</p> }
    };
    let said = QUOTED.into_iter().filter_map(|name| item.says(name)).map(quoted).collect_view();
    let error = item.says("Error").map(|error| {
        view! { <p class="timeline-who">{text::cut_end(error, MAX_TEXT)}</p> }
    });
    let of = item.of.as_ref().map(|of| {
        let words = format!("{} {}", text::capitalised(of.record.label()), of.key);
        let words = text::cut_end(&words, MAX_NAME);
        view! { <span><a href=of.record.page(&of.id)>{words}</a></span> }
    });
    let bulk = item.says("Bulk").map(|id| {
        view! { <span><a href=format!("/bulks/{id}")>"Bulk"</a></span> }
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
                {said}
                {error}
                <p class="timeline-who">
                    {initials} <span>{item.actor.clone()}</span> {of} {receipt} {bulk}
                </p>
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
    let folded = |(name, _): &&(String, String)| {
        !QUOTED.contains(&name.as_str()) && name != "Error" && name != "Bulk"
    };
    let detail = item.detail.iter().filter(folded).cloned();
    let pairs: Vec<_> = pairs.into_iter().flatten().chain(detail).collect();
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
        ("audit", _) => IconName::Person,
        (_, Some(status)) => IconName::of(status),
        (_, None) => item.of.as_ref().map_or(IconName::Info, |of| of_record(of.record)),
    }
}

/// The icon of another record in the story.
const fn of_record(record: RecordType) -> IconName {
    match record {
        RecordType::Workflow => IconName::Workflow,
        RecordType::Event => IconName::Outbox,
        RecordType::Message => IconName::Inbox,
        RecordType::Conflict => IconName::Conflict,
        RecordType::Approval => IconName::People,
        _ => IconName::Info,
    }
}
