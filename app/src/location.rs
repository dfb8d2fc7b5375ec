//! The one place that reads and writes the console's query strings.
//!
//! Guards against keys that break on their way through a URL: the router decodes values twice, so
//! everything here reads the RAW query.

use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat, Utc};
use domain::{
    listing::{MAX_FILTER_CHARS, MAX_PAGE, OperationFilter, StatusFilter},
    operation::Status,
    view::Cause,
};
use form_urlencoded::Serializer;

use crate::{error::Field, text};

/// A part of an address that this console never writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterProblem(
    /// The part that cannot be used.
    pub Field,
);

/// Reads the filter of the list of operations. Empty values and names of other features say
/// nothing.
///
/// # Errors
/// [`FilterProblem`] names the first part that cannot be used.
pub fn parse_operations(query: &str) -> Result<OperationFilter, FilterProblem> {
    let mut filter = OperationFilter::default();
    for (name, value) in form_urlencoded::parse(query.trim_start_matches('?').as_bytes()) {
        let Ok(field) = Part::of(&name) else { continue };
        if value.is_empty() {
            continue;
        }
        field.read(&value, &mut filter)?;
    }
    Ok(filter)
}

/// Writes a filter; parsing it again gives the same filter.
#[must_use]
pub fn operations_query(filter: &OperationFilter) -> String {
    let mut query = Serializer::new(String::new());
    let mut put = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    };
    put("status", filter.status.map(StatusFilter::as_str));
    put("operation", filter.operation.as_deref());
    put("q", filter.q.as_deref());
    put("needs_manual", filter.needs_manual.then_some("true"));
    put("conflict", filter.conflict.then_some("true"));
    put("from", filter.from.map(write_instant).as_deref());
    put("to", filter.to.map(write_instant).as_deref());
    put("cursor", filter.cursor.as_deref());
    put("limit", filter.limit.map(|limit| limit.to_string()).as_deref());
    query.finish()
}

/// The address of the list with a filter.
#[must_use]
pub fn operations_href(filter: &OperationFilter) -> String {
    let query = operations_query(filter);
    if query.is_empty() { "/operations".into() } else { format!("/operations?{query}") }
}

