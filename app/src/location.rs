//! The one place that reads and writes the console's query strings.
//!
//! Guards against keys that break on their way through a URL: the router decodes values twice, so
//! everything here reads the RAW query.

use chrono::{DateTime, NaiveTime, Utc};
use domain::{
    listing::{BadPart, ListFilter, Parts},
    view::Cause,
};
use form_urlencoded::Serializer;

use crate::text;

/// Where a page of a list begins: the part that belongs to one list alone.
const CURSOR: &str = "cursor";
/// The length of a page: it narrows nothing.
const LIMIT: &str = "limit";
/// The version that a form was opened at.
const VERSION: &str = "version";

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
        let pairs = pairs(query).into_iter().filter(|(_, value)| !value.is_empty()).collect();
        Self { path, pairs }
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
        F::read(&mut Parts::new(self.pairs.iter().cloned())?)
    }

    /// Whether anything narrows the list.
    #[must_use]
    pub fn narrows(&self) -> bool {
        self.pairs.iter().any(|(name, _)| name != CURSOR && name != LIMIT)
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
        Cause::UntakenMessage => href("/inbox", [("status", "dead")]),
        Cause::OpenIncident => href("/incidents", [("status", "open")]),
        Cause::PayloadConflict => "/conflicts".into(),
        // An undo stands on the page of what it undoes; the list of those has no filter for it.
        Cause::StuckCompensation => return None,
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

/// A day for `<input type="date">`, where the instant is a day's first moment.
#[must_use]
pub fn day_value(at: Option<DateTime<Utc>>) -> String {
    at.filter(|at| at.time() == NaiveTime::MIN).map(text::day).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use domain::listing::OperationFilter;

    use super::*;

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
    fn a_queue_has_an_address() {
        for cause in Cause::ALL {
            let href = cause_href(cause);
            assert_eq!(parse_cause(href.trim_start_matches("/?")), Some(cause));
        }
        assert_eq!(parse_cause("cause=x"), None);
    }
}
