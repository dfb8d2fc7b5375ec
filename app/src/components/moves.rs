//! The story of a record that is no operation: its moves as an ordered list that reads without a
//! drawing, each with a link of its own.

use std::str::FromStr;

use chrono::{DateTime, Utc};
use domain::{ids::OperationId, view::MoveView};
use leptos::prelude::*;

use super::{
    icon::{Icon, IconName},
    mark::Mark,
    silence::Silence,
    slice::Slice,
};
use crate::text;

/// Moves that one page shows.
pub const MOVES: usize = 50;
/// The most of one text of a move that is shown, in bytes of the page: what is longer stands in full
/// where it was said, on a receipt or in the JSON API.
const MAX_TEXT: usize = 400;

/// One move in words.
#[derive(Debug, Clone)]
pub struct Told {
    /// Its anchor, unique on the page.
    pub anchor: String,
    /// What happened, in a sentence.
    pub sentence: String,
    /// Whose colour and which icon it has.
    pub icon: IconName,
    /// The state after, as a word of `data-status`.
    pub status: Option<&'static str>,
    /// The move.
    pub step: MoveView,
    /// Which record it belongs to, where the story is of several: what to say and where it stands.
    pub of: Option<(String, Option<String>)>,
    /// The receipt, where a person decided.
    pub receipt: Option<OperationId>,
}

/// A machine's moves as a story; `sentence` has the words of its rules.
#[must_use]
pub fn told<S: FromStr + Into<Mark>>(
    steps: &[MoveView],
    sentence: impl Fn(&MoveView) -> String,
) -> Vec<Told> {
    let tell = |(index, step): (usize, &MoveView)| {
        let mark: Option<Mark> = step.to.parse::<S>().ok().map(Into::into);
        Told {
            anchor: format!("m{}", index + 1),
            sentence: sentence(step),
            icon: mark.map_or(IconName::Info, |mark| mark.icon),
            status: mark.map(|mark| mark.like.as_str()),
            step: step.clone(),
            of: None,
            receipt: None,
        }
    };
    steps.iter().enumerate().map(tell).collect()
}

/// Moves, oldest first, with the date where it changes, the silences between them, and the way to the
/// others.
#[component]
pub fn Moves<'a>(
    /// The moves of the piece.
    told: Vec<Told>,
    /// Which piece.
    piece: &'a Slice,
    /// When they were read, where the record is not over and these are its last moves.
    #[prop(default = None)]
    now: Option<DateTime<Utc>>,
) -> impl IntoView {
    let (mut day, mut before) = (None, None);
    let last = told.last().map(|told| told.step.at);
    let open = last.zip(now).and_then(|(last, now)| Silence::until_now(last, now, None));
    let entries: Vec<_> = told
        .into_iter()
        .map(|told| {
            let before: Option<DateTime<Utc>> = before.replace(told.step.at);
            let silence = before.and_then(|before| Silence::between(before, told.step.at, None));
            let silence = silence.map(Silence::entry);
            let today = text::day(told.step.at);
            let heading = (day.replace(today.clone()) != Some(today)).then(|| {
                let day = text::day_with_zone(told.step.at);
                view! { <li class="timeline-day"><span>{day}</span></li> }
            });
            view! { {silence} {heading} {entry(told, piece)} }
        })
        .collect();
    let open = open.map(Silence::entry);
    let ways = piece.ways();
    view! { <ol class="timeline">{entries} {open}</ol> {ways} }.into_any()
}

/// A detail that says something.
fn detail<'a>(step: &'a MoveView, name: &str) -> Option<&'a str> {
    let found = step.detail.iter().find(|(known, value)| known == name && !value.is_empty());
    found.map(|(_, value)| value.as_str())
}

fn entry(told: Told, piece: &Slice) -> AnyView {
    let Told { anchor, sentence, icon, status, step, of, receipt } = told;
    let class =
        if step.by_person { "timeline-item timeline-item--person" } else { "timeline-item" };
    let initials = step.by_person.then(|| {
        view! { <span class="initials" aria-hidden="true">{text::initials(&step.actor)}</span> }
    });
    let quoted = |text: &str| {
        let words = format!("\u{201c}{}\u{201d}", text::cut_end(text, MAX_TEXT));
        view! { <p class="timeline-who">{words}</p> }
    };
    let reason = detail(&step, "reason").or_else(|| detail(&step, "Reason")).map(quoted);
    let note = detail(&step, "Note").map(quoted);
    let error = detail(&step, "error").map(|error| {
        view! { <p class="timeline-who">{text::cut_end(error, MAX_TEXT)}</p> }
    });
    let of = of.map(|(words, href)| match href {
        Some(href) => view! { <span><a href=href>{words}</a></span> }.into_any(),
        None => view! { <span>{words}</span> }.into_any(),
    });
    let receipt = receipt.map(|receipt| {
        view! { <span><a href=format!("/receipts/{receipt}")>"Receipt"</a></span> }
    });
    let pairs = [("rule".to_owned(), step.rule.clone())]
        .into_iter()
        .chain(step.from.clone().map(|from| ("from".to_owned(), from)))
        .chain((!step.to.is_empty()).then(|| ("to".to_owned(), step.to.clone())))
        .chain((step.version > 0).then(|| ("version".to_owned(), step.version.to_string())))
        .chain(step.detail.iter().cloned())
        .map(|(name, value)| {
            view! { <div><dt>{name}</dt><dd>{text::cut_end(&value, MAX_TEXT)}</dd></div> }
        })
        .collect_view();
    view! {
        <li class=class id=anchor.clone() data-status=status>
            <a class="timeline-at" href=piece.link(&anchor)>
                <time datetime=text::machine(step.at) title=text::instant_in_full(step.at)>
                    {text::time_of_day_ms(step.at)}
                </time>
            </a>
            <span class="timeline-dot"><Icon name=icon/></span>
            <div class="timeline-body">
                <p class="timeline-sentence">{sentence}</p>
                {reason}
                {note}
                {error}
                <p class="timeline-who">{initials} <span>{step.actor}</span> {of} {receipt}</p>
                <details class="fold raw">
                    <summary>"Raw event"</summary>
                    <dl class="timeline-detail">{pairs}</dl>
                </details>
            </div>
        </li>
    }
    .into_any()
}
