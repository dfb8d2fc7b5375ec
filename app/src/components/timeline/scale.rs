//! Where an instant stands on the drawn axis: short times keep their proportion, long silences
//! shrink to one width and are drawn broken.

use chrono::{DateTime, Utc};
use domain::{operation::Status, view::TimelineItem};

/// Above this many seconds without an event the axis is broken.
const BREAK: f64 = 60.0;
/// What a broken stretch weighs.
const BROKEN: f64 = 5.0;

/// A silence that the axis shortens.
#[derive(Debug, Clone, PartialEq)]
pub struct Break {
    /// Where it begins, from the left.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// How long it is, in whole seconds.
    pub seconds: i64,
}

/// The stretch during which a worker held the operation for one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// The call's number.
    pub attempt: i32,
    /// Where the call began.
    pub from: f64,
    /// Where its lease ended, given back or run out; or now.
    pub to: f64,
    /// Whether the worker was lost or the lease taken away.
    pub lost: bool,
    /// Whether it still runs.
    pub open: bool,
}

/// The axis of a list of events.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// One place for each event, in their order.
    pub places: Vec<f64>,
    /// The place of now, where the operation has not ended.
    pub now: Option<f64>,
    /// The shortened silences.
    pub breaks: Vec<Break>,
    /// The calls.
    pub bands: Vec<Band>,
}

impl Scale {
    /// Lays events, oldest first, out between `left` and `right`; `lapsed` when the lease of the running
    /// call ran out, where nobody noted that yet.
    #[must_use]
    pub fn new(
        items: &[TimelineItem],
        (now, lapsed): (Option<DateTime<Utc>>, Option<DateTime<Utc>>),
        (left, right): (f64, f64),
    ) -> Self {
        let instants: Vec<_> = items.iter().map(|item| item.at).chain(now).collect();
        let steps: Vec<i64> =
            instants.windows(2).map(|pair| (pair[1] - pair[0]).num_milliseconds().max(0)).collect();
        let weights: Vec<f64> = steps.iter().map(|millis| weight(*millis)).collect();
        let total: f64 = weights.iter().sum();
        let width = if total > 0.0 { (right - left) / total } else { 0.0 };
        let mut at = left;
        let mut places = vec![left];
        let mut breaks = Vec::new();
        for (weight, millis) in weights.iter().zip(&steps) {
            let from = at;
            at += weight * width;
            places.push(at);
            if seconds(*millis) > BREAK {
                breaks.push(Break { from, to: at, seconds: millis / 1_000 });
            }
        }
        places.truncate(instants.len());
        let all: Vec<_> = instants.into_iter().zip(places.iter().copied()).collect();
        let now = now.and_then(|_| places.pop());
        let bands = bands(items, &places, &all, (now, lapsed));
        Self { places, now, breaks, bands }
    }
}

fn weight(millis: i64) -> f64 {
    let seconds = seconds(millis);
    if seconds > BREAK { BROKEN } else { 1.0 + seconds / 20.0 }
}

fn seconds(millis: i64) -> f64 {
    // A step of the axis stays far below the 2^53 milliseconds up to which this is exact.
    #[expect(clippy::cast_precision_loss, reason = "bounded by the life of an operation")]
    let millis = millis as f64;
    millis / 1_000.0
}

/// Where an instant stands between those whose places are known.
fn place_of(at: DateTime<Utc>, all: &[(DateTime<Utc>, f64)]) -> Option<f64> {
    let millis = |from: DateTime<Utc>, to: DateTime<Utc>| seconds((to - from).num_milliseconds());
    all.windows(2).find_map(|pair| {
        let ((from, left), (to, right)) = (pair[0], pair[1]);
        let inside = from <= at && at <= to && from < to;
        inside.then(|| left + (right - left) * millis(from, at) / millis(from, to))
    })
}

