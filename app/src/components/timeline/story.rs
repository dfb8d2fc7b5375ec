//! An operation's events as a story: days, calls, and the silences between them by name.

use chrono::{DateTime, Utc};
use domain::view::TimelineItem;

use crate::{components::silence::Silence, text};

/// One entry of the ordered list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry<'a> {
    /// The date changes here, as the reader's zone has it.
    Day(DateTime<Utc>),
    /// A call begins here; its number.
    Attempt(i32),
    /// Nothing was recorded.
    Gap(Silence),
    /// Something happened.
    Item(&'a TimelineItem),
}

/// The story of `items`, oldest first. Only what has not ended is silent until `as_of`; `lapsed` when the
/// lease of its running call ran out, where nobody noted that yet.
#[must_use]
pub fn story(
    items: &[TimelineItem],
    as_of: DateTime<Utc>,
    ended: bool,
    lapsed: Option<DateTime<Utc>>,
) -> Vec<Entry<'_>> {
    let mut entries = Vec::with_capacity(items.len() * 2);
    let mut before: Option<&TimelineItem> = None;
    let mut call = 0;
    for item in items {
        let silence =
            before.and_then(|before| Silence::between(before.at, item.at, item.lease_until));
        entries.extend(silence.map(Entry::Gap));
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
    let last = before.filter(|_| !ended);
    let silence = last.and_then(|last| Silence::until_now(last.at, as_of, lapsed));
    entries.extend(silence.map(Entry::Gap));
    entries
}

#[cfg(test)]
pub(super) mod tests {
    use chrono::TimeDelta;

    use super::*;

    pub(in super::super) fn item(second: i64, rule: &str, attempt: i32) -> TimelineItem {
        let at = DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap();
        TimelineItem {
            sentence: rule.into(),
            attempt,
            ..TimelineItem::new(format!("e{second}"), rule, "w-3", at)
        }
    }

    #[test]
    fn silence_is_named_and_an_open_operation_is_silent_until_now() {
        let lost = item(721, "O11", 1);
        let lost = TimelineItem { lease_until: Some(lost.at - TimeDelta::seconds(600)), ..lost };
        let items = [item(0, "O1", 0), item(1, "O2", 1), lost];
        let now = items[2].at + TimeDelta::seconds(90);
        let gaps: Vec<_> = story(&items, now, false, None)
            .into_iter()
            .filter_map(|entry| match entry {
                Entry::Gap(silence) => Some((silence.seconds, silence.open, silence.no_beat)),
                _ => None,
            })
            .collect();
        assert_eq!(gaps, [(720, false, Some(600)), (90, true, None)]);
    }

    #[test]
    fn a_final_operation_is_not_waiting_for_anything() {
        let items = [item(0, "O1", 0)];
        let story = story(&items, items[0].at + TimeDelta::days(3), true, None);
        assert!(!story.iter().any(|entry| matches!(entry, Entry::Gap(_))));
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
        let calls: Vec<_> = story(&items, items[5].at, true, None)
            .into_iter()
            .filter_map(|entry| match entry {
                Entry::Attempt(number) => Some(number),
                _ => None,
            })
            .collect();
        assert_eq!(calls, [1, 2]);
    }
}
