//! The list of operations: filters checked and bounded, pages by key both ways, search exact or by
//! prefix.

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    access::Permission,
    ids::OperationId,
    listing::{Cursor, OperationFilter, Page, StatusFilter},
    money::parse_amount,
    problem::Code,
    view::OperationRow,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::bounds;
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    operations::hashed_term,
    settings::Limits,
    store::{
        kind, lease, listing,
        listing::{Narrowing, Search},
    },
};

/// Matches of each kind that a search reads.
const MAX_MATCHES: i64 = 500;
/// Hexadecimal digits from which a text may be the beginning of an id.
const MIN_ID_DIGITS: usize = 6;

impl Engine {
    /// One page of operations, newest first.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `filter_invalid` with the part named.
    pub async fn list_operations(
        &self,
        by: &StaffCaller,
        filter: &OperationFilter,
    ) -> Result<Page<OperationRow>, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by, filter) = (self.clone(), by.clone(), filter.clone());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            let now = lease::clock(&mut tx).await?;
            let (mut narrowing, more_matches) = found(&engine, &mut tx, &by, &filter, now).await?;
            let limit = narrowing.limit;
            narrowing.limit = limit + 1;
            let mut ids = listing::ids(&mut tx, &narrowing).await?;
            let further = i64::try_from(ids.len()).is_ok_and(|found| found > limit);
            ids.truncate(usize::try_from(limit).unwrap_or_default());
            let items = listing::rows(&mut tx, by.tenant_id(), &ids, now).await?;
            tx.commit().await?;
            let ids: Vec<_> = ids.into_iter().map(OperationId::uuid).collect();
            let (next, previous) = cursors(narrowing.cursor, &ids, further);
            Ok(Page { items, next, previous, narrow: more_matches, as_of: now })
        })
        .await
    }

    /// The names of the tenant's kinds that begin so, from one on, in their order.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `filter_invalid` with the part named.
    pub async fn kind_names(
        &self,
        by: &StaffCaller,
        prefix: &str,
        from: &str,
        limit: i64,
    ) -> Result<Vec<String>, EngineError> {
        by.require(Permission::Read)?;
        let (prefix, from) = (prefix.to_owned(), from.to_owned());
        let texts = [("q", &Some(prefix.clone())), ("from", &Some(from.clone()))];
        bounds::page(&texts, &None, None, &self.settings.limits)?;
        let (engine, tenant) = (self.clone(), by.tenant_id());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let names = kind::some_names(&mut tx, tenant, &prefix, &from, limit).await?;
            tx.commit().await?;
            Ok(names)
        })
        .await
    }

    /// What finds an operation by a person's words.
    pub(super) fn search_for(&self, q: &str, limit: i64) -> Search {
        Search {
            text: beginning(q),
            ids: id_range(q),
            hashed: hashed_term(&self.settings.search_secret, q),
            amount: parse_amount(q).map(|money| (money.amount_minor, money.currency)),
            limit,
        }
    }
}

/// The span of the texts that begin with one: U+10FFFF sorts after every character that a stored text can
/// continue with.
pub(super) fn beginning(text: &str) -> (String, String) {
    (text.to_owned(), format!("{text}\u{10ffff}"))
}

/// What a list of records about operations searches by.
pub(super) struct About {
    /// The operations that were found.
    pub(super) operations: Vec<Uuid>,
    /// Whether more match than were read.
    pub(super) more: bool,
    /// The span of ids that the text is the beginning of.
    pub(super) ids: Option<(Uuid, Uuid)>,
}

/// The operations that a text finds, and what else it may mean.
pub(super) async fn about(
    engine: &Engine,
    tx: &mut PgConnection,
    by: &StaffCaller,
    q: &str,
    limit: i64,
) -> Result<About, EngineError> {
    let search = engine.search_for(q, limit);
    let (operations, more) = listing::search(tx, by.tenant_id(), &search).await?;
    Ok(About { operations, more, ids: search.ids })
}

/// The ids that begin with a text of hexadecimal digits, hyphens where an id has them or not.
pub(super) fn id_range(text: &str) -> Option<(Uuid, Uuid)> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let fits = (MIN_ID_DIGITS..=32).contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if !fits {
        return None;
    }
    let end =
        |fill: &str| Uuid::try_parse(&format!("{digits}{}", fill.repeat(32 - digits.len()))).ok();
    Some((end("0")?, end("f")?))
}

/// A filter as the store takes it, with what its search finds, and whether the search matches more than
/// is read.
pub(super) async fn found(
    engine: &Engine,
    tx: &mut PgConnection,
    by: &StaffCaller,
    filter: &OperationFilter,
    now: DateTime<Utc>,
) -> Result<(Narrowing, bool), EngineError> {
    let mut narrowing = narrow(by, filter, now, &engine.settings.limits)?;
    let Some(q) = bounds::given(&filter.q) else { return Ok((narrowing, false)) };
    let found = about(engine, tx, by, &q, MAX_MATCHES).await?;
    narrowing.found = Some(found.operations);
    Ok((narrowing, found.more))
}

