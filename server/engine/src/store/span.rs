//! Spans of ids, which begin with their time: where a page begins, and what the beginning of an id stands for.

use domain::{
    listing::Cursor,
    record::{RecordName, RecordType},
};
use uuid::Uuid;

/// What of a span a page reads from its cursor on: ids from the first, before the second.
pub(super) fn from_cursor(cursor: Option<Cursor>, (from, to): (Uuid, Uuid)) -> (Uuid, Uuid) {
    match cursor {
        Some(Cursor { id, backwards: true }) => {
            (from.max(Uuid::from_u128(id.as_u128().saturating_add(1))), to)
        }
        Some(Cursor { id, backwards: false }) => (from, to.min(id)),
        None => (from, to),
    }
}

/// The span of ids that a search means, first and last; where it means none an empty one, not null: the
/// planner would not know what becomes of it.
pub(super) fn or_empty(ids: Option<(Uuid, Uuid)>) -> (Uuid, Uuid) {
    ids.unwrap_or((Uuid::max(), Uuid::nil()))
}

/// The ids of those records that are of a kind.
pub(super) fn of_kind(wanted: &[RecordName], kind: RecordType) -> Vec<Uuid> {
    wanted.iter().filter(|wanted| wanted.record == kind).map(|wanted| wanted.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_begins_beside_its_cursor_and_stays_within_its_span() {
        let id = Uuid::from_u128;
        let whole = (id(10), id(90));
        let at = |n, backwards| Some(Cursor { id: id(n), backwards });
        assert_eq!(from_cursor(None, whole), whole);
        assert_eq!(from_cursor(at(50, false), whole), (id(10), id(50)));
        assert_eq!(from_cursor(at(50, true), whole), (id(51), id(90)));
        assert_eq!(from_cursor(at(95, false), whole), whole);
        assert_eq!(from_cursor(at(5, true), whole), whole);
        let (first, last) = or_empty(None);
        assert!(first > last);
    }
}
