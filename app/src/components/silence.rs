//! Silences in a story by name, alike in every story: a list hides the one thing that a person looks for,
//! the twelve minutes in which nothing was heard.

use chrono::{DateTime, TimeDelta, Utc};
use leptos::prelude::*;

use crate::text;

/// The shortest silence worth naming.
const GAP: TimeDelta = TimeDelta::seconds(60);

/// A stretch in which nothing was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// How long, in whole seconds.
    pub seconds: i64,
    /// Whether it has not ended.
    pub open: bool,
    /// For how much of it, at the end, no beat kept the lease of a running call, in whole seconds.
    pub no_beat: Option<i64>,
}

impl Silence {
    /// The silence between two instants, where it is worth naming; `lapsed` when a lease ran out that was
    /// held meanwhile.
    #[must_use]
    pub fn between(
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        lapsed: Option<DateTime<Utc>>,
    ) -> Option<Self> {
        let silence = to - from;
        let no_beat = lapsed.map(|at| (to - at.max(from)).num_seconds()).filter(|gone| *gone > 0);
        (silence > GAP).then(|| Self { seconds: silence.num_seconds(), open: false, no_beat })
    }

    /// The same of one that lasts until now.
    #[must_use]
    pub fn until_now(
        from: DateTime<Utc>,
        now: DateTime<Utc>,
        lapsed: Option<DateTime<Utc>>,
    ) -> Option<Self> {
        Self::between(from, now, lapsed).map(|silence| Self { open: true, ..silence })
    }

    /// Its length in words.
    fn words(self) -> String {
        let length = |seconds: i64| text::length(seconds.saturating_mul(1_000));
        let beat = self.no_beat.map(|gone| match gone == self.seconds {
            true => ", and no beat".to_owned(),
            false => format!(", no beat for at least {}", length(gone)),
        });
        let until = if self.open { ", until now" } else { "" };
        format!("no event for {}{}{until}", length(self.seconds), beat.unwrap_or_default())
    }

    /// Its entry in the list.
    #[must_use]
    pub fn entry(self) -> AnyView {
        view! {
            <li class="timeline-gap">
                <span class="timeline-gap-words">{self.words()}</span>
            </li>
        }
        .into_any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap()
    }

    #[test]
    fn a_minute_is_no_silence_and_what_is_more_is_named_with_its_length() {
        assert_eq!(Silence::between(second(0), second(60), None), None);
        let silence = Silence::between(second(0), second(720), None).unwrap();
        assert_eq!(silence.words(), format!("no event for {}", text::length(720_000)));
        let open = Silence::until_now(second(0), second(720), None).unwrap();
        assert!(open.words().ends_with(", until now"), "{}", open.words());
    }

    #[test]
    fn how_long_no_beat_came_is_counted_from_the_end_of_the_lease() {
        let named = |lapsed| Silence::between(second(0), second(720), Some(second(lapsed)));
        assert_eq!(named(30).unwrap().no_beat, Some(690));
        let words = named(30).unwrap().words();
        assert!(
            words.contains(&format!("no beat for at least {}", text::length(690_000))),
            "{words}"
        );
        assert_eq!(named(-5).unwrap().no_beat, Some(720), "not longer than the silence");
        assert_eq!(named(800).unwrap().no_beat, None, "the lease held all the time");
    }
}
