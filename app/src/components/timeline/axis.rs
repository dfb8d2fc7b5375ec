//! The compact drawing above the timeline: events on one axis, each call a lane whose lease visibly
//! ends, silences broken with their length. The list below it says the same in words.

use chrono::{DateTime, Utc};
use domain::{operation::Status, view::TimelineItem};
use leptos::prelude::*;

use super::scale::{Band, Break, Scale};
use crate::{text, zone::Zone};

const LEFT: f64 = 56.0;
const RIGHT: f64 = 630.0;
const LANE: f64 = 28.0;
const TOP: f64 = 12.0;

/// The drawing; nothing where there is no call to draw.
#[component]
pub fn Axis<'a>(
    /// The events, oldest first.
    items: &'a [TimelineItem],
    /// When they were read, where the operation has not ended.
    now: Option<DateTime<Utc>>,
    /// When the lease of its running call ran out, where nobody noted that yet.
    lapsed: Option<DateTime<Utc>>,
) -> impl IntoView {
    let scale = Scale::new(items, (now, lapsed), (LEFT, RIGHT));
    if scale.bands.is_empty() || items.len() < 2 {
        return ().into_any();
    }
    let line = TOP + LANE * lanes(&scale.bands) + 10.0;
    let height = line + 34.0;
    let words = summary(items, &scale);
    let zone = Zone::in_force().word(items[0].at);
    let (begins, ends) = (items[0].at, now.unwrap_or(items[items.len() - 1].at));
    // Two ends of one second would read as one instant.
    let same = begins.timestamp() == ends.timestamp();
    let clock = |at| if same { text::time_of_day_ms(at) } else { text::time_of_day(at) };
    let first = clock(begins);
    let last = if now.is_some() { format!("now, {}", clock(ends)) } else { clock(ends) };
    view! {
        <figure class="axis" aria-label="The same on one axis" tabindex="0">
            <svg
                class="axis-drawing"
                viewBox=format!("0 0 640 {height:.0}")
                role="img"
                aria-label=words
            >
                <line class="axis-line" x1=at(LEFT) x2=at(RIGHT) y1=at(line) y2=at(line)></line>
                {scale.bands.iter().enumerate().map(|(lane, band)| draw_band(lane, band)).collect_view()}
                {scale.breaks.iter().map(|gap| draw_break(gap, line)).collect_view()}
                {items
                    .iter()
                    .zip(&scale.places)
                    .map(|(item, place)| draw_event(item, *place, line))
                    .collect_view()}
                <text class="axis-label" x=at(LEFT) y=at(line + 24.0) text-anchor="start">
                    {first}
                </text>
                <text class="axis-label" x=at(RIGHT) y=at(line + 24.0) text-anchor="end">
                    {last}
                </text>
            </svg>
            <figcaption class="axis-caption">
                "Bands are calls; a band ends where its lease ended. Long silences are drawn short. Times are "
                {zone} "."
            </figcaption>
        </figure>
    }
    .into_any()
}

fn lanes(bands: &[Band]) -> f64 {
    f64::from(u32::try_from(bands.len()).unwrap_or(u32::MAX))
}

fn at(place: f64) -> String {
    format!("{place:.1}")
}

fn draw_band(lane: usize, band: &Band) -> impl IntoView + use<> {
    let top = TOP + LANE * f64::from(u32::try_from(lane).unwrap_or(u32::MAX));
    let class = if band.lost { "axis-lease axis-lease--lost" } else { "axis-lease" };
    let end = (!band.open).then(|| {
        view! {
            <line
                class="axis-lease-end"
                x1=at(band.to)
                x2=at(band.to)
                y1=at(top - 3.0)
                y2=at(top + 19.0)
            ></line>
        }
    });
    view! {
        <g>
            <text class="axis-lane" x="0" y=at(top + 12.0)>
                {format!("call {}", band.attempt)}
            </text>
            <rect
                class=class
                x=at(band.from)
                y=at(top)
                width=at((band.to - band.from).max(3.0))
                height="16"
                rx="3"
            ></rect>
            {end}
        </g>
    }
}

fn draw_break(gap: &Break, line: f64) -> impl IntoView + use<> {
    view! {
        <g>
            <line
                class="axis-gap"
                x1=at(gap.from + 8.0)
                x2=at((gap.to - 8.0).max(gap.from + 8.0))
                y1=at(line)
                y2=at(line)
            ></line>
            <text
                class="axis-gap-label"
                x=at(f64::midpoint(gap.from, gap.to))
                y=at(line - 8.0)
                text-anchor="middle"
            >
                {text::length(gap.seconds.saturating_mul(1_000))}
            </text>
        </g>
    }
}

fn draw_event(item: &TimelineItem, place: f64, line: f64) -> impl IntoView + use<> {
    let class = if item.by_person { "axis-event axis-event--person" } else { "axis-event" };
    let status = item.to.map(Status::as_str);
    view! { <circle class=class data-status=status cx=at(place) cy=at(line) r="5.5"></circle> }
}

fn summary(items: &[TimelineItem], scale: &Scale) -> String {
    let lost = scale.bands.iter().filter(|band| band.lost).count();
    let longest = scale.breaks.iter().map(|gap| gap.seconds).max();
    let calls = match scale.bands.len() {
        1 => "1 call".to_owned(),
        n => format!("{n} calls"),
    };
    let mut words = format!("{} events; {calls}, {lost} lost", items.len());
    if let Some(seconds) = longest {
        words.push_str("; the longest silence lasted ");
        words.push_str(&text::length(seconds.saturating_mul(1_000)));
    }
    words
}
