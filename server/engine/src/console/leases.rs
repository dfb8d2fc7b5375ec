//! Who holds what, those first whose lease ended longest ago.

use chrono::{DateTime, Utc};
use domain::{
    access::Permission,
    ids::TenantId,
    lease::LeaseState,
    listing::{LeaseFilter, Page, TimeCursor},
    view::LeaseRow,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    bounds::{self, given, unfit},
    list::about,
};
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    settings::Limits,
    store::{
        lease,
        lease_listing::{self, Narrowing, Place},
    },
};

/// Matches of each kind that a search reads.
const MAX_MATCHES: i64 = 200;

impl Engine {
    /// One page of leases, stuck first. A live one moves down with each beat; a stuck one stays where
    /// it is.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `filter_invalid` with the part named.
    pub async fn list_leases(
        &self,
        by: &StaffCaller,
        filter: &LeaseFilter,
    ) -> Result<Page<LeaseRow>, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by, filter) = (self.clone(), by.clone(), filter.clone());
        Self::detached(async move {
            let tenant = by.tenant_id();
            let mut tx = engine.pools.begin_console(tenant).await?;
            let now = lease::clock(&mut tx).await?;
            let cursor = filter.cursor.as_deref().and_then(|text| TimeCursor::decode(text).ok());
            let (mut narrowing, narrow) = found(&engine, &mut tx, &by, &filter, now).await?;
            let limit = usize::try_from(narrowing.limit).unwrap_or_default();
            narrowing.limit += 1;
            let (mut places, stopped) = lease_listing::places(&mut tx, &narrowing).await?;
            let further = places.len() > limit;
            places.truncate(limit);
            let ids: Vec<Uuid> = places.iter().map(|(_, id)| *id).collect();
            let items = lease_listing::rows(&mut tx, tenant, &ids, now).await?;
            tx.commit().await?;
            let (next, previous) = cursors(cursor, &places, further, stopped);
            Ok(Page { items, next, previous, narrow, as_of: now })
        })
        .await
    }
}

/// The cursors of the pages after and before this one. `places` stand in reading order.
pub(super) fn cursors(
    cursor: Option<TimeCursor>,
    places: &[Place],
    further: bool,
    stopped: Option<Place>,
) -> (Option<String>, Option<String>) {
    let to = |(at, id): Place, backwards| TimeCursor { at, id, backwards }.encode();
    let backwards = cursor.is_some_and(|cursor| cursor.backwards);
    let on = if further { places.last().copied() } else { stopped };
    let back = match (places.first(), cursor) {
        (_, None) => None,
        (Some(first), _) => Some(*first),
        (None, Some(from)) => Some((from.at, from.id)),
    };
    let (on, back) = (on.map(|at| to(at, backwards)), back.map(|at| to(at, !backwards)));
    if backwards { (back, on) } else { (on, back) }
}

/// A filter as the store takes it, with what its search finds, and whether the search matches more than
/// is read.
pub(super) async fn found(
    engine: &Engine,
    tx: &mut PgConnection,
    by: &StaffCaller,
    filter: &LeaseFilter,
    now: DateTime<Utc>,
) -> Result<(Narrowing, bool), EngineError> {
    let (mut narrowing, _) = narrow(by.tenant_id(), filter, now, &engine.settings.limits)?;
    let Some(q) = given(&filter.q) else { return Ok((narrowing, false)) };
    let found = about(engine, tx, by, &q, MAX_MATCHES).await?;
    narrowing.found = Some(found.operations);
    Ok((narrowing, found.more))
}

fn narrow(
    tenant: TenantId,
    filter: &LeaseFilter,
    now: DateTime<Utc>,
    limits: &Limits,
) -> Result<(Narrowing, Option<TimeCursor>), EngineError> {
    let texts = [("q", &filter.q), ("operation", &filter.operation), ("holder", &filter.holder)];
    let (cursor, limit) =
        bounds::page_by(TimeCursor::decode, &texts, &filter.cursor, filter.limit, limits)?;
    let mut after = (DateTime::UNIX_EPOCH, Uuid::nil());
    let mut before = (now + chrono::TimeDelta::days(36_500), Uuid::max());
    match filter.status {
        None => {}
        Some(LeaseState::Stale) => before = (now, Uuid::nil()),
        Some(LeaseState::Live) => after = (now, Uuid::nil()),
        Some(LeaseState::None) => return Err(unfit("status", "a lease is live or stale")),
    }
    match cursor {
        Some(TimeCursor { at, id, backwards: true }) => before = before.min((at, id)),
        Some(TimeCursor { at, id, backwards: false }) => after = after.max((at, id)),
        None => {}
    }
    let narrowing = Narrowing {
        tenant,
        operation: given(&filter.operation),
        holder: given(&filter.holder),
        after,
        before,
        backwards: cursor.is_some_and(|cursor| cursor.backwards),
        found: None,
        limit,
    };
    Ok((narrowing, cursor))
}
