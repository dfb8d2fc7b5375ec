//! The parts of a list's address, read one by one: the same reading for the JSON API and for pages, so
//! that a link and a call mean the same rows.
//!
//! Guards against a list that is wider than what was asked for: a value that the list does not know is
//! refused, never skipped. The engine holds the limits.

use std::{fmt, str::FromStr};

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use super::{
    ApprovalFilter, AuditFilter, ConflictFilter, EventFilter, InboxFilter, IncidentFilter,
    LeaseFilter, OperationFilter, WorkflowFilter,
};

/// Names and values that are still to be read.
#[derive(Debug, Clone)]
pub struct Parts(Vec<(String, String)>);

/// A part that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {why}")]
pub struct BadPart {
    /// Its name.
    pub name: String,
    /// What is the matter.
    pub why: Why,
}

/// What is the matter with a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It stands there twice.
    Twice,
    /// It is no word of its list.
    NoSuchWord,
    /// It is no instant.
    NoInstant,
    /// It is neither true nor false.
    NoFlag,
    /// It is no whole number.
    NoNumber,
    /// It is no time zone.
    NoZone,
    /// The list has no such filter.
    Unknown,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Twice => "A filter is given once.",
            Self::NoSuchWord => "There is no such state.",
            Self::NoInstant => "An instant looks like 2026-11-29T12:00:00Z, a day like 2026-11-29.",
            Self::NoFlag => "This filter is true or false.",
            Self::NoNumber => "It is a whole number.",
            Self::NoZone => "A time zone has a name such as Europe/Berlin, or UTC.",
            Self::Unknown => "The list has no such filter.",
        })
    }
}

/// A filter that reads itself from the parts of an address.
pub trait ListFilter: Sized {
    /// Takes what belongs to this list out of the parts.
    ///
    /// # Errors
    /// [`BadPart`] names the first one that cannot be used.
    fn read(parts: &mut Parts) -> Result<Self, BadPart>;
}

impl Parts {
    /// Takes pairs, decoded once. Empty values say nothing: a browser's form sends all its fields.
    ///
    /// # Errors
    /// [`Why::Twice`].
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, BadPart> {
        let mut parts: Vec<(String, String)> = Vec::new();
        for (name, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            if parts.iter().any(|(known, _)| *known == name) {
                return Err(BadPart { name, why: Why::Twice });
            }
            parts.push((name, value));
        }
        Ok(Self(parts))
    }

    /// A text.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// One word of a closed list.
    ///
    /// # Errors
    /// [`Why::NoSuchWord`].
    pub fn word<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, BadPart> {
        self.parsed(name, Why::NoSuchWord, |word| word.parse().ok())
    }

    /// An instant; a day is its first moment in UTC.
    ///
    /// # Errors
    /// [`Why::NoInstant`].
    pub fn instant(&mut self, name: &str) -> Result<Option<DateTime<Utc>>, BadPart> {
        self.parsed(name, Why::NoInstant, |text| {
            text.parse::<NaiveDate>()
                .map(|day| day.and_time(NaiveTime::MIN).and_utc())
                .ok()
                .or_else(|| DateTime::parse_from_rfc3339(text).ok().map(|at| at.to_utc()))
        })
    }

    /// True or false; absent is false.
    ///
    /// # Errors
    /// [`Why::NoFlag`].
    pub fn flag(&mut self, name: &str) -> Result<bool, BadPart> {
        Ok(self.parsed(name, Why::NoFlag, |text| text.parse().ok())?.unwrap_or_default())
    }

    /// How many rows.
    ///
    /// # Errors
    /// [`Why::NoNumber`].
    pub fn limit(&mut self) -> Result<Option<i64>, BadPart> {
        self.parsed("limit", Why::NoNumber, |text| text.parse().ok())
    }

