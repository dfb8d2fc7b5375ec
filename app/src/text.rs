//! Pure formatting: instants in the reader's zone, ages, spans, counts, keys cut in the middle, links from
//! data.
//!
//! No clock and no locale: but for the zone, which every instant names, every reader gets the same
//! characters.

use chrono::{DateTime, SecondsFormat, Utc};

use crate::zone::Zone;

/// `2026-11-29`, the day in the reader's zone.
#[must_use]
pub fn day(at: DateTime<Utc>) -> String {
    Zone::in_force().day(at)
}

/// `2026-11-29 CET`, the day with its zone, for a heading over times of day.
#[must_use]
pub fn day_with_zone(at: DateTime<Utc>) -> String {
    let zone = Zone::in_force();
    format!("{} {}", zone.day(at), zone.word(at))
}

/// `17:52:03`, the time of day in the reader's zone.
#[must_use]
pub fn time_of_day(at: DateTime<Utc>) -> String {
    Zone::in_force().time_of_day(at)
}

/// `17:52:03.120`, the time of day in the reader's zone with milliseconds.
#[must_use]
pub fn time_of_day_ms(at: DateTime<Utc>) -> String {
    format!("{}.{:03}", time_of_day(at), at.timestamp_subsec_millis().min(999))
}

/// `2026-11-29 17:52:03 UTC`: an instant that names its zone.
#[must_use]
pub fn instant(at: DateTime<Utc>) -> String {
    format!("{} {} {}", day(at), time_of_day(at), Zone::in_force().word(at))
}

/// `2026-11-29 17:52:03.120 UTC`.
#[must_use]
pub fn instant_ms(at: DateTime<Utc>) -> String {
    format!("{} {} {}", day(at), time_of_day_ms(at), Zone::in_force().word(at))
}

/// `2026-11-29 18:52:03.120 CET, Europe/Berlin, UTC+01:00`: whoever looks closer is told which zone.
#[must_use]
pub fn instant_in_full(at: DateTime<Utc>) -> String {
    format!("{} {} {}", day(at), time_of_day_ms(at), Zone::in_force().in_full(at))
}

