//! The records of an incident, and where picked records could be gathered.

use std::collections::HashMap;

use domain::{
    access::Permission,
    ids::{IncidentId, TenantId},
    listing::{IncidentFilter, IncidentState},
    problem::Code,
    record::RecordName,
    view::{Gathering, IncidentRecord, IncidentRow, RecordRef},
};
use sqlx::PgConnection;

use super::incidents::narrow;
use crate::{
    Engine, StaffCaller,
    actions::{MAX_GATHERED, MAX_GATHERED_AT_ONCE, too_many_at_once},
    error::EngineError,
    store::{
        incident_listing::{self, Stored},
        incident_record::{self, Gathered},
        lease, operation, record_ref,
    },
};

/// Open incidents that are offered to gather into.
const MAX_OFFERED: i64 = 20;

impl Engine {
    /// The picked records as they are, and the open incidents that they could be gathered into.
    /// Changes nothing.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `unprocessable` for more records than one request gathers.
    pub async fn gathering(
        &self,
        by: &StaffCaller,
        picked: &[RecordName],
    ) -> Result<Gathering, EngineError> {
        by.require(Permission::Read)?;
        if picked.len() > MAX_GATHERED_AT_ONCE {
            return Err(too_many_at_once());
        }
        let (engine, tenant, picked) = (self.clone(), by.tenant_id(), picked.to_vec());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let found = in_order(&picked, record_ref::of(&mut tx, tenant, &picked).await?);
            let now = lease::clock(&mut tx).await?;
            let open = IncidentFilter { status: Some(IncidentState::Open), ..Default::default() };
            let mut narrowing = narrow(tenant, &open, now, &engine.settings.limits)?;
            narrowing.limit = MAX_OFFERED + 1;
            let ids = incident_listing::ids(&mut tx, &narrowing).await?;
            let mut open: Vec<_> = incident_listing::rows(&mut tx, tenant, &ids)
                .await?
                .into_iter()
                .map(|stored| stored.row)
                .collect();
            let new_id = IncidentId::new(operation::new_id(&mut tx).await?.uuid());
            tx.commit().await?;
            let more_open = i64::try_from(open.len()).is_ok_and(|open| open > MAX_OFFERED);
            open.truncate(usize::try_from(MAX_OFFERED).unwrap_or_default());
            let is_there = |name: &&RecordName| {
                let id = name.id.to_string();
                found.iter().any(|found| found.record == name.record && found.id == id)
            };
            let missing = picked.iter().filter(|name| !is_there(name)).copied().collect();
            Ok(Gathering { missing, found, open, more_open, new_id })
        })
        .await
    }
}

/// An incident with all its records.
pub(super) struct Whole {
    pub(super) row: IncidentRow,
    pub(super) opened_reason: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) names: Vec<RecordName>,
    pub(super) records: Vec<IncidentRecord>,
}

/// An incident as it is stored, and what was gathered into it, with the names of all of them.
async fn gathered(
    db: &mut PgConnection,
    tenant: TenantId,
    id: IncidentId,
) -> Result<(Stored, Vec<Gathered>), EngineError> {
    let stored = incident_listing::rows(db, tenant, &[id.uuid()])
        .await?
        .pop()
        .ok_or_else(|| EngineError::refused(Code::NotFound))?;
    let max = i64::try_from(MAX_GATHERED).unwrap_or(i64::MAX);
    let mut gathered = incident_record::of(db, tenant, id, max).await?;
    gathered.retain(|gathered| !stored.about.contains(&gathered.name));
    Ok((stored, gathered))
}

/// An incident, and the names of its records.
pub(super) async fn named(
    db: &mut PgConnection,
    tenant: TenantId,
    id: IncidentId,
) -> Result<(Stored, Vec<RecordName>), EngineError> {
    let (stored, gathered) = gathered(db, tenant, id).await?;
    let names = stored.about.iter().copied().chain(gathered.iter().map(|one| one.name)).collect();
    Ok((stored, names))
}

/// Reads an incident with its records as they are now.
pub(super) async fn whole(
    db: &mut PgConnection,
    tenant: TenantId,
    id: IncidentId,
) -> Result<Whole, EngineError> {
    let (stored, gathered) = gathered(db, tenant, id).await?;
    let names: Vec<_> =
        stored.about.iter().copied().chain(gathered.iter().map(|one| one.name)).collect();
    let mut now: HashMap<_, _> = record_ref::of(db, tenant, &names)
        .await?
        .into_iter()
        .map(|record| ((record.record, record.id.clone()), record))
        .collect();
    let by = gathered.into_iter().map(|one| (Some(one.by), Some(one.at)));
    let by = stored.about.iter().map(|_| (None, None)).chain(by);
    let records: Vec<_> = names
        .iter()
        .zip(by)
        .map(|(name, (added_by, added_at))| {
            let record = now.remove(&(name.record, name.id.to_string()));
            IncidentRecord { now: record.unwrap_or_else(|| gone(*name)), added_by, added_at }
        })
        .collect();
    let about = records.first().map(|first| first.now.clone());
    Ok(Whole {
        row: IncidentRow { about, ..stored.row },
        opened_reason: stored.opened_reason,
        reason: stored.reason,
        names,
        records,
    })
}

/// A record that is no longer kept, or that its retention took.
fn gone(name: RecordName) -> RecordRef {
    let id = name.id.to_string();
    RecordRef {
        record: name.record,
        page_id: id.clone(),
        label: String::new(),
        key: id.clone(),
        status: "gone".into(),
        amount: None,
        id,
    }
}

/// What was found, in the order in which it was asked for.
fn in_order(asked: &[RecordName], mut found: Vec<RecordRef>) -> Vec<RecordRef> {
    let place = |record: &RecordRef| {
        asked
            .iter()
            .position(|name| name.record == record.record && name.id.to_string() == record.id)
    };
    found.sort_by_cached_key(place);
    found
}
