//! The one place that reads and writes the console's query strings.
//!
//! Guards against keys that break on their way through a URL: the router decodes values twice, so
//! everything here reads the RAW query.

use chrono::{DateTime, NaiveDate, SecondsFormat};
use domain::{
    listing::{BadPart, ListFilter, Parts, Why},
    view::Cause,
};
use form_urlencoded::Serializer;

use crate::zone::Zone;

/// Where a page of a list begins: the part that belongs to one list alone.
const CURSOR: &str = "cursor";
/// The length of a page: it narrows nothing.
const LIMIT: &str = "limit";
/// The version that a form was opened at.
const VERSION: &str = "version";
/// The zone that days are meant in: it narrows nothing by itself.
pub const ZONE: &str = "zone";
/// Which columns are shown: it narrows nothing.
pub const COLUMNS: &str = "columns";
/// The parts that may be days.
const DAYS: [&str; 2] = ["from", "to"];

/// What the address of a list asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    path: &'static str,
    pairs: Vec<(String, String)>,
}

impl Asked {
    /// Reads the raw query of the list at a path.
    #[must_use]
    pub fn read(path: &'static str, query: &str) -> Self {
        let mut read: Vec<(String, String)> = Vec::new();
        for (name, value) in pairs(query).into_iter().filter(|(_, value)| !value.is_empty()) {
            // A form without scripts sends each ticked column by itself.
            match read.iter_mut().find(|(known, _)| known == COLUMNS && name == COLUMNS) {
                Some((_, columns)) => {
                    columns.push(',');
                    columns.push_str(&value);
                }
                None => read.push((name, value)),
            }
        }
        let dated = read.iter().any(|(name, _)| DAYS.contains(&name.as_str()));
        read.retain(|(name, _)| name != ZONE || dated);
        Self { path, pairs: read }
    }

    /// The columns that are asked for; `None` for all.
    #[must_use]
    pub fn columns(&self) -> Option<Vec<&str>> {
        self.value(COLUMNS).map(|columns| columns.split(',').collect())
    }

    /// The zone that this address means its days in: a link shows everybody the same rows, so it is not
    /// the reader's. UTC where the address names none, or none that there is.
    #[must_use]
    pub fn zone(&self) -> Zone {
        self.value(ZONE).and_then(Zone::named).unwrap_or_default()
    }

    /// The zone that a form on this page means days in: the address's where it has days, else the
    /// reader's.
    #[must_use]
    pub fn zone_of_form(&self) -> Zone {
        let dated = DAYS.iter().any(|name| self.value(name).is_some());
        if dated { self.zone() } else { Zone::in_force() }
    }

    /// A part as a day for `<input type="date">`: that of its zone where it is an instant.
    #[must_use]
    pub fn day(&self, name: &str) -> Option<String> {
        let value = self.value(name)?;
        match DateTime::parse_from_rfc3339(value) {
            Ok(at) => Some(self.zone().day(at.to_utc())),
            Err(_) => Some(value.to_owned()),
        }
    }

    /// The path of the list.
    #[must_use]
    pub const fn path(&self) -> &'static str {
        self.path
    }

    /// The first value of a part, decoded once.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The list's filter. Parts that are not its own say nothing: links get parameters on their way
    /// through other programs.
    ///
    /// # Errors
    /// [`BadPart`] names the first one that cannot be used.
    pub fn filter<F: ListFilter>(&self) -> Result<F, BadPart> {
        F::read(&mut Parts::new(self.parts()?)?)
    }

    /// The same with a page of so many rows where the address names no number.
    ///
    /// # Errors
    /// As [`Asked::filter`].
    pub fn filter_by<F: ListFilter>(&self, rows: i64) -> Result<F, BadPart> {
        let mut parts = self.parts()?;
        if self.value(LIMIT).is_none() {
            parts.push((LIMIT.to_owned(), rows.to_string()));
        }
        F::read(&mut Parts::new(parts)?)
    }

    /// The parts as the engine takes them: days are instants, by the address's zone.
    ///
    /// # Errors
    /// [`BadPart`] for a zone that there is not, and for a day that it never had.
    pub fn parts(&self) -> Result<Vec<(String, String)>, BadPart> {
        let bad = |name: &str, why| BadPart { name: name.to_owned(), why };
        if self.value(ZONE).is_some_and(|name| Zone::named(name).is_none()) {
            return Err(bad(ZONE, Why::NoZone));
        }
        let zone = self.zone();
        let instant = |(name, value): &(String, String)| {
            let day = DAYS.contains(&name.as_str()).then(|| value.parse::<NaiveDate>().ok());
            let value = match day.flatten() {
                Some(day) => {
                    let first = zone.first_moment(day).ok_or_else(|| bad(name, Why::NoInstant))?;
                    first.to_rfc3339_opts(SecondsFormat::Secs, true)
                }
                None => value.clone(),
            };
            Ok((name.clone(), value))
        };
        let own = self.pairs.iter().filter(|(name, _)| name != ZONE && name != COLUMNS);
        own.map(instant).collect()
    }

    /// Whether anything narrows the list.
    #[must_use]
    pub fn narrows(&self) -> bool {
        let about_the_page = [CURSOR, LIMIT, ZONE, COLUMNS];
        self.pairs.iter().any(|(name, _)| !about_the_page.contains(&name.as_str()))
    }

    /// This address.
    #[must_use]
    pub fn href(&self) -> String {
        self.written(|_| true, None)
    }

    /// The page of the same list that begins at a cursor.
    #[must_use]
    pub fn at(&self, cursor: &str) -> String {
        self.written(|name| name != CURSOR, Some((CURSOR, cursor)))
    }

    /// The list with another value of a part, from its beginning.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> String {
        self.written(|known| known != name && known != CURSOR, Some((name, value)))
    }

    /// The list without a part, from its beginning.
    #[must_use]
    pub fn without(&self, name: &str) -> String {
        self.written(|known| known != name && known != CURSOR, None)
    }

    /// What makes this list what it is: its query without the place of the page, for what keeps the list or
    /// takes all of it.
    #[must_use]
    pub fn whole(&self) -> String {
        let kept = self.pairs.iter().filter(|(name, _)| name != CURSOR && name != LIMIT);
        Serializer::new(String::new()).extend_pairs(kept).finish()
    }

    /// What a form that changes the named parts carries along as hidden fields. The cursor goes: it
    /// belongs to another list.
    #[must_use]
    pub fn kept(&self, changed: &[&str]) -> Vec<(String, String)> {
        let stays = |name: &str| name != CURSOR && !changed.contains(&name);
        self.pairs.iter().filter(|(name, _)| stays(name)).cloned().collect()
    }

    fn written(&self, keeps: impl Fn(&str) -> bool, more: Option<(&str, &str)>) -> String {
        let kept = self.pairs.iter().filter(|(name, _)| keeps(name));
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        href(self.path, kept.chain(more))
    }
}

