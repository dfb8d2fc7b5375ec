//! Incidents: a list, and one with the records that it is about and what happened to them.

use chrono::{DateTime, Utc};
use domain::{
    access::Permission,
    action::TargetType,
    ids::{IncidentId, OperationId, TenantId},
    listing::{IncidentFilter, IncidentState, Page},
    machine::Machine as _,
    problem::Code,
    record::RecordType,
    view::{IncidentDetail, IncidentRow, IncidentStep, MoveView, RecordRef},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    bounds::{self, given},
    list::{cursors, id_range, span},
    offers::offers,
    timeline::timeline,
};
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    settings::Limits,
    store::{
        Target, audit, event,
        incident_listing::{self, Narrowing, Stored},
        lease, listing, machine_event,
    },
};

/// Matches of each kind that a search reads.
const MAX_MATCHES: i64 = 200;
/// Moves of one record that a story tells.
const MAX_MOVES: i64 = 200;

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
        let (engine, tenant, filter) = (self.clone(), by.tenant_id(), filter.clone());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let now = lease::clock(&mut tx).await?;
            let mut narrowing = narrow(tenant, &filter, now, &engine.settings.limits)?;
            let mut narrow = false;
            if let Some(q) = given(&filter.q) {
                let search = engine.search_for(&q, MAX_MATCHES);
                let (operations, more) = listing::search(&mut tx, tenant, &search).await?;
                let ids = id_range(&q);
                let found =
                    incident_listing::search(&mut tx, tenant, &operations, ids, MAX_MATCHES)
                        .await?;
                (narrowing.found, narrow) = (Some(found), more);
            }
            let limit = usize::try_from(narrowing.limit).unwrap_or_default();
            narrowing.limit += 1;
            let mut ids = incident_listing::ids(&mut tx, &narrowing).await?;
            let further = ids.len() > limit;
            ids.truncate(limit);
            let stored = incident_listing::rows(&mut tx, tenant, &ids).await?;
            let first: Vec<_> =
                stored.iter().filter_map(|stored| stored.about.first().copied()).collect();
            let records = incident_listing::records(&mut tx, tenant, &first).await?;
            tx.commit().await?;
            let items = stored.into_iter().map(|stored| row(stored, &records)).collect();
            let (next, previous) = cursors(narrowing.cursor, &ids, further);
            Ok(Page { items, next, previous, narrow, as_of: now })
        })
        .await
    }

    /// One incident.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for one of another tenant.
    pub async fn incident(
        &self,
        by: &StaffCaller,
        id: IncidentId,
    ) -> Result<IncidentDetail, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let tenant = by.tenant_id();
            let mut tx = engine.pools.begin_console(tenant).await?;
            let as_of = lease::clock(&mut tx).await?;
            let stored = incident_listing::rows(&mut tx, tenant, &[id.uuid()])
                .await?
                .pop()
                .ok_or_else(|| EngineError::refused(Code::NotFound))?;
            let records = incident_listing::records(&mut tx, tenant, &stored.about).await?;
            let mut story = Vec::new();
            let mut story_cut = false;
            for (record, about) in &stored.about {
                let steps = steps(&mut tx, tenant, *record, *about).await?;
                story_cut |= i64::try_from(steps.len()).is_ok_and(|told| told >= MAX_MOVES);
                story.extend(steps);
            }
            let audit = audit::of_record(&mut tx, tenant, &id.to_string()).await?;
            tx.commit().await?;
            story.sort_by_key(|step| step.step.at);
            let reason = stored.reason.clone();
            let row = row(stored, &records);
            Ok(IncidentDetail {
                as_of,
                reason,
                actions: offers(&by, TargetType::Incident, row.status.as_str()),
                records,
                story,
                story_cut,
                audit,
                row,
            })
        })
        .await
    }
}

fn row(stored: Stored, records: &[RecordRef]) -> IncidentRow {
    let about = stored.about.first().and_then(|(kind, id)| {
        let id = id.to_string();
        records.iter().find(|record| record.record == *kind && record.id == id).cloned()
    });
    IncidentRow { about, ..stored.row }
}

/// What happened to one record.
async fn steps(
    db: &mut PgConnection,
    tenant: TenantId,
    record: RecordType,
    id: Uuid,
) -> Result<Vec<IncidentStep>, EngineError> {
    let machine = match record {
        RecordType::Operation => return operation_steps(db, tenant, id).await,
        RecordType::Workflow => domain::workflow::WorkflowState::NAME,
        RecordType::Compensation => domain::compensation::CompensationState::NAME,
        RecordType::Event => domain::outbox::EventStatus::NAME,
        RecordType::Message => domain::inbox::InboxState::NAME,
        RecordType::Conflict | RecordType::Approval | RecordType::Incident => return Ok(Vec::new()),
    };
    let moves = machine_event::of(db, tenant, machine, id, MAX_MOVES).await?;
    Ok(moves
        .into_iter()
        .map(|step| IncidentStep { record, id: id.to_string(), sentence: None, step })
        .collect())
}

async fn operation_steps(
    db: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<Vec<IncidentStep>, EngineError> {
    let target = Target { tenant, id: OperationId::new(id) };
    let moves = event::of(db, target, MAX_MOVES).await?;
    Ok(timeline(&moves, &[], &[], &[])
        .into_iter()
        .map(|item| IncidentStep {
            record: RecordType::Operation,
            id: id.to_string(),
            sentence: Some(item.sentence),
            step: MoveView {
                at: item.at,
                rule: item.rule,
                from: item.from.map(|status| status.as_str().to_owned()),
                to: item.to.map(|status| status.as_str().to_owned()).unwrap_or_default(),
                version: item.version.unwrap_or_default(),
                by_person: item.by_person,
                actor: item.actor,
                detail: item.detail,
            },
        })
        .collect())
}

fn narrow(
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
