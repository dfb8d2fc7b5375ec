//! A list's query, read part by part. A name or value that the list does not know is refused, never
//! skipped: a list wider than was asked for is a wrong answer. The engine holds the limits.

use std::str::FromStr;

use chrono::{DateTime, Utc};

use super::console::{bad_filter, flag, instant};
use crate::refusal::Refused;

/// The parts of a query that are still to be read.
pub(super) struct Query {
    parts: Vec<(String, String)>,
}

impl Query {
    /// Takes a query apart.
    ///
    /// # Errors
    /// `filter_invalid` where a part is given twice.
    pub(super) fn parse(query: Option<&str>) -> Result<Self, Refused> {
        let mut parts: Vec<(String, String)> = Vec::new();
        for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if parts.iter().any(|(known, _)| *known == name) {
                return Err(bad_filter(&name, "A filter is given once."));
            }
            parts.push((name.into_owned(), value.into_owned()));
        }
        Ok(Self { parts })
    }

    /// A text; an empty one says nothing.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let at = self.parts.iter().position(|(known, _)| known == name)?;
        let (_, value) = self.parts.swap_remove(at);
        Some(value).filter(|value| !value.is_empty())
    }

    /// One word of a closed list.
    ///
    /// # Errors
    /// `filter_invalid` for any other.
    pub(super) fn word<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, Refused> {
        let word = self.text(name).map(|word| word.parse::<T>()).transpose();
        word.map_err(|_| bad_filter(name, "There is no such state."))
    }

    /// An instant.
    ///
    /// # Errors
    /// `filter_invalid` for what is none.
    pub(super) fn instant(&mut self, name: &str) -> Result<Option<DateTime<Utc>>, Refused> {
        self.text(name).map(|value| instant(name, &value)).transpose()
    }

    /// True or false; absent is false.
    ///
    /// # Errors
    /// `filter_invalid` for anything else.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool, Refused> {
        Ok(self.text(name).map(|value| flag(name, &value)).transpose()?.unwrap_or_default())
    }

    /// How many rows.
    ///
    /// # Errors
    /// `filter_invalid` for what is no whole number.
    pub(super) fn limit(&mut self) -> Result<Option<i64>, Refused> {
        let limit = self.text("limit").map(|value| value.parse()).transpose();
        limit.map_err(|_| bad_filter("limit", "limit is a whole number."))
    }

    /// Refuses what was not read.
    ///
    /// # Errors
    /// `filter_invalid` with the first name that the list does not know.
    pub(super) fn finish(self) -> Result<(), Refused> {
        match self.parts.iter().find(|(_, value)| !value.is_empty()) {
            Some((name, _)) => Err(bad_filter(name, "The list has no such filter.")),
            None => Ok(()),
        }
    }
}