fn bands(
    items: &[TimelineItem],
    places: &[f64],
    all: &[(DateTime<Utc>, f64)],
    (now, lapsed): (Option<f64>, Option<DateTime<Utc>>),
) -> Vec<Band> {
    let mut bands: Vec<Band> = Vec::new();
    for (item, place) in items.iter().zip(places) {
        let running = bands.last_mut().filter(|band| band.open);
        match (running, item.to) {
            (None, Some(Status::Executing)) => bands.push(Band {
                attempt: item.attempt,
                from: *place,
                to: now.or(places.last().copied()).unwrap_or(*place),
                lost: false,
                open: true,
            }),
            (Some(band), Some(to)) if to != Status::Executing => {
                let ran_out = item.lease_until.and_then(|at| place_of(at, all));
                band.to = ran_out.unwrap_or(*place).clamp(band.from, *place);
                band.open = false;
                band.lost = matches!(item.rule.as_str(), "O11" | "O12");
            }
            _ => {}
        }
    }
    let ran_out = now.and(lapsed).and_then(|at| place_of(at, all));
    if let (Some(band), Some(ran_out)) = (bands.last_mut().filter(|band| band.open), ran_out) {
        band.to = ran_out.max(band.from);
        band.open = false;
        band.lost = true;
    }
    bands
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::{super::story::tests::item, *};

    fn moved(second: i64, rule: &str, to: Status) -> TimelineItem {
        TimelineItem { to: Some(to), ..item(second, rule, 1) }
    }

    #[test]
    fn places_grow_and_stay_on_the_axis() {
        let items = [
            moved(0, "O1", Status::Reserved),
            moved(1, "O2", Status::Executing),
            moved(90_000, "O11", Status::Unknown),
        ];
        let scale =
            Scale::new(&items, (Some(items[2].at + TimeDelta::days(9)), None), (80.0, 980.0));
        assert_eq!(scale.places.len(), 3);
        assert!(scale.places.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(scale.breaks.len(), 2);
        assert!((scale.now.unwrap() - 980.0).abs() < 1e-6);
        let band = &scale.bands[0];
        assert!(band.lost && !band.open);
        assert!((band.to - scale.places[2]).abs() < 1e-6);
    }

    #[test]
    fn one_event_needs_no_width() {
        let items = [moved(0, "O1", Status::Reserved)];
        assert_eq!(Scale::new(&items, (None, None), (80.0, 980.0)).places, [80.0]);
        assert!(Scale::new(&[], (None, None), (80.0, 980.0)).places.is_empty());
    }

    #[test]
    fn a_running_call_is_open_until_now() {
        let items = [moved(0, "O2", Status::Executing)];
        let scale =
            Scale::new(&items, (Some(items[0].at + TimeDelta::seconds(5)), None), (0.0, 100.0));
        assert!(scale.bands[0].open);
        assert!((scale.bands[0].to - 100.0).abs() < 1e-6);
    }

    #[test]
    fn a_band_ends_where_its_lease_ran_out_and_not_where_that_was_noticed() {
        let lost = moved(40, "O11", Status::Unknown);
        let lost = TimelineItem { lease_until: Some(lost.at - TimeDelta::seconds(30)), ..lost };
        let items = [moved(0, "O2", Status::Executing), lost];
        let scale = Scale::new(&items, (None, None), (0.0, 100.0));
        let band = &scale.bands[0];
        assert!(band.lost && !band.open);
        assert!((band.to - 25.0).abs() < 1e-6, "{}", band.to);
        assert!((scale.places[1] - 100.0).abs() < 1e-6);
    }

    #[test]
    fn a_call_whose_lease_ran_out_does_not_run_until_now() {
        let items = [moved(0, "O2", Status::Executing)];
        let at = |second| Some(items[0].at + TimeDelta::seconds(second));
        let scale = Scale::new(&items, (at(40), at(10)), (0.0, 100.0));
        let band = &scale.bands[0];
        assert!(band.lost && !band.open);
        assert!((band.to - 25.0).abs() < 1e-6, "{}", band.to);
    }
}