/// An address with a query.
#[must_use]
pub fn href<'a>(path: &str, parts: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let query = Serializer::new(String::new()).extend_pairs(parts).finish();
    here(path, &query)
}

/// The decoded pairs of a raw query.
#[must_use]
pub fn pairs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.trim_start_matches('?').as_bytes()).into_owned().collect()
}

/// Which part of a list an address shows, where it is not the beginning of all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartShown {
    /// What filters leave.
    Filtered,
    /// A further page.
    Further,
}

/// Which part of a list a raw query asks for; `None` for the beginning of all of it.
#[must_use]
pub fn part_shown(query: &str) -> Option<PartShown> {
    let of_all = |name: &str| [LIMIT, ZONE, COLUMNS].contains(&name);
    let mut parts = pairs(query);
    parts.retain(|(name, value)| !value.is_empty() && !of_all(name));
    if parts.iter().any(|(name, _)| name != CURSOR) {
        Some(PartShown::Filtered)
    } else {
        (!parts.is_empty()).then_some(PartShown::Further)
    }
}

/// All values of a name in a raw query, each decoded once.
#[must_use]
pub fn values(query: &str, name: &str) -> Vec<String> {
    pairs(query).into_iter().filter(|(known, _)| known == name).map(|(_, value)| value).collect()
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
    href("/", [("cause", cause.as_str())])
}

/// The list that shows the same records as a queue.
#[must_use]
pub fn list_of(cause: Cause) -> Option<String> {
    Some(match cause {
        Cause::UnknownOutcome => {
            href("/operations", [("status", "unknown"), ("needs_manual", "true")])
        }
        Cause::StuckLease => href("/leases", [("status", "stale")]),
        Cause::ApprovalMine | Cause::ApprovalOthers => "/approvals".into(),
        Cause::BlockedWorkflow => href("/workflows", [("status", "blocked")]),
        Cause::DeadEvent => href("/outbox", [("status", "dead")]),
        Cause::OpenIncident => href("/incidents", [("status", "open")]),
        Cause::PayloadConflict => "/conflicts".into(),
        // An undo stands on the page of what it undoes, and messages that were not taken in are in two
        // states: no list has a filter for either.
        Cause::StuckCompensation | Cause::UntakenMessage => return None,
    })
}