/// RFC 3339 for `<time datetime>`, with milliseconds.
#[must_use]
pub fn machine(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// RFC 3339 with microseconds: exactly what the database keeps.
#[must_use]
pub fn machine_micros(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// How long before `as_of`: `4 s ago`, `12 min ago`, `3 h ago`, `5 days ago`, `in 3 min`.
#[must_use]
pub fn ago(at: DateTime<Utc>, as_of: DateTime<Utc>) -> String {
    let ms = as_of.signed_duration_since(at).num_milliseconds();
    if ms.abs() < 1_000 {
        "now".into()
    } else if ms > 0 {
        format!("{} ago", span(ms))
    } else {
        format!("in {}", span(-ms))
    }
}

/// A span in its greatest whole unit: `350 ms`, `4 s`, `12 min`, `3 h`, `5 days`.
#[must_use]
pub fn span(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{} ms", ms.max(0)),
        1_000..60_000 => format!("{} s", ms / 1_000),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        3_600_000..172_800_000 => format!("{} h", ms / 3_600_000),
        _ => format!("{} days", ms / 86_400_000),
    }
}

/// A length of time that was measured or set, where an age would be too rough: `350 ms`, `1.8 s`, `12 s`,
/// `1 min 59 s`, `12 min`, `3 h 5 min`, `5 days 2 h`. What is left out is smaller than what is shown.
#[must_use]
pub fn length(ms: i64) -> String {
    let two = |great: i64, word: &str, small: i64, rest: &str| match small {
        0 => format!("{great} {word}"),
        small => format!("{great} {word} {small} {rest}"),
    };
    let (seconds, tenths) = (ms / 1_000, ms % 1_000 / 100);
    match ms {
        1_000..10_000 if tenths > 0 => format!("{seconds}.{tenths} s"),
        ..60_000 => span(ms),
        60_000..3_600_000 => two(seconds / 60, "min", seconds % 60, "s"),
        3_600_000..172_800_000 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
        _ => two(seconds / 86_400, "days", seconds % 86_400 / 3_600, "h"),
    }
}

/// A count that is exact, or says that it is not: `12`, `more than 200`.
#[must_use]
pub fn count(number: i64, more: bool) -> String {
    if more { format!("more than {number}") } else { number.to_string() }
}

/// The same for a badge with little room: `12`, `200+`.
#[must_use]
pub fn short_count(number: i64, more: bool) -> String {
    if more { format!("{number}+") } else { number.to_string() }
}

/// A size as a person reads it.
#[must_use]
pub fn bytes(size: i64) -> String {
    const KIB: i64 = 1_024;
    let tenths = |unit: i64| {
        let tenths = size.saturating_mul(10) / unit;
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match size {
        1 => "1 byte".to_owned(),
        size if size < KIB => format!("{size} bytes"),
        size if size < KIB * KIB => format!("{} KiB", tenths(KIB)),
        _ => format!("{} MiB", tenths(KIB * KIB)),
    }
}

/// A text of at most `max` characters: the middle gives way to `…`, for both ends identify a key.
#[must_use]
pub fn cut_middle(text: &str, max: usize) -> String {
    let length = text.chars().count();
    if length <= max || max < 3 {
        return text.to_owned();
    }
    let tail = (max - 1) / 2;
    let head = max - 1 - tail;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

/// What a character takes in a page, in bytes: three are written as entities.
const fn weight_of(c: char) -> usize {
    match c {
        '&' => 5,
        '<' | '>' => 4,
        _ => c.len_utf8(),
    }
}

/// What a text takes in a page, in bytes.
#[must_use]
pub fn weight(text: &str) -> usize {
    text.chars().map(weight_of).sum()
}

/// The beginning of a text that takes at most so many bytes in a page, and whether that is not all of
/// it. No character is cut in two.
#[must_use]
pub fn beginning(text: &str, most: usize) -> (&str, bool) {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += weight_of(c);
        if taken > most {
            return (&text[..at], true);
        }
    }
    (text, false)
}

/// The same with `…` where something is left out.
#[must_use]
pub fn cut_end(text: &str, most: usize) -> String {
    match beginning(text, most) {
        (start, true) => format!("{start}…"),
        (whole, false) => whole.to_owned(),
    }
}

/// A text before and from its last `tail` characters, for a head that may be cut on the page. A
/// short text's tail is at most its half, and one that is no longer than a tail is all head.
#[must_use]
pub fn split_tail(text: &str, tail: usize) -> (&str, &str) {
    let length = text.chars().count();
    if length <= tail {
        return (text, "");
    }
    let tail = tail.min(length / 2);
    let at = text.char_indices().nth(length - tail).map_or(text.len(), |(at, _)| at);
    text.split_at(at)
}

/// The initials of a person's name, at most two: `Ann Meyer` gives `AM`. Of an email only what stands
/// before the `@` is the person.
#[must_use]
pub fn initials(name: &str) -> String {
    let person = name.split(['@', '(', ',']).next().unwrap_or_default();
    let mut letters = person
        .split(|c: char| c.is_whitespace() || c == '.')
        .filter_map(|word| word.chars().find(|c| c.is_alphanumeric()))
        .take(2);
    let text: String = letters.by_ref().flat_map(char::to_uppercase).collect();
    if text.is_empty() { "?".into() } else { text }
}

/// A word as the beginning of a sentence.
#[must_use]
pub fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(char::to_uppercase).into_iter().flatten().chain(chars).collect()
}

/// An address from data, if it may become a link: `https` elsewhere, or a path of our own. Anything
/// else could be a script.
#[must_use]
pub fn safe_href(address: &str) -> Option<&str> {
    let clean = !address.chars().any(|c| c.is_control() || c.is_whitespace());
    let foreign = address.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"))
        && address.len() > 8;
    let mut ahead = address.chars();
    let own = ahead.next() == Some('/') && !matches!(ahead.next(), Some('/' | '\\'));
    (clean && (foreign || own)).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn an_instant_names_its_zone() {
        let instant_at = at("2026-01-02T03:04:05.067Z");
        assert_eq!(instant(instant_at), "2026-01-02 03:04:05 UTC");
        assert_eq!(instant_ms(instant_at), "2026-01-02 03:04:05.067 UTC");
        assert_eq!(machine(instant_at), "2026-01-02T03:04:05.067Z");
    }

    #[test]
    fn every_instant_names_the_zone_of_its_reader() {
        let owner = leptos::prelude::Owner::new();
        owner.with(|| {
            leptos::prelude::provide_context(Zone::named("Europe/Berlin").unwrap());
            let (summer, winter) = (at("2026-10-25T00:30:00.5Z"), at("2026-10-25T01:30:00Z"));
            assert_eq!(instant(summer), "2026-10-25 02:30:00 CEST");
            assert_eq!(instant(winter), "2026-10-25 02:30:00 CET");
            assert_eq!(instant_ms(summer), "2026-10-25 02:30:00.500 CEST");
            assert_eq!(
                instant_in_full(summer),
                "2026-10-25 02:30:00.500 CEST, Europe/Berlin, UTC+02:00"
            );
            assert_eq!(day_with_zone(at("2026-10-24T22:00:00Z")), "2026-10-25 CEST");
            assert_eq!(machine(winter), "2026-10-25T01:30:00.000Z");
        });
    }

    #[test]
    fn ages_are_counted_from_when_the_data_was_read() {
        let as_of = at("2026-01-02T12:00:00Z");
        for (instant, words) in [
            ("2026-01-02T11:59:59.500Z", "now"),
            ("2026-01-02T11:59:56Z", "4 s ago"),
            ("2026-01-02T11:48:00Z", "12 min ago"),
            ("2026-01-02T09:00:00Z", "3 h ago"),
            ("2026-01-01T11:00:00Z", "25 h ago"),
            ("2025-12-28T12:00:00Z", "5 days ago"),
            ("2026-01-02T12:03:00Z", "in 3 min"),
        ] {
            assert_eq!(ago(at(instant), as_of), words);
        }
    }

    #[test]
    fn a_measured_length_keeps_what_an_age_leaves_out() {
        for (ms, words) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1 s"),
            (1_840, "1.8 s"),
            (9_999, "9.9 s"),
            (10_900, "10 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (119_000, "1 min 59 s"),
            (720_000, "12 min"),
            (3_600_000, "1 h"),
            (3_660_000, "1 h 1 min"),
            (86_400_000, "24 h"),
            (172_800_000, "2 days"),
            (180_000_000, "2 days 2 h"),
        ] {
            assert_eq!(length(ms), words);
        }
    }

    #[test]
    fn a_count_never_pretends() {
        assert_eq!(count(12, false), "12");
        assert_eq!(count(200, true), "more than 200");
        assert_eq!(short_count(200, true), "200+");
    }

    #[test]
    fn a_key_keeps_both_ends_and_no_character_is_cut_in_two() {
        assert_eq!(cut_middle("short", 10), "short");
        assert_eq!(cut_middle("invoice-2026-000123", 11), "invoi…00123");
        assert_eq!(cut_middle("😀é😀é😀é", 5), "😀é…😀é");
        for max in 3..20 {
            assert!(cut_middle("é/%+&:@()😀 and more text", max).chars().count() <= max);
        }
    }

    #[test]
    fn a_cut_text_is_bounded_by_what_it_takes_in_a_page() {
        assert_eq!(cut_end("short", 5), "short");
        assert_eq!(cut_end("a&b<c", 6), "a&…");
        assert_eq!(beginning("😀😀", 7), ("😀", true));
        assert_eq!(weight("a&<>😀"), 1 + 5 + 4 + 4 + 4);
    }

    #[test]
    fn a_split_key_is_still_the_key() {
        for key in ["", "short", "invoice-2026-000123-and-more", "😀é😀é😀é😀é😀é😀"]
        {
            let (head, tail) = split_tail(key, 4);
            assert_eq!(format!("{head}{tail}"), key);
            assert!(tail.chars().count() <= 4);
        }
    }

    #[test]
    fn both_ends_of_a_short_key_stay_where_its_middle_gives_way() {
        assert_eq!(split_tail("charge:INV-2026-1024", 10), ("charge:INV", "-2026-1024"));
        assert_eq!(split_tail("stamped:LTR-2", 10), ("stamped", ":LTR-2"));
        assert_eq!(split_tail("INV-1", 10), ("INV-1", ""));
    }

    #[test]
    fn only_https_and_our_own_paths_become_links() {
        for good in ["https://pay.example/c/1", "/operations/1", "/", "HTTPS://x"] {
            assert_eq!(safe_href(good), Some(good));
        }
        for bad in [
            "javascript:alert(1)",
            "http://x",
            "//evil",
            "/\\evil",
            "https://",
            "data:x",
            " https://x",
            "https://x\ny",
            "",
        ] {
            assert_eq!(safe_href(bad), None, "{bad}");
        }
    }

    #[test]
    fn initials_come_from_any_name() {
        assert_eq!(initials("Ann Meyer"), "AM");
        assert_eq!(initials("Ann Meyer (ann.meyer@acme.test)"), "AM");
        assert_eq!(initials("Olga (olga@acme.test), approved by Ben (ben@acme.test)"), "O");
        assert_eq!(initials("operator@acme.test"), "O");
        assert_eq!(initials("olga.operator@acme.test"), "OO");
        assert_eq!(initials("Ω"), "Ω");
        assert_eq!(initials(""), "?");
    }
}