    /// The names of what was not read.
    pub fn left(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Refuses what was not read.
    ///
    /// # Errors
    /// [`Why::Unknown`] with the first name that the list does not know.
    pub fn finish(self) -> Result<(), BadPart> {
        match self.0.into_iter().next() {
            Some((name, _)) => Err(BadPart { name, why: Why::Unknown }),
            None => Ok(()),
        }
    }

    fn parsed<T>(
        &mut self,
        name: &str,
        why: Why,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, BadPart> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match parse(&text) {
            Some(value) => Ok(Some(value)),
            None => Err(BadPart { name: name.into(), why }),
        }
    }
}

impl ListFilter for OperationFilter {
    fn read(parts: &mut Parts) -> Result<Self, BadPart> {
        Ok(Self {
            status: parts.word("status")?,
            operation: parts.text("operation"),
            q: parts.text("q"),
            needs_manual: parts.flag("needs_manual")?,
            conflict: parts.flag("conflict")?,
            from: parts.instant("from")?,
            to: parts.instant("to")?,
            cursor: parts.text("cursor"),
            limit: parts.limit()?,
        })
    }
}

impl ListFilter for WorkflowFilter {
    fn read(parts: &mut Parts) -> Result<Self, BadPart> {
        Ok(Self {
            status: parts.word("status")?,
            kind: parts.text("kind"),
            q: parts.text("q"),
            cursor: parts.text("cursor"),
            limit: parts.limit()?,
        })
    }
}

impl ListFilter for InboxFilter {
    fn read(parts: &mut Parts) -> Result<Self, BadPart> {
        Ok(Self {
            status: parts.word("status")?,
            consumer: parts.text("consumer"),
            source: parts.text("source"),
            q: parts.text("q"),
            from: parts.instant("from")?,
            to: parts.instant("to")?,
            cursor: parts.text("cursor"),
            limit: parts.limit()?,
        })
    }
}

impl ListFilter for EventFilter {
    fn read(parts: &mut Parts) -> Result<Self, BadPart> {
        Ok(Self {
            status: parts.word("status")?,
            topic: parts.text("topic"),
            aggregate: parts.text("aggregate"),
            q: parts.text("q"),
            from: parts.instant("from")?,
            to: parts.instant("to")?,
            cursor: parts.text("cursor"),
            limit: parts.limit()?,
        })
    }
}

impl ListFilter for ConflictFilter {
    fn read(parts: &mut Parts) -> Result<Self, BadPart> {
        Ok(Self {
            operation: parts.text("operation"),
            q: parts.text("q"),
            from: parts.instant("from")?,
            to: parts.instant("to")?,
            cursor: parts.text("cursor"),
            limit: parts.limit()?,
        })
    }
}

impl ListFilter for LeaseFilter {
    fn read(parts: &mut Parts) -> Result<Self, BadPart> {
        Ok(Self {
            status: parts.word("status")?,
            operation: parts.text("operation"),
            holder: parts.text("holder"),
            q: parts.text("q"),
            cursor: parts.text("cursor"),
            limit: parts.limit()?,
        })
    }
}

impl ListFilter for IncidentFilter {
    fn read(parts: &mut Parts) -> Result<Self, BadPart> {
        Ok(Self {
            status: parts.word("status")?,
            cause: parts.text("cause"),
            q: parts.text("q"),
            from: parts.instant("from")?,
            to: parts.instant("to")?,
            cursor: parts.text("cursor"),
            limit: parts.limit()?,
        })
    }
}

impl ListFilter for AuditFilter {
    fn read(parts: &mut Parts) -> Result<Self, BadPart> {
        Ok(Self {
            actor: parts.text("actor"),
            verb: parts.text("verb"),
            target: parts.text("target"),
            denied: parts.flag("denied")?,
            from: parts.instant("from")?,
            to: parts.instant("to")?,
            cursor: parts.text("cursor"),
            limit: parts.limit()?,
        })
    }
}

impl ListFilter for ApprovalFilter {
    fn read(parts: &mut Parts) -> Result<Self, BadPart> {
        Ok(Self {
            status: parts.word("status")?,
            waiting: parts.flag("waiting")?,
            mine: parts.flag("mine")?,
            others: parts.flag("others")?,
            decided: parts.flag("decided")?,
            from: parts.instant("from")?,
            to: parts.instant("to")?,
            cursor: parts.text("cursor"),
            limit: parts.limit()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::StatusFilter;

    fn parts(pairs: &[(&str, &str)]) -> Result<Parts, BadPart> {
        Parts::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    fn read<F: ListFilter>(pairs: &[(&str, &str)]) -> Result<F, BadPart> {
        let mut parts = parts(pairs)?;
        let filter = F::read(&mut parts)?;
        parts.finish().map(|()| filter)
    }

    #[test]
    fn what_a_browsers_form_sends_is_read_as_it_was_typed() {
        let filter: OperationFilter = read(&[
            ("q", "a/b % + & é 😀"),
            ("status", ""),
            ("operation", ""),
            ("needs_manual", "true"),
            ("from", "2026-11-01"),
            ("to", "2026-11-29T17:52:03.120Z"),
            ("limit", "20"),
        ])
        .unwrap();
        assert_eq!(filter.q.as_deref(), Some("a/b % + & é 😀"));
        assert!(filter.needs_manual && filter.status.is_none() && filter.operation.is_none());
        assert_eq!(filter.from.unwrap().to_rfc3339(), "2026-11-01T00:00:00+00:00");
        assert_eq!(filter.limit, Some(20));
        let tombstones: OperationFilter = read(&[("status", "tombstone")]).unwrap();
        assert_eq!(tombstones.status, Some(StatusFilter::Tombstone));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (pairs, name, why) in [
            ([("status", "failed"), ("", "")], "status", Why::NoSuchWord),
            ([("sort", "id;drop"), ("", "")], "sort", Why::Unknown),
            ([("q", "a"), ("q", "b")], "q", Why::Twice),
            ([("limit", "1e9"), ("", "")], "limit", Why::NoNumber),
            ([("from", "yesterday"), ("", "")], "from", Why::NoInstant),
            ([("to", "2026-13-01"), ("", "")], "to", Why::NoInstant),
            ([("needs_manual", "1"), ("", "")], "needs_manual", Why::NoFlag),
        ] {
            let bad = read::<OperationFilter>(&pairs).unwrap_err();
            assert_eq!(bad, BadPart { name: name.into(), why }, "{pairs:?}");
        }
    }
}
