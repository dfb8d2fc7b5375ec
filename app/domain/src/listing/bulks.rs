//! The lists of bulks and of the rows of one.

use serde::{Deserialize, Serialize};

use super::{BadPart, InvalidCursor, ListFilter, Parts};
use crate::bulk::Standing;

/// Which bulks a list shows: all of the tenant, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BulkFilter {
    /// Where the page begins.
    pub cursor: Option<String>,
    /// Rows of a page.
    pub limit: Option<i64>,
}

/// Which rows of a bulk a page shows, in the order in which they were frozen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BulkRowFilter {
    /// Only those that stand so.
    pub standing: Option<Standing>,
    /// Where the page begins: a [`PlaceCursor`].
    pub cursor: Option<String>,
    /// Rows of a page.
    pub limit: Option<i64>,
}

impl ListFilter for BulkFilter {
    fn read(parts: &mut Parts) -> Result<Self, BadPart> {
        Ok(Self { cursor: parts.text("cursor"), limit: parts.limit()? })
    }
}

impl ListFilter for BulkRowFilter {
    fn read(parts: &mut Parts) -> Result<Self, BadPart> {
        Ok(Self {
            standing: parts.word("standing")?,
            cursor: parts.text("cursor"),
            limit: parts.limit()?,
        })
    }
}

/// A place in a list that is ordered by a number, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceCursor {
    /// The place of the row that the page does not include.
    pub place: i64,
    /// Whether to read towards lower places.
    pub backwards: bool,
}

impl PlaceCursor {
    /// The cursor as it stands in a URL.
    #[must_use]
    pub fn encode(self) -> String {
        format!("{}{}", if self.backwards { 'p' } else { 'n' }, self.place)
    }

    /// Reads a cursor back.
    ///
    /// # Errors
    /// [`InvalidCursor`] for any other text.
    pub fn decode(text: &str) -> Result<Self, InvalidCursor> {
        let (backwards, place) = match text.split_at_checked(1) {
            Some(("n", place)) => (false, place),
            Some(("p", place)) => (true, place),
            _ => return Err(InvalidCursor),
        };
        if !place.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(InvalidCursor);
        }
        Ok(Self { place: place.parse().map_err(|_| InvalidCursor)?, backwards })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_of_places_come_back_and_others_are_refused() {
        for backwards in [false, true] {
            let cursor = PlaceCursor { place: 50_000, backwards };
            assert_eq!(PlaceCursor::decode(&cursor.encode()), Ok(cursor));
        }
        for text in ["", "n", "n-1", "x1", "n+1", "é", "n99999999999999999999"] {
            assert_eq!(PlaceCursor::decode(text), Err(InvalidCursor), "{text}");
        }
    }
}
