//! Incidents: a list, and one with the records that it is about and what happened to them.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::{
    access::Permission,
    action::TargetType,
    ids::{IncidentId, TenantId},
    listing::{IncidentFilter, IncidentState, Page, StoryCursor},
    record::RecordName,
    view::{IncidentDetail, IncidentRow, IncidentStory, RecordRef},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    bounds::{self, given},
    gathered::{named, whole},
    list::{About, about, cursors, span},
    offers::offers,
    story,
};
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    settings::Limits,
    store::{
        audit,
        incident_listing::{self, Narrowing, Stored},
        incident_record, lease, record_ref,
    },
};

/// Matches of each kind that a search reads.
const MAX_MATCHES: i64 = 200;

impl Engine {
    /// One page of incidents, newest first.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `filter_invalid` with the part named.
    pub async fn list_incidents(
        &self,
        by: &StaffCaller,
        filter: &IncidentFilter,
    ) -> Result<Page<IncidentRow>, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by, filter) = (self.clone(), by.clone(), filter.clone());
        Self::detached(async move {
            let tenant = by.tenant_id();
            let mut tx = engine.pools.begin_console(tenant).await?;
            let now = lease::clock(&mut tx).await?;
            let (mut narrowing, narrow) = found(&engine, &mut tx, &by, &filter, now).await?;
            let limit = usize::try_from(narrowing.limit).unwrap_or_default();
            narrowing.limit += 1;
            let mut ids = incident_listing::ids(&mut tx, &narrowing).await?;
            let further = ids.len() > limit;
            ids.truncate(limit);
            let items = rows(&mut tx, tenant, &ids).await?;
            tx.commit().await?;
            let (next, previous) = cursors(narrowing.cursor, &ids, further);
            Ok(Page { items, next, previous, narrow, as_of: now })
        })
        .await
    }

    /// One incident, with the page of its story that begins after a place.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for one of another tenant;
    /// `filter_invalid` for a place that no story gives out.
    pub async fn incident(
        &self,
        by: &StaffCaller,
        id: IncidentId,
        after: Option<&str>,
    ) -> Result<IncidentDetail, EngineError> {
        by.require(Permission::Read)?;
        let from = place(after)?;
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let tenant = by.tenant_id();
            let mut tx = engine.pools.begin_console(tenant).await?;
            let as_of = lease::clock(&mut tx).await?;
            let whole = whole(&mut tx, tenant, id).await?;
            let (story, next) =
                story::page(&mut tx, tenant, (id, &whole.names), &from, story::PAGE).await?;
            let audit = audit::of_record(&mut tx, tenant, &id.to_string()).await?;
            tx.commit().await?;
            Ok(IncidentDetail {
                as_of,
                opened_reason: whole.opened_reason,
                reason: whole.reason,
                actions: offers(&by, TargetType::Incident, whole.row.status.as_str()),
                records: whole.records,
                story,
                story_next: next.map(|next| next.encode()),
                audit,
                row: whole.row,
            })
        })
        .await
    }

    /// One page of an incident's story.
    ///
    /// # Errors
    /// As [`Engine::incident`].
    pub async fn incident_story(
        &self,
        by: &StaffCaller,
        id: IncidentId,
        after: Option<&str>,
    ) -> Result<IncidentStory, EngineError> {
        by.require(Permission::Read)?;
        let from = place(after)?;
        let (engine, tenant) = (self.clone(), by.tenant_id());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let as_of = lease::clock(&mut tx).await?;
            let (_, names) = named(&mut tx, tenant, id).await?;
            let whose = (id, names.as_slice());
            let (items, next) = story::page(&mut tx, tenant, whose, &from, story::PAGE).await?;
            tx.commit().await?;
            Ok(IncidentStory { items, next: next.map(|next| next.encode()), as_of })
        })
        .await
    }
}

fn place(after: Option<&str>) -> Result<StoryCursor, EngineError> {
    let Some(after) = after else { return Ok(StoryCursor::start()) };
    after.parse().map_err(|_| bounds::unfit("cursor", "no story gives out such a place"))
}

/// A filter as the store takes it, with what its search finds, and whether the search matches more than
/// is read.
pub(super) async fn found(
    engine: &Engine,
    tx: &mut PgConnection,
    by: &StaffCaller,
    filter: &IncidentFilter,
    now: DateTime<Utc>,
) -> Result<(Narrowing, bool), EngineError> {
    let tenant = by.tenant_id();
    let mut narrowing = narrow(tenant, filter, now, &engine.settings.limits)?;
    let Some(q) = given(&filter.q) else { return Ok((narrowing, false)) };
    let About { operations, more, ids } = about(engine, tx, by, &q, MAX_MATCHES).await?;
    let found = incident_listing::search(tx, tenant, &operations, ids, MAX_MATCHES).await?;
    narrowing.found = Some(found);
    Ok((narrowing, more))
}

/// The rows of these incidents, each with the first record that it is about.
pub(super) async fn rows(
    db: &mut PgConnection,
    tenant: TenantId,
    ids: &[Uuid],
) -> Result<Vec<IncidentRow>, EngineError> {
    let stored = incident_listing::rows(db, tenant, ids).await?;
    let gathered: HashMap<_, _> =
        incident_record::first_of(db, tenant, ids).await?.into_iter().collect();
    let first = |stored: &Stored| {
        let own = stored.about.first().copied();
        own.or_else(|| gathered.get(&stored.row.id.uuid()).copied())
    };
    let names: Vec<_> = stored.iter().filter_map(first).collect();
    let records = record_ref::of(db, tenant, &names).await?;
    let row = |stored| {
        let about = first(&stored);
        row(stored, about, &records)
    };
    Ok(stored.into_iter().map(row).collect())
}

fn row(stored: Stored, about: Option<RecordName>, records: &[RecordRef]) -> IncidentRow {
    let about = about.and_then(|name| {
        let id = name.id.to_string();
        records.iter().find(|record| record.record == name.record && record.id == id).cloned()
    });
    IncidentRow { about, ..stored.row }
}

pub(super) fn narrow(
    tenant: TenantId,
    filter: &IncidentFilter,
    now: DateTime<Utc>,
    limits: &Limits,
) -> Result<Narrowing, EngineError> {
    let texts = [("q", &filter.q), ("cause", &filter.cause)];
    let (cursor, limit) = bounds::page(&texts, &filter.cursor, filter.limit, limits)?;
    // What is open, and what a search finds, has no default window.
    let open = filter.status == Some(IncidentState::Open) || given(&filter.q).is_some();
    let (from, to) = span((filter.from, filter.to), now, open, limits.list_days)?;
    Ok(Narrowing {
        tenant,
        open: filter.status.map(|status| status == IncidentState::Open),
        cause: given(&filter.cause),
        from,
        to,
        cursor,
        found: None,
        limit,
    })
}
