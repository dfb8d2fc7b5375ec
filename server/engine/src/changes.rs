//! Which records changed, as it is told: by the database's triggers to the process that commits, by
//! it to every process, by each to the pages that are open (docs/live.md).
//!
//! Guards against a notice that fails for its size, or fills a memory: ids alone, so many of a tenant;
//! where there are more, only that much has changed. A hint and no record: nothing rests on it.

use std::{collections::BTreeMap, fmt};

/// The most records of a tenant that are named at a time.
const MOST: usize = 100;
/// The most of a tenant where many tenants' records do not fit.
const FEW: usize = 10;
/// PostgreSQL takes a notice of less than 8,000 bytes.
const MAX_BYTES: usize = 7_900;
/// In place of a record: more than are named. In place of a tenant: all of them.
const MUCH: &str = "*";

/// When a record changed, and whether it was made then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    new: bool,
    at_ms: i64,
}

/// Records of one tenant that changed: `operation/id`, as rows of lists name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Records(BTreeMap<String, Mark>);

impl Records {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When the last of them changed, in milliseconds since 1970.
    pub(crate) fn latest(&self) -> i64 {
        self.0.values().map(|mark| mark.at_ms).max().unwrap_or(0)
    }

    /// Says that more changed than is named.
    pub(crate) fn much(&mut self, at_ms: i64) {
        self.merge(MUCH, Mark { new: false, at_ms });
    }

    /// Adds those of another list that changed after an instant.
    pub(crate) fn merge_after(&mut self, other: &Self, after_ms: i64) {
        for (record, mark) in other.0.iter().filter(|(_, mark)| mark.at_ms > after_ms) {
            self.merge(record, *mark);
        }
    }

    /// Adds `+operation/id@milliseconds`; what reads otherwise is nothing that we wrote.
    fn read(&mut self, item: &str) {
        let Some((record, at)) = item.split_once('@') else { return };
        let (record, new) = record.strip_prefix('+').map_or((record, false), |rest| (rest, true));
        if let Ok(at_ms) = at.parse() {
            self.merge(record, Mark { new, at_ms });
        }
    }

    fn merge(&mut self, record: &str, mark: Mark) {
        if let Some(known) = self.0.get_mut(record) {
            known.new |= mark.new;
            known.at_ms = known.at_ms.max(mark.at_ms);
        } else {
            self.0.insert(record.to_owned(), mark);
        }
        self.keep(MOST);
    }

    fn keep(&mut self, most: usize) {
        if self.0.len() > most || self.0.len() > 1 && self.0.contains_key(MUCH) {
            let at_ms = self.latest();
            self.0 = BTreeMap::from([(MUCH.to_owned(), Mark { new: false, at_ms })]);
        }
    }
}

impl fmt::Display for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (record, mark)) in self.0.iter().enumerate() {
            let (space, plus) = (if n > 0 { " " } else { "" }, if mark.new { "+" } else { "" });
            write!(f, "{space}{plus}{record}@{}", mark.at_ms)?;
        }
        Ok(())
    }
}

/// Records that changed, by tenant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes(BTreeMap<String, Records>);

impl Changes {
    /// That much may have changed, in every tenant.
    pub(crate) fn much(at_ms: i64) -> Self {
        let mut records = Records::default();
        records.much(at_ms);
        Self(BTreeMap::from([(MUCH.to_owned(), records)]))
    }

    /// Adds what was told: a line for each tenant, or several.
    pub(crate) fn read(&mut self, told: &str) {
        for line in told.lines() {
            let mut parts = line.split(' ');
            let Some(tenant) = parts.next() else { continue };
            let records = self.0.entry(tenant.to_owned()).or_default();
            parts.for_each(|item| records.read(item));
        }
        self.0.retain(|_, records| !records.is_empty());
    }

    /// What a tenant may know of it, of after an instant.
    pub(crate) fn of(&self, tenant: &str, after_ms: i64) -> Records {
        let mut records = Records::default();
        for name in [tenant, MUCH] {
            if let Some(theirs) = self.0.get(name) {
                records.merge_after(theirs, after_ms);
            }
        }
        records
    }

    /// When the last of them changed.
    pub(crate) fn latest(&self) -> i64 {
        self.0.values().map(Records::latest).max().unwrap_or(0)
    }

    /// The notice about them, which always fits; `None` where nothing changed.
    pub(crate) fn notice(mut self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let text = self.to_string();
        if text.len() <= MAX_BYTES {
            return Some(text);
        }
        self.0.values_mut().for_each(|records| records.keep(FEW));
        let text = self.to_string();
        Some(if text.len() <= MAX_BYTES { text } else { Self::much(self.latest()).to_string() })
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (tenant, records) in &self.0 {
            writeln!(f, "{tenant} {records}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn read(told: &str) -> Changes {
        let mut changes = Changes::default();
        changes.read(told);
        changes
    }

    #[test]
    fn a_record_that_changed_twice_is_told_once_and_stays_new() {
        let changes = read("t +operation/a@5\nt operation/a@9\nu event/b@7\n");
        assert_eq!(changes.notice().unwrap(), "t +operation/a@9\nu event/b@7\n");
        assert_eq!(read("").notice(), None);
        assert_eq!(read("t\nt weird\nt operation/a@x\n").notice(), None);
    }

    #[test]
    fn a_tenant_sees_its_own_and_what_all_may_know_of_after_its_page() {
        let changes = read("t operation/a@5 operation/b@6\nu event/c@9");
        assert_eq!(changes.of("t", 5).to_string(), "operation/b@6");
        assert!(changes.of("t", 6).is_empty());
        assert_eq!(Changes::much(9).of("t", 6).to_string(), "*@9");
        assert_eq!(Changes::much(9).of("t", 9).to_string(), "");
    }

    #[test]
    fn a_notice_always_fits() {
        let records = |tenant: usize, n: usize| {
            (0..n).fold(String::new(), |mut text, record| {
                writeln!(text, "{tenant:036} operation/{record:036}@1796027999793").unwrap();
                text
            })
        };
        let whole = read(&records(1, MOST)).notice().unwrap();
        assert_eq!(whole.split(' ').count(), MOST + 1);
        let much = read(&records(1, MOST + 1)).notice().unwrap();
        assert_eq!(much, format!("{:036} *@1796027999793\n", 1));
        let two = read(&format!("{}{}{}", records(1, MOST), records(2, MOST), records(3, 2)));
        let two = two.notice().unwrap();
        assert_eq!(two.matches('*').count(), 2);
        assert_eq!(two.matches("operation/").count(), 2);
        let all: String = (0..300).map(|tenant| records(tenant, 1)).collect();
        assert_eq!(read(&all).notice().unwrap(), "* *@1796027999793\n");
    }
}
