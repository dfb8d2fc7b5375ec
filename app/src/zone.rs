//! The zone in which a reader sees instants, and in which a day of a filter is meant.
//!
//! Guards against an instant without its zone and against a day that two readers mean differently: every
//! text names the zone, and a list's address carries it. Zones are the server's alone: their table has no
//! place in the browser's module, and both sides show the same characters because only one writes them.

use std::fmt;

use chrono::{
    DateTime, Datelike as _, NaiveDate, NaiveTime, Offset as _, TimeDelta, TimeZone as _,
    Timelike as _, Utc,
};
use chrono_tz::{OffsetName as _, TZ_VARIANTS, Tz};
use leptos::prelude::use_context;

/// A zone of the IANA table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone(Tz);

impl Default for Zone {
    fn default() -> Self {
        Self::UTC
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Zone {
    /// UTC.
    pub const UTC: Self = Self(Tz::UTC);

    /// The zone of a name, such as `Europe/Berlin`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok().map(Self)
    }

    /// The zone of the reader for whom the page is rendered.
    #[must_use]
    pub fn in_force() -> Self {
        use_context::<Self>().unwrap_or_default()
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The names that a person can choose from: places, and UTC first. Aliases without a place and fixed
    /// offsets work too, but nobody needs to be shown them.
    pub fn offered() -> impl Iterator<Item = &'static str> {
        let places = TZ_VARIANTS.iter().map(|zone| zone.name());
        std::iter::once("UTC").chain(places.filter(|name| {
            name.contains('/') && !name.starts_with("Etc/") && !name.starts_with("US/")
        }))
    }

    fn local(self, at: DateTime<Utc>) -> DateTime<Tz> {
        at.with_timezone(&self.0)
    }

    /// `2026-11-29`.
    #[must_use]
    pub fn day(self, at: DateTime<Utc>) -> String {
        let at = self.local(at);
        format!("{:04}-{:02}-{:02}", at.year(), at.month(), at.day())
    }

    /// `17:52:03`.
    #[must_use]
    pub fn time_of_day(self, at: DateTime<Utc>) -> String {
        let at = self.local(at);
        format!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second())
    }

    /// The hour of the day.
    #[must_use]
    pub fn hour(self, at: DateTime<Utc>) -> u32 {
        self.local(at).hour()
    }

    /// `17:52`: for hours, which in some zones begin at the half.
    #[must_use]
    pub fn minute_of_day(self, at: DateTime<Utc>) -> String {
        let at = self.local(at);
        format!("{:02}:{:02}", at.hour(), at.minute())
    }

    /// What the zone is called at an instant: `CET` in winter, `CEST` in summer, so that the hour that
    /// comes twice is told apart; `UTC+03` where it has no word.
    #[must_use]
    pub fn word(self, at: DateTime<Utc>) -> String {
        match self.local(at).offset().abbreviation() {
            Some(word) if word.starts_with(|c: char| c.is_ascii_alphabetic()) => word.to_owned(),
            _ => format!("UTC{}", self.offset(at)),
        }
    }

    /// How far it is from UTC at an instant: `+01:00`.
    fn offset(self, at: DateTime<Utc>) -> String {
        self.local(at).offset().fix().to_string()
    }

    /// What a reader who wants to know exactly is told: `CET, Europe/Berlin, UTC+01:00`.
    #[must_use]
    pub fn in_full(self, at: DateTime<Utc>) -> String {
        if self == Self::UTC {
            return "UTC".to_owned();
        }
        let word = self.word(at);
        let offset = format!("UTC{}", self.offset(at));
        if word == offset {
            format!("{}, {offset}", self.name())
        } else {
            format!("{word}, {}, {offset}", self.name())
        }
    }

    /// The first moment of a day: midnight, or what comes first where the clocks skip it. `None` for a day
    /// that this zone never had.
    #[must_use]
    pub fn first_moment(self, day: NaiveDate) -> Option<DateTime<Utc>> {
        let midnight = day.and_time(NaiveTime::MIN);
        // Clocks have skipped up to an hour at midnight; a quarter is the finest step they ever took.
        (0..=12).find_map(|quarter| {
            let at = midnight + TimeDelta::minutes(15 * quarter);
            self.0.from_local_datetime(&at).earliest().map(|at| at.to_utc())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn the_hour_that_comes_twice_is_told_apart() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        let (first, second) = (at("2026-10-25T00:30:00Z"), at("2026-10-25T01:30:00Z"));
        assert_eq!(berlin.time_of_day(first), berlin.time_of_day(second));
        assert_eq!((berlin.word(first), berlin.word(second)), ("CEST".into(), "CET".into()));
        assert_eq!(berlin.in_full(second), "CET, Europe/Berlin, UTC+01:00");
    }

    #[test]
    fn a_zone_without_a_word_says_its_offset() {
        let dubai = Zone::named("Asia/Dubai").unwrap();
        assert_eq!(dubai.word(at("2026-01-01T00:00:00Z")), "UTC+04:00");
        assert_eq!(dubai.in_full(at("2026-01-01T00:00:00Z")), "Asia/Dubai, UTC+04:00");
        assert_eq!(Zone::UTC.in_full(at("2026-01-01T00:00:00Z")), "UTC");
    }

    #[test]
    fn a_day_begins_with_its_zone_also_when_the_clocks_change() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        for (text, first) in [
            ("2026-10-25", "2026-10-24T22:00:00Z"),
            ("2026-10-26", "2026-10-25T23:00:00Z"),
            ("2026-03-29", "2026-03-28T23:00:00Z"),
            ("2026-03-30", "2026-03-29T22:00:00Z"),
        ] {
            assert_eq!(berlin.first_moment(day(text)), Some(at(first)), "{text}");
        }
        // Midnight itself is skipped.
        let cairo = Zone::named("Africa/Cairo").unwrap();
        assert_eq!(cairo.first_moment(day("2026-04-24")), Some(at("2026-04-23T22:00:00Z")));
        // Samoa never had this day.
        let apia = Zone::named("Pacific/Apia").unwrap();
        assert_eq!(apia.first_moment(day("2011-12-30")), None);
    }

    #[test]
    fn names_are_taken_exactly() {
        for name in ["Europe/Berlin", "UTC", "Etc/GMT+12", "America/Argentina/Buenos_Aires"] {
            assert_eq!(Zone::named(name).map(Zone::name), Some(name));
        }
        for name in ["", "europe/berlin", "Europe/Berlin ", "Mars/Olympus", "+01:00"] {
            assert_eq!(Zone::named(name), None, "{name}");
        }
        assert_eq!(Zone::offered().next(), Some("UTC"));
        assert!(Zone::offered().any(|name| name == "Asia/Kolkata"));
    }
}
