//! Outcomes of the last 24 hours and the age of unknown ones: drawn on the server, each with its table
//! for those who read rather than look.
//!
//! Guards against a picture that hides the rare: one unknown outcome beside ten thousand successes is
//! still drawn, at the least height that the eye finds.

use chrono::{DateTime, Utc};
use domain::view::{AgeBucket, OutcomeHour};
use leptos::prelude::*;

use crate::{text, zone::Zone};

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 150.0;
/// Room for the hours below the bars and for the scale's word above them.
const FOOT: f64 = 22.0;
const HEAD: f64 = 18.0;
/// The least height of what happened at all.
const LEAST: f64 = 3.0;

/// What became of operations, hour by hour.
#[must_use]
pub fn outcomes(hours: &[OutcomeHour]) -> AnyView {
    let sum = |of: fn(&OutcomeHour) -> i64| hours.iter().map(of).sum::<i64>();
    let sums = [
        ("unknown", "became unknown", sum(|hour| hour.unknown)),
        ("failed_terminal", "failed", sum(|hour| hour.failed)),
        ("succeeded", "succeeded", sum(|hour| hour.succeeded)),
    ];
    let title = format!(
        "In the last 24 hours {} succeeded, {} failed, {} became unknown.",
        sums[2].2, sums[1].2, sums[0].2
    );
    let zone = hours.last().map(|hour| Zone::in_force().word(hour.from)).unwrap_or_default();
    let labels = sums
        .iter()
        .map(|(status, word, count)| {
            view! {
                <li data-status=*status>
                    <span class="chart-swatch"></span>
                    <strong>{count.to_string()}</strong>
                    " "
                    {*word}
                </li>
            }
        })
        .collect_view();
    let rows = hours
        .iter()
        .map(|hour| {
            view! {
                <tr>
                    <th scope="row">{hour_word(hour.from)}</th>
                    <td class="num">{hour.succeeded}</td>
                    <td class="num">{hour.failed}</td>
                    <td class="num">{hour.unknown}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section class="section chart" aria-labelledby="outcomes">
            <h2 class="section-title" id="outcomes">"Outcomes, last 24 hours"</h2>
            <ul class="chart-labels">{labels}</ul>
            {bars(hours, title)}
            <details class="fold">
                <summary>"As a table"</summary>
                <div class="figures-scroll" tabindex="0" role="region" aria-label="Outcomes per hour">
                    <table class="figures">
                        <thead>
                            <tr>
                                <th scope="col">{format!("Hour, {zone}")}</th>
                                <th scope="col" class="num">"Succeeded"</th>
                                <th scope="col" class="num">"Failed"</th>
                                <th scope="col" class="num">"Became unknown"</th>
                            </tr>
                        </thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            </details>
        </section>
    }
    .into_any()
}

fn hour_word(at: DateTime<Utc>) -> String {
    format!("{} {}", text::day(at), Zone::in_force().minute_of_day(at))
}

fn bars(hours: &[OutcomeHour], title: String) -> AnyView {
    let zone = Zone::in_force();
    let most = hours.iter().map(|hour| hour.succeeded + hour.failed + hour.unknown).max();
    let most = most.unwrap_or_default();
    let floor = HEIGHT - FOOT;
    let each = WIDTH / number(i64::try_from(hours.len().max(1)).unwrap_or(1));
    let parts = hours.iter().enumerate().map(|(index, hour)| {
        let left = each * number(i64::try_from(index).unwrap_or_default());
        let mut top = floor;
        let drawn = stack(hour, most)
            .into_iter()
            .map(|(status, height)| {
                top -= height;
                view! {
                    <rect
                        class="chart-bar"
                        data-status=status
                        x=place(left + 1.0)
                        y=place(top)
                        width=place(each - 2.0)
                        height=place(height)
                    ></rect>
                }
            })
            .collect_view();
        let label = zone.hour(hour.from).is_multiple_of(6).then(|| {
            view! {
                <text class="chart-word" x=place(left + each / 2.0) y=place(HEIGHT - 6.0) text-anchor="middle">
                    {zone.minute_of_day(hour.from)}
                </text>
            }
        });
        view! { <g>{drawn} {label}</g> }
    });
    let scale = (most > 0).then(|| {
        view! {
            <line class="chart-line" x1="0" x2=place(WIDTH) y1=place(HEAD) y2=place(HEAD)></line>
            <text class="chart-word" x="0" y=place(HEAD - 5.0)>{format!("{most} an hour")}</text>
        }
    });
    view! {
        <svg
            class="chart-drawing"
            viewBox=format!("0 0 {WIDTH} {HEIGHT}")
            role="img"
            aria-label=title
        >
            {scale}
            <line class="chart-line" x1="0" x2=place(WIDTH) y1=place(floor) y2=place(floor)></line>
            {parts.collect_view()}
        </svg>
    }
    .into_any()
}

/// The parts of an hour's bar from below, by state and height.
fn stack(hour: &OutcomeHour, most: i64) -> Vec<(&'static str, f64)> {
    let room = HEIGHT - FOOT - HEAD;
    [("succeeded", hour.succeeded), ("failed_terminal", hour.failed), ("unknown", hour.unknown)]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| (status, (room * number(count) / number(most.max(1))).max(LEAST)))
        .collect()
}

/// How long outcomes have been unknown.
#[must_use]
pub fn ageing(buckets: &[AgeBucket]) -> AnyView {
    let most = buckets.iter().map(|bucket| bucket.machines.max(bucket.people)).max();
    let most = most.unwrap_or_default().max(1);
    let any = buckets.iter().any(|bucket| bucket.machines + bucket.people > 0);
    let rows = buckets
        .iter()
        .map(|bucket| {
            view! {
                <tr>
                    <th scope="row">{age_word(bucket)}</th>
                    {cell(bucket.people, bucket.more, most, "person")}
                    {cell(bucket.machines, bucket.more, most, "unknown")}
                </tr>
            }
        })
        .collect_view();
    let body = if any {
        view! {
            <table class="figures figures--bars">
                <thead>
                    <tr>
                        <th scope="col">"Unknown for"</th>
                        <th scope="col">"Waits for a person"</th>
                        <th scope="col">"Machines still ask"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
        .into_any()
    } else {
        view! { <p class="cell-sub">"No outcome is unknown now."</p> }.into_any()
    };
    view! {
        <section class="section chart" aria-labelledby="ageing">
            <h2 class="section-title" id="ageing">"How long outcomes have been unknown"</h2>
            {body}
        </section>
    }
    .into_any()
}

fn cell(count: i64, more: bool, most: i64, tone: &'static str) -> AnyView {
    let width = if count > 0 { (100.0 * number(count) / number(most)).max(2.0) } else { 0.0 };
    view! {
        <td>
            <span class="figures-bar">
                <svg class="chart-strip" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="chart-bar" data-status=tone x="0" y="0" width=place(width) height="8"></rect>
                </svg>
                <span class="num">{text::short_count(count, more && count > 0)}</span>
            </span>
        </td>
    }
    .into_any()
}

fn age_word(bucket: &AgeBucket) -> String {
    match (bucket.from_ms, bucket.to_ms) {
        (0, Some(to)) => format!("less than {}", text::span(to)),
        (from, Some(to)) => format!("{} to {}", text::span(from), text::span(to)),
        (from, None) => format!("{} and longer", text::span(from)),
    }
}

/// A count as a length; drawing needs no more than its fifty-three bits.
#[allow(clippy::cast_precision_loss, reason = "a drawing's length")]
const fn number(count: i64) -> f64 {
    count as f64
}

/// A length with one digit after the point: more is only bytes.
fn place(length: f64) -> String {
    format!("{length:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unknown_outcome_beside_ten_thousand_successes_is_still_drawn() {
        let from = DateTime::from_timestamp(0, 0).unwrap();
        let hour = OutcomeHour { from, succeeded: 10_000, failed: 0, unknown: 1 };
        let drawn = stack(&hour, 10_001);
        assert_eq!(
            drawn.iter().map(|(status, _)| *status).collect::<Vec<_>>(),
            ["succeeded", "unknown"]
        );
        assert!(drawn[1].1 >= LEAST);
        let quiet = OutcomeHour { succeeded: 0, unknown: 0, ..hour };
        assert!(stack(&quiet, 10_001).is_empty());
    }
}