fn narrow(
    by: &StaffCaller,
    filter: &OperationFilter,
    now: DateTime<Utc>,
    limits: &Limits,
) -> Result<Narrowing, EngineError> {
    let (cursor, limit) = bounds::page(
        &[("q", &filter.q), ("operation", &filter.operation)],
        &filter.cursor,
        filter.limit,
        limits,
    )?;
    let (status, tombstone) = match filter.status {
        None => (None, None),
        Some(StatusFilter::Tombstone) => (None, Some(true)),
        Some(StatusFilter::Is(status)) => (Some(status), Some(false)),
    };
    let (from, to) =
        window(filter, now, status.is_some_and(|status| !status.is_final()), limits.list_days)?;
    Ok(Narrowing {
        tenant: by.tenant_id(),
        status: status.map(|status| status.as_str().to_owned()),
        operation: filter.operation.clone().filter(|operation| !operation.is_empty()),
        needs_manual: filter.needs_manual,
        conflict: filter.conflict,
        tombstone,
        from,
        to,
        cursor,
        found: None,
        limit,
    })
}

/// The span of a list as ids, which begin with their time. What is open, and what a search finds,
/// has no default window: old is what one looks for there.
fn window(
    filter: &OperationFilter,
    now: DateTime<Utc>,
    open: bool,
    days: i64,
) -> Result<(Uuid, Uuid), EngineError> {
    let unwindowed = open || filter.needs_manual || filter.conflict || filter.q.is_some();
    span((filter.from, filter.to), now, unwindowed, days)
}

/// A span of instants as ids; the last days where nothing is said, or, for what is open, all.
pub(super) fn span(
    given: Window,
    now: DateTime<Utc>,
    unwindowed: bool,
    days: i64,
) -> Result<(Uuid, Uuid), EngineError> {
    let (from, to) = instants(given, now, unwindowed, days)?;
    Ok((from.map_or(Uuid::nil(), id_at), to.map_or(Uuid::max(), id_at)))
}

/// From when, and up to when.
type Window = (Option<DateTime<Utc>>, Option<DateTime<Utc>>);

/// The span that a list reaches over; the last days where nothing is said, or, for what is open,
/// all.
pub(super) fn instants(
    (from, to): Window,
    now: DateTime<Utc>,
    unwindowed: bool,
    days: i64,
) -> Result<Window, EngineError> {
    let span = TimeDelta::days(days);
    let (from, to) = match (from, to) {
        (None, None) if unwindowed => (None, None),
        (None, None) => (Some(now - span), None),
        (Some(from), None) => (Some(from), from.checked_add_signed(span)),
        (None, Some(to)) => (to.checked_sub_signed(span), Some(to)),
        (Some(from), Some(to)) => (Some(from), Some(to)),
    };
    if let (Some(from), Some(to)) = (from, to)
        && (to < from || to - from > span)
    {
        return Err(EngineError::field(
            Code::FilterInvalid,
            "from",
            format!("from lies before to, at most {days} days"),
        ));
    }
    Ok((from, to))
}

/// The smallest id of an instant.
fn id_at(at: DateTime<Utc>) -> Uuid {
    let ms = u128::try_from(at.timestamp_millis().clamp(0, (1 << 48) - 1)).unwrap_or_default();
    Uuid::from_u128(ms << 80)
}

/// The cursors of the pages after and before this one. `ids` stand in reading order.
pub(super) fn cursors(
    cursor: Option<Cursor>,
    ids: &[Uuid],
    further: bool,
) -> (Option<String>, Option<String>) {
    let at = |id: Option<&Uuid>, backwards| id.map(|id| Cursor { id: *id, backwards }.encode());
    if cursor.is_some_and(|cursor| cursor.backwards) {
        // Read oldest first, away from where we came: there is a page after for certain.
        let previous = if further { at(ids.last(), true) } else { None };
        (at(ids.first(), false), previous)
    } else {
        let next = if further { at(ids.last(), false) } else { None };
        let previous = if cursor.is_some() { at(ids.first(), true) } else { None };
        (next, previous)
    }
}

/// The cursors of a page that looked at a bounded stretch of its list: where it stopped without
/// filling up, the list goes on from there.
pub(super) fn cursors_within(
    cursor: Option<Cursor>,
    ids: &[Uuid],
    further: bool,
    stopped: Option<Uuid>,
) -> (Option<String>, Option<String>) {
    let (next, previous) = cursors(cursor, ids, further);
    let Some(id) = stopped.filter(|_| !further) else { return (next, previous) };
    let backwards = cursor.is_some_and(|cursor| cursor.backwards);
    let on = Cursor { id, backwards }.encode();
    // An empty page has no first row to go back from: back is where it was come from.
    let back = || cursor.map(|from| Cursor { id: from.id, backwards: !backwards }.encode());
    if backwards { (next.or_else(back), Some(on)) } else { (Some(on), previous.or_else(back)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_an_id_stands_for_all_that_begin_so() {
        let (first, last) = id_range("01a2287c-c8").unwrap();
        assert_eq!(first.to_string(), "01a2287c-c800-0000-0000-000000000000");
        assert_eq!(last.to_string(), "01a2287c-c8ff-ffff-ffff-ffffffffffff");
        for text in ["01a22", "invoice", "", "01a2287c-c88e-7848-88ac-9331cc7993760"] {
            assert_eq!(id_range(text), None, "{text}");
        }
    }

    #[test]
    fn an_instants_smallest_id_sorts_before_every_id_of_it() {
        let at = DateTime::parse_from_rfc3339("2026-11-29T18:06:36Z").unwrap().to_utc();
        let low = id_at(at).as_u128();
        let ms = u128::try_from(at.timestamp_millis()).unwrap();
        assert_eq!(low >> 80, ms);
        assert_eq!(low & ((1 << 80) - 1), 0);
    }
}