/// The decoded pairs of a query, for hidden fields that carry it along.
#[must_use]
pub fn pairs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// The first value of a name in a raw query, decoded once.
#[must_use]
pub fn value(query: &str, name: &str) -> Option<String> {
    pairs(query).into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// Which queue of the first page is looked at.
#[must_use]
pub fn parse_cause(query: &str) -> Option<Cause> {
    let word = value(query, "cause")?;
    Cause::ALL.into_iter().find(|cause| cause.as_str() == word)
}

/// The address of a queue on the first page.
#[must_use]
pub fn cause_href(cause: Cause) -> String {
    format!("/?cause={}", cause.as_str())
}

/// The list that shows the same operations as a queue, where its filters can say so.
#[must_use]
pub fn list_of(cause: Cause) -> Option<String> {
    let filter = match cause {
        Cause::UnknownOutcome => OperationFilter {
            status: Some(StatusFilter::Is(Status::Unknown)),
            needs_manual: true,
            ..OperationFilter::default()
        },
        Cause::PayloadConflict => OperationFilter { conflict: true, ..OperationFilter::default() },
        _ => return None,
    };
    Some(operations_href(&filter))
}

/// The path and query of a page, to come back to it.
#[must_use]
pub fn here(path: &str, query: &str) -> String {
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// A day for `<input type="date">`, where the instant is a day's first moment.
#[must_use]
pub fn day_value(at: Option<DateTime<Utc>>) -> String {
    at.filter(|at| at.time() == NaiveTime::MIN).map(text::day).unwrap_or_default()
}

enum Part {
    Status,
    Operation,
    Q,
    NeedsManual,
    Conflict,
    From,
    To,
    Cursor,
    Limit,
}

impl Part {
    fn of(name: &str) -> Result<Self, ()> {
        Ok(match name {
            "status" => Self::Status,
            "operation" => Self::Operation,
            "q" => Self::Q,
            "needs_manual" => Self::NeedsManual,
            "conflict" => Self::Conflict,
            "from" => Self::From,
            "to" => Self::To,
            "cursor" => Self::Cursor,
            "limit" => Self::Limit,
            _ => return Err(()),
        })
    }

    fn read(self, value: &str, filter: &mut OperationFilter) -> Result<(), FilterProblem> {
        let problem = |field| FilterProblem(field);
        match self {
            Self::Status => {
                filter.status = Some(StatusFilter::parse(value).ok_or(problem(Field::Status))?);
            }
            Self::Operation => filter.operation = Some(bounded(value, Field::Operation)?),
            Self::Q => filter.q = Some(bounded(value, Field::Q)?),
            Self::NeedsManual => filter.needs_manual = truth(value),
            Self::Conflict => filter.conflict = truth(value),
            Self::From => filter.from = Some(read_instant(value).ok_or(problem(Field::From))?),
            Self::To => filter.to = Some(read_instant(value).ok_or(problem(Field::To))?),
            Self::Cursor => filter.cursor = Some(bounded(value, Field::Cursor)?),
            Self::Limit => {
                let limit = value.parse().ok().filter(|limit| (1..=MAX_PAGE).contains(limit));
                filter.limit = Some(limit.ok_or(problem(Field::Limit))?);
            }
        }
        Ok(())
    }
}

fn bounded(value: &str, field: Field) -> Result<String, FilterProblem> {
    if value.chars().count() > MAX_FILTER_CHARS {
        return Err(FilterProblem(field));
    }
    Ok(value.to_owned())
}

fn truth(value: &str) -> bool {
    matches!(value, "true" | "1" | "on")
}

/// A day is its first moment in UTC; otherwise RFC 3339.
fn read_instant(value: &str) -> Option<DateTime<Utc>> {
    value
        .parse::<NaiveDate>()
        .map(|day| day.and_time(NaiveTime::MIN).and_utc())
        .ok()
        .or_else(|| DateTime::parse_from_rfc3339(value).ok().map(|at| at.to_utc()))
}

fn write_instant(at: DateTime<Utc>) -> String {
    if at.time() == NaiveTime::MIN {
        text::day(at)
    } else {
        at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AWKWARD: &str = "inv/1 % + & : @ ( ) é 😀 %2B %25 \"<'#?=;";

    #[test]
    fn awkward_keys_come_back_exactly() {
        for q in [AWKWARD, "100%", "a+b", "%2F", "a&q=b", "\u{202e}x", "tab\there"] {
            let filter = OperationFilter { q: Some(q.into()), ..Default::default() };
            let query = operations_query(&filter);
            assert!(query.bytes().all(|b| b.is_ascii_graphic()), "{query}");
            assert_eq!(parse_operations(&query), Ok(filter.clone()));
            assert_eq!(parse_operations(&format!("?{query}")), Ok(filter));
        }
    }

    #[test]
    fn what_a_browsers_form_sends_is_read_as_it_was_typed() {
        let sent = "q=a%2Fb+%25+%2B+%26+%C3%A9+%F0%9F%98%80&status=&operation=&needs_manual=true&from=2026-11-01";
        let filter = parse_operations(sent).unwrap();
        assert_eq!(filter.q.as_deref(), Some("a/b % + & é 😀"));
        assert!(filter.needs_manual);
        assert_eq!(filter.status, None);
        assert_eq!(day_value(filter.from), "2026-11-01");
    }

    #[test]
    fn every_part_survives_a_round_trip() {
        let filter = OperationFilter {
            status: Some(StatusFilter::Is(Status::Unknown)),
            operation: Some("invoice.charge".into()),
            q: Some(AWKWARD.into()),
            needs_manual: true,
            conflict: true,
            from: read_instant("2026-11-01"),
            to: read_instant("2026-11-29T17:52:03.120Z"),
            cursor: Some("n0123456789abcdef0123456789abcdef".into()),
            limit: Some(20),
        };
        assert_eq!(parse_operations(&operations_query(&filter)), Ok(filter));
        assert_eq!(operations_href(&OperationFilter::default()), "/operations");
    }

    #[test]
    fn a_queue_has_an_address() {
        for cause in Cause::ALL {
            let href = cause_href(cause);
            assert_eq!(parse_cause(href.trim_start_matches("/?")), Some(cause));
        }
        assert_eq!(parse_cause("cause=x"), None);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (query, field) in [
            ("status=weird", Field::Status),
            ("limit=0", Field::Limit),
            ("limit=1001", Field::Limit),
            ("from=yesterday", Field::From),
            ("to=2026-13-01", Field::To),
        ] {
            assert_eq!(parse_operations(query), Err(FilterProblem(field)), "{query}");
        }
        let long = format!("q={}", "é".repeat(MAX_FILTER_CHARS + 1));
        assert_eq!(parse_operations(&long), Err(FilterProblem(Field::Q)));
        assert_eq!(parse_operations("utm=x&&=&a"), Ok(OperationFilter::default()));
    }
}
