//! A place in the one timeline of many records.

use std::str::FromStr;

use chrono::{DateTime, Utc};

use super::InvalidCursor;

/// A place in a story of several sources: what the page does not include any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryCursor {
    /// When it happened.
    pub at: DateTime<Utc>,
    /// From which source: things of one instant stand in the order of their sources.
    pub source: i32,
    /// Its place in the source: a padded number, or an id.
    pub place: String,
}

impl StoryCursor {
    /// Before everything.
    #[must_use]
    pub fn start() -> Self {
        Self { at: DateTime::UNIX_EPOCH, source: 0, place: String::new() }
    }

    /// The cursor as it stands in a URL: nothing of it needs escaping.
    #[must_use]
    pub fn encode(&self) -> String {
        format!("{}.{}.{}", self.at.timestamp_micros(), self.source, self.place)
    }
}

impl FromStr for StoryCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let mut parts = text.splitn(3, '.');
        let mut part = || parts.next().ok_or(InvalidCursor);
        let micros = part()?.parse().map_err(|_| InvalidCursor)?;
        let source = part()?.parse().map_err(|_| InvalidCursor)?;
        let place = part()?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if place.len() > 40 || !place.chars().all(plain) {
            return Err(InvalidCursor);
        }
        let at = DateTime::from_timestamp_micros(micros).ok_or(InvalidCursor)?;
        // What the database can hold.
        let years = DateTime::UNIX_EPOCH
            ..DateTime::from_timestamp(32_503_680_000, 0).ok_or(InvalidCursor)?;
        if !years.contains(&at) {
            return Err(InvalidCursor);
        }
        Ok(Self { at, source, place: place.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_as_it_was_and_a_made_up_one_is_refused() {
        let at = DateTime::from_timestamp_micros(1_700_000_000_123_456).unwrap();
        for place in ["", "00000000000000000042", "0199b2c4-7d1e-7c3a-9f51-0242ac120002"] {
            let cursor = StoryCursor { at, source: 5, place: place.into() };
            assert_eq!(cursor.encode().parse(), Ok(cursor));
        }
        for text in ["", "x", "1.2", "1.x.3", "1.2.%00", "99999999999999999.1.1", "-1.0.1"] {
            assert!(text.parse::<StoryCursor>().is_err(), "{text}");
        }
    }
}
