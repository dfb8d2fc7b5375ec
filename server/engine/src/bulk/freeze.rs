//! Freezing a set: records that were picked one by one, or all that a list's filter finds. Small stretches,
//! each a transaction that also says where the next begins.

use domain::{
    access::Permission,
    action::{Subject, TargetType, Verb},
    bulk::{BulkList, BulkState, in_bulk},
    ids::BulkId,
    problem::Code,
    view::BulkRow,
};
use serde_json::json;
use uuid::Uuid;

use super::advance::still_held;
use crate::{
    Engine, RequestOrigin, StaffCaller,
    actions::entry,
    console::Wanted,
    database::Tx,
    error::EngineError,
    identity::standing,
    store::{
        audit::{self, Entry},
        bulk::{self, Bulk, Held, NewBulk, Progress},
        bulk_row, lease,
    },
};

/// Rows that one stretch writes down.
const STRETCH: i64 = 1_000;
/// The most records that may be picked one by one: those of a page.
const MAX_PICKED: usize = 1_000;

/// A set that a person asks to be frozen.
#[derive(Clone, Debug)]
pub struct FreezeRequest {
    /// From which list.
    pub list: BulkList,
    /// What is to be done to each record.
    pub verb: Verb,
    /// Which records.
    pub set: FrozenSet,
}

/// Which records a set holds.
#[derive(Clone, Debug)]
pub enum FrozenSet {
    /// Picked one by one.
    Picked(Vec<Uuid>),
    /// All that match the list's filter, by names and values.
    Matching(Vec<(String, String)>),
}