/// The path and query of a page, to come back to it.
#[must_use]
pub fn here(path: &str, query: &str) -> String {
    let query = query.trim_start_matches('?');
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// The address under which a page is read anew: a list from its beginning, a form at the version that
/// stands now.
#[must_use]
pub fn afresh(path: &str, query: &str) -> String {
    let pairs = pairs(query);
    let kept = pairs.iter().filter(|(name, _)| name != CURSOR && name != VERSION);
    href(path, kept.map(|(name, value)| (name.as_str(), value.as_str())))
}

#[cfg(test)]
mod tests {
    use domain::listing::OperationFilter;

    use super::*;

    #[test]
    fn an_address_tells_whether_it_shows_the_beginning_of_a_whole_list() {
        for (query, shown) in [
            ("", None),
            ("limit=25&columns=state&zone=UTC&status=", None),
            ("cursor=x", Some(PartShown::Further)),
            ("status=unknown", Some(PartShown::Filtered)),
            ("cursor=x&q=INV", Some(PartShown::Filtered)),
        ] {
            assert_eq!(part_shown(query), shown, "{query}");
        }
    }

    const AWKWARD: &str = "inv/1 % + & : @ ( ) é 😀 %2B %25 \"<'#?=;";

    #[test]
    fn awkward_keys_come_back_exactly() {
        for q in [AWKWARD, "100%", "a+b", "%2F", "a&q=b", "\u{202e}x", "tab\there"] {
            let written = href("/operations", [("q", q)]);
            assert!(written.bytes().all(|b| b.is_ascii_graphic()), "{written}");
            let asked = Asked::read("/operations", written.trim_start_matches("/operations"));
            let filter = OperationFilter { q: Some(q.into()), ..Default::default() };
            assert_eq!(asked.filter(), Ok(filter));
            assert_eq!(asked.href(), written);
        }
    }

    #[test]
    fn taking_a_filter_away_leads_to_the_beginning_of_the_wider_list() {
        let asked = Asked::read("/outbox", "?status=dead&q=a%2Fb&cursor=n00&limit=20&topic=");
        assert_eq!(asked.without("status"), "/outbox?q=a%2Fb&limit=20");
        assert_eq!(asked.with("q", "c d"), "/outbox?status=dead&limit=20&q=c+d");
        assert_eq!(asked.at("n11"), "/outbox?status=dead&q=a%2Fb&limit=20&cursor=n11");
        assert_eq!(asked.kept(&["q", "status"]), [("limit".into(), "20".into())]);
        assert!(asked.narrows());
        assert!(!Asked::read("/outbox", "cursor=n00&limit=20&topic=").narrows());
        assert_eq!(Asked::read("/outbox", "").href(), "/outbox");
    }

    #[test]
    fn a_part_of_another_program_says_nothing_and_a_wrong_one_is_named() {
        let plain = Asked::read("/operations", "utm=x&&=&a");
        assert_eq!(plain.filter(), Ok(OperationFilter::default()));
        let wrong = Asked::read("/operations", "status=weird");
        assert_eq!(wrong.filter::<OperationFilter>().unwrap_err().name, "status");
    }

    #[test]
    fn a_page_read_anew_keeps_its_filters_and_begins_at_the_beginning() {
        let anew = afresh("/operations", "?q=a%2Fb&cursor=n00&limit=20");
        assert_eq!(anew, "/operations?q=a%2Fb&limit=20");
        assert_eq!(afresh("/operations/7/confirm", "version=3"), "/operations/7/confirm");
    }

    #[test]
    fn a_link_means_the_same_days_for_everybody() {
        let asked = Asked::read("/operations", "from=2026-10-25&to=2026-10-26&zone=Europe/Berlin");
        let filter: OperationFilter = asked.filter().unwrap();
        let at = |at: Option<DateTime<chrono::Utc>>| at.unwrap().to_rfc3339();
        // Twenty-five hours: the clocks go back.
        assert_eq!(at(filter.from), "2026-10-24T22:00:00+00:00");
        assert_eq!(at(filter.to), "2026-10-25T23:00:00+00:00");
        assert_eq!(asked.day("from").as_deref(), Some("2026-10-25"));
        let utc: OperationFilter = Asked::read("/operations", "from=2026-10-25").filter().unwrap();
        assert_eq!(at(utc.from), "2026-10-25T00:00:00+00:00");
        let instant = Asked::read("/operations", "from=2026-10-24T22:00:00Z&zone=Europe/Berlin");
        assert_eq!(instant.day("from").as_deref(), Some("2026-10-25"));
        let wrong = Asked::read("/operations", "from=2026-10-25&zone=Mars");
        assert_eq!(wrong.filter::<OperationFilter>().unwrap_err().name, "zone");
        assert_eq!(Asked::read("/operations", "zone=Mars&q=x").href(), "/operations?q=x");
    }

    #[test]
    fn columns_come_from_a_form_or_a_link_and_narrow_nothing() {
        let form = Asked::read("/outbox", "columns=aggregate&columns=state&topic=a&columns=");
        assert_eq!(form.columns(), Some(vec!["aggregate", "state"]));
        assert_eq!(form.href(), "/outbox?columns=aggregate%2Cstate&topic=a");
        let link = Asked::read("/outbox", "columns=aggregate,state&limit=20&cursor=n00");
        assert!(!link.narrows());
        assert_eq!(link.whole(), "columns=aggregate%2Cstate");
        assert!(link.filter::<domain::listing::EventFilter>().is_ok());
        assert_eq!(Asked::read("/outbox", "").columns(), None);
    }

    #[test]
    fn a_page_has_the_readers_length_unless_the_address_names_one() {
        let rows = |query| Asked::read("/operations", query).filter_by::<OperationFilter>(100);
        assert_eq!(rows("").unwrap().limit, Some(100));
        assert_eq!(rows("limit=20").unwrap().limit, Some(20));
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
    fn a_queue_leads_to_a_list_only_where_that_shows_all_of_it() {
        assert_eq!(list_of(Cause::DeadEvent).as_deref(), Some("/outbox?status=dead"));
        // Messages that are dead, and messages that are quarantined.
        assert_eq!(list_of(Cause::UntakenMessage), None);
    }
}
