//! An operation's events as a story: days, calls, and the silences between them by name.
//!
//! Guards against a list that hides the one thing a person looks for, the twelve minutes in which
//! nothing was heard.

use chrono::{DateTime, TimeDelta, Utc};
use domain::view::TimelineItem;

use crate::text;

/// The shortest silence worth naming.
const GAP: TimeDelta = TimeDelta::seconds(60);

/// One entry of the ordered list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry<'a> {
    /// The date changes here, as the reader's zone has it.
    Day(DateTime<Utc>),
    /// A call begins here; its number.
    Attempt(i32),
    /// Nothing was recorded for this long; `open` where it lasts until now.
    Gap {
        /// How long, in whole seconds.
        seconds: i64,
        /// Whether it has not ended.
        open: bool,
    },
    /// Something happened.
    Item(&'a TimelineItem),
}

/// The story of `items`, oldest first. Only what has not ended is silent until `as_of`.
#[must_use]
pub fn story(items: &[TimelineItem], as_of: DateTime<Utc>, ended: bool) -> Vec<Entry<'_>> {
    let mut entries = Vec::with_capacity(items.len() * 2);
    let mut before: Option<&TimelineItem> = None;
    let mut call = 0;
    for item in items {
        let silence = before.map_or(TimeDelta::zero(), |before| item.at - before.at);
        if silence > GAP {
            entries.push(Entry::Gap { seconds: silence.num_seconds(), open: false });
        }
        if before.is_none_or(|before| text::day(before.at) != text::day(item.at)) {
            entries.push(Entry::Day(item.at));
        }
        // Notes and evidence belong to no call, and what a person decides later begins none.
        if item.attempt > call && !item.by_person {
            call = item.attempt;
            entries.push(Entry::Attempt(call));
        }
        entries.push(Entry::Item(item));
        before = Some(item);
    }
    if let Some(last) = before {
        let silence = as_of - last.at;
        if !ended && silence > GAP {
            entries.push(Entry::Gap { seconds: silence.num_seconds(), open: true });
        }
    }
    entries
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn item(second: i64, rule: &str, attempt: i32) -> TimelineItem {
        TimelineItem {
            anchor: format!("e{second}"),
            at: DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap(),
            rule: rule.into(),
            sentence: rule.into(),
            actor: "w-3".into(),
            by_person: false,
            from: None,
            to: None,
            version: None,
            fence: None,
            attempt,
            detail: Vec::new(),
            receipt: None,
        }
    }

    #[test]
    fn silence_is_named_and_an_open_operation_is_silent_until_now() {
        let items = [item(0, "O1", 0), item(1, "O2", 1), item(721, "O11", 1)];
        let now = items[2].at + TimeDelta::seconds(90);
        let story = story(&items, now, false);
        let gaps: Vec<_> =
            story.iter().filter(|entry| matches!(entry, Entry::Gap { .. })).collect();
        assert_eq!(
            gaps,
            [&Entry::Gap { seconds: 720, open: false }, &Entry::Gap { seconds: 90, open: true }]
        );
    }

    #[test]
    fn a_final_operation_is_not_waiting_for_anything() {
        let items = [item(0, "O1", 0)];
        let story = story(&items, items[0].at + TimeDelta::days(3), true);
        assert!(!story.iter().any(|entry| matches!(entry, Entry::Gap { .. })));
    }

    #[test]
    fn each_call_is_announced_once() {
        let confirmed = TimelineItem { by_person: true, ..item(5, "O21", 3) };
        let items = [
            item(0, "O1", 0),
            item(1, "O2", 1),
            item(2, "note", 0),
            item(3, "O8", 1),
            item(4, "O2", 2),
            confirmed,
        ];
        let calls: Vec<_> = story(&items, items[5].at, true)
            .into_iter()
            .filter_map(|entry| match entry {
                Entry::Attempt(number) => Some(number),
                _ => None,
            })
            .collect();
        assert_eq!(calls, [1, 2]);
    }
}