impl Engine {
    /// Freezes a set. Records that were picked are in it at once; all that match a filter are written
    /// down by the background task, of what was there when it was asked for.
    ///
    /// # Errors
    /// Refused, each with one audit row: `permission_missing`; `unprocessable` for what is no bulk verb
    /// of these records, for a filter that narrows nothing, and for more than may be picked;
    /// `filter_invalid`; `not_found` where one of the records is not here.
    pub async fn freeze(
        &self,
        by: &StaffCaller,
        request: FreezeRequest,
    ) -> Result<BulkRow, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let result = engine.freeze_unaudited(&by, &request).await;
            // What was refused has no id, so nothing in the log leads to it.
            let about = Subject::new(TargetType::Bulk, "");
            engine.audited(&by, "freeze", &about, "", result).await
        })
        .await
    }

    async fn freeze_unaudited(
        &self,
        by: &StaffCaller,
        request: &FreezeRequest,
    ) -> Result<BulkRow, EngineError> {
        by.require(Permission::Bulk)?;
        let (list, verb) = (request.list, request.verb);
        if !in_bulk(list.target()).contains(&verb) {
            let why = format!("{verb} is decided record by record; it is no bulk verb here");
            return Err(EngineError::field(Code::Unprocessable, "verb", why));
        }
        by.require(verb.permission_on(list.target()))?;
        let (picked, wanted) = match &request.set {
            FrozenSet::Picked(records) => (picked(records)?, None),
            FrozenSet::Matching(parts) => (Vec::new(), Some(Wanted::read(list, parts.clone())?)),
        };
        let tenant = by.tenant_id();
        let mut tx = self.pools.begin_console(tenant).await?;
        let new = NewBulk {
            tenant,
            verb,
            target: list.target(),
            list,
            filter: wanted.as_ref().map(|wanted| wanted.parts.as_slice()),
            by: (by.staff_id(), by.name()),
            hours: self.settings.limits.bulk_start_hours,
        };
        let id = bulk::insert(&mut tx, new).await?;
        if let Some(wanted) = &wanted {
            // Read once now, so that a filter which cannot be used is refused to whoever gave it.
            let now = lease::clock(&mut tx).await?;
            self.matching(&mut tx, by, wanted, (now, id.uuid()), None, 1).await?;
        } else {
            let frozen = bulk_row::freeze(&mut tx, (tenant, id), list.target(), 0, &picked).await?;
            if usize::try_from(frozen) != Ok(picked.len()) {
                return Err(EngineError::refused(Code::NotFound));
            }
            let held = locked(&mut tx, by, id).await?;
            let made = Progress { frozen, ..Progress::default() };
            bulk::progress(&mut tx, &held, made, &[]).await?;
            bulk::make_move(&mut tx, &held, BulkState::Checking, None).await?;
        }
        let frozen = locked(&mut tx, by, id).await?.row;
        let target = Subject::new(TargetType::Bulk, id.to_string());
        let after = json!({
            "verb": verb,
            "list": list,
            "filter": frozen.filter,
            "picked": picked.len(),
        });
        let entry = Entry { after: Some(after), ..entry(by, "freeze", &target, "") };
        audit::add(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(frozen)
    }

    /// Writes the next stretch of a set down; how many rows.
    pub(super) async fn freeze_on(&self, held: Held) -> Result<u64, EngineError> {
        let mut tx = self.pools.begin_console(held.tenant).await?;
        let Some(now) = still_held(&mut tx, held, BulkState::Freezing).await? else {
            return Ok(0);
        };
        let whole = self.settings.limits.bulk_rows;
        let by = standing(&mut tx, held.tenant, now.frozen_by_id, asked_by(held.id)).await?;
        let Some(by) = by.filter(|by| by.permits(Permission::Bulk)) else {
            return given_up(tx, &now, "Whoever froze it does not have the right any more.").await;
        };
        let parts = now.row.filter.clone().unwrap_or_default();
        let wanted = Wanted { list: now.row.list, parts };
        let bound = (now.row.frozen_at, held.id.uuid());
        let cursor = now.cursor.as_deref();
        let found = match self.matching(&mut tx, &by, &wanted, bound, cursor, STRETCH).await {
            // What an older build took and this one does not know stays on record as given up.
            Err(EngineError::Refused(_)) => {
                return given_up(tx, &now, "Its filter cannot be used any more.").await;
            }
            found => found?,
        };
        if found.narrow {
            let why =
                "Its search matches more than is looked through. Type more of what is searched.";
            return given_up(tx, &now, why).await;
        }
        let bulk = (held.tenant, held.id);
        let frozen =
            bulk_row::freeze(&mut tx, bulk, now.row.target_type, now.row.total, &found.ids).await?;
        if now.row.total + frozen > whole {
            // Nothing of it stays: a part of what was meant is not what was meant.
            tx.rollback().await?;
            return self.too_many(held, whole).await;
        }
        let made = Progress { frozen, cursor: found.next.as_deref(), ..Progress::default() };
        bulk::progress(&mut tx, &now, made, &now.sums).await?;
        if found.next.is_none() {
            bulk::make_move(&mut tx, &now, BulkState::Checking, None).await?;
        }
        tx.commit().await?;
        Ok(u64::try_from(frozen.max(1)).unwrap_or(1))
    }

    async fn too_many(&self, held: Held, most: i64) -> Result<u64, EngineError> {
        let mut tx = self.pools.begin_console(held.tenant).await?;
        let Some(now) = still_held(&mut tx, held, BulkState::Freezing).await? else { return Ok(0) };
        given_up(tx, &now, &format!("More than {most} records match: narrow the filter.")).await
    }
}

/// Ends a set that cannot be frozen, with the reason.
async fn given_up(mut tx: Tx, now: &Bulk, why: &str) -> Result<u64, EngineError> {
    bulk::make_move(&mut tx, now, BulkState::Abandoned, Some(why)).await?;
    tx.commit().await?;
    Ok(1)
}

/// The records, each once.
fn picked(records: &[Uuid]) -> Result<Vec<Uuid>, EngineError> {
    let mut picked = records.to_vec();
    picked.sort_unstable();
    picked.dedup();
    if !(1..=MAX_PICKED).contains(&picked.len()) {
        let why = format!("pick 1 to {MAX_PICKED} records; more by a filter");
        return Err(EngineError::field(Code::Unprocessable, "records", why));
    }
    Ok(picked)
}

/// What stands in the audit log where a request would: the bulk, and no client.
pub(super) fn asked_by(id: BulkId) -> RequestOrigin {
    RequestOrigin::here(format!("bulk {id}"))
}

async fn locked(tx: &mut Tx, by: &StaffCaller, id: BulkId) -> Result<Bulk, EngineError> {
    bulk::lock(tx, by.tenant_id(), id)
        .await?
        .ok_or_else(|| EngineError::Unreadable("a bulk that was just written is gone".into()))
}
