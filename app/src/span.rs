//! Lengths of time as people write them into a form, exact both ways: `90 s`, `10 min`, `7 d`.
//!
//! Guards against a policy that changes by being opened and sent back: what is written is read as the
//! same number of milliseconds.

/// Units, the largest first.
const UNITS: [(&str, i64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

/// A length in its largest unit that divides it.
#[must_use]
pub fn written(ms: i64) -> String {
    let whole = UNITS.into_iter().find(|(_, unit)| ms % unit == 0 && ms != 0);
    let (word, unit) = whole.unwrap_or(("ms", 1));
    format!("{} {word}", ms / unit)
}

/// A length as it was typed; a bare number is milliseconds, as in the JSON API.
#[must_use]
pub fn read(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: i64 = text.get(..digits)?.parse().ok()?;
    let unit = match text.get(digits..)?.trim() {
        "" | "ms" => 1,
        "s" | "sec" | "second" | "seconds" => 1_000,
        "m" | "min" | "minute" | "minutes" => 60_000,
        "h" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same_length() {
        for ms in [0, 1, 350, 1_000, 1_500, 60_000, 90_000, 3_600_000, 86_400_000, 93_784_005] {
            assert_eq!(read(&written(ms)), Some(ms), "{}", written(ms));
        }
        assert_eq!(written(10_000), "10 s");
        assert_eq!(written(90_000), "90 s");
        assert_eq!(written(7 * 86_400_000), "7 d");
        for (typed, ms) in [("250", 250), (" 2 h ", 7_200_000), ("30days", 2_592_000_000)] {
            assert_eq!(read(typed), Some(ms));
        }
        for slip in ["", "soon", "-1 s", "1.5 h", "5 weeks", "9223372036854775807 d"] {
            assert_eq!(read(slip), None, "{slip}");
        }
    }
}
