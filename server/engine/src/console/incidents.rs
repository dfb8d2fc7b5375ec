//! Incidents: a list, and one with the records that it is about and what happened to them.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::{
    access::Permission,
    action::TargetType,
    ids::{IncidentId, TenantId},
    listing::{IncidentFilter, IncidentState, Page, StoryCursor},
    record::{RecordName, RecordType},
    view::{IncidentDetail, IncidentRow, IncidentStory, RecordRef},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    bounds::{self, given},
    gathered::{named, whole},
    list::{About, about, cursors, span},
    offers::offers,
    stake::stake,
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
                stake: stake(whole.records.iter().map(|record| &record.now)),
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

/// The rows of these incidents, each with the first record that it is about, and what is at stake in all
/// of them where they are few.
pub(super) async fn rows(
    db: &mut PgConnection,
    tenant: TenantId,
    ids: &[Uuid],
) -> Result<Vec<IncidentRow>, EngineError> {
    let stored = incident_listing::rows(db, tenant, ids).await?;
    // What the engine opened an incident about may have been gathered, too.
    let own = stored.iter().map(|stored| stored.about.len()).max().unwrap_or_default();
    let max = i64::try_from(IncidentRow::SUMMED + 1 + own).unwrap_or(i64::MAX);
    let mut gathered: HashMap<Uuid, Vec<RecordName>> = HashMap::new();
    for (incident, name) in incident_record::first_of(db, tenant, ids, max).await? {
        gathered.entry(incident).or_default().push(name);
    }
    let all: Vec<Vec<RecordName>> = stored
        .iter()
        .map(|stored| {
            let more = gathered.remove(&stored.row.id.uuid()).unwrap_or_default();
            let more = more.into_iter().filter(|name| !stored.about.contains(name));
            stored.about.iter().copied().chain(more).take(IncidentRow::SUMMED + 1).collect()
        })
        .collect();
    let wanted: Vec<_> = all.iter().flat_map(|names| shown_of(names)).copied().collect();
    let records: HashMap<_, _> = record_ref::of(db, tenant, &wanted)
        .await?
        .into_iter()
        .map(|record| ((record.record, record.id.clone()), record))
        .collect();
    Ok(stored.into_iter().zip(&all).map(|(stored, names)| row(stored, names, &records)).collect())
}

/// Of which records more than their number is told: of all, or of the first where they are too many to sum.
fn shown_of(names: &[RecordName]) -> &[RecordName] {
    if names.len() > IncidentRow::SUMMED { names.get(..1).unwrap_or_default() } else { names }
}

fn row(
    stored: Stored,
    names: &[RecordName],
    records: &HashMap<(RecordType, String), RecordRef>,
) -> IncidentRow {
    let known = |name: &RecordName| records.get(&(name.record, name.id.to_string()));
    let summed = names.len() <= IncidentRow::SUMMED;
    IncidentRow {
        about: names.first().and_then(known).cloned(),
        record_count: Some(names.len()),
        stake: if summed { stake(names.iter().filter_map(known)) } else { Vec::new() },
        ..stored.row
    }
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
