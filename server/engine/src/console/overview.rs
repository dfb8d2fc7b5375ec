//! What needs a person now: one queue per cause and all of them merged, read and not counted beyond a
//! bound, so that the page costs the same on a million rows.

use std::collections::{BTreeMap, HashMap};

use domain::{
    access::Permission,
    ids::{OperationId, TenantId},
    machine::Machine as _,
    money::{Money, exponent},
    record::{RecordName, RecordType},
    view::{AttentionRow, Cause, Overview, Queue, RecordRef},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::health;
use crate::{
    Engine, StaffCaller,
    actions::approval_view,
    error::EngineError,
    store::{
        approval, conflict_listing, incident_listing, lease,
        listing::{self, Waiting},
        outcome, record_ref,
    },
};

/// Rows of a queue that are read and counted.
const MAX_COUNTED: i64 = 1000;
/// Rows of the merged queue.
const MAX_MERGED: usize = 50;
/// Where an unknown outcome becomes older: minutes, an hour, a shift, a day, a week.
const AGES_MS: [i64; 6] = [0, 300_000, 3_600_000, 21_600_000, 86_400_000, 604_800_000];

impl Engine {
    /// The queues and the beginning of them all, merged, or of the one chosen; with health, outcomes and
    /// ageing.
    ///
    /// # Errors
    /// Refused: `permission_missing`.
    pub async fn overview(
        &self,
        by: &StaffCaller,
        chosen: Option<Cause>,
    ) -> Result<Overview, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let tenant = by.tenant_id();
            let mut tx = engine.pools.begin_console(tenant).await?;
            let now = lease::clock(&mut tx).await?;
            let mut queues = Vec::new();
            let mut all = Vec::new();
            let (mine, others, more) = approvals(&mut tx, &by).await?;
            for cause in Cause::ALL {
                let waiting = match cause {
                    Cause::ApprovalMine => mine.clone(),
                    Cause::ApprovalOthers => others.clone(),
                    _ => waiting(&mut tx, tenant, cause).await?,
                };
                let split = matches!(cause, Cause::ApprovalMine | Cause::ApprovalOthers);
                queues.push(queue(cause, &waiting, split && more));
                if chosen.is_none_or(|chosen| chosen == cause) {
                    all.extend(waiting.into_iter().map(|waiting| (cause, waiting)));
                }
            }
            // A queue by itself shows all that it counts.
            let (merged, merged_more) = merged(all, chosen.is_none());
            let items = named(&mut tx, &by, merged).await?;
            let health = health::read(&mut tx, &by, &engine.settings.destinations).await?;
            let outcomes = outcome::last_day(&mut tx, tenant).await?;
            let ageing = outcome::ageing(&mut tx, tenant, now, &AGES_MS, MAX_COUNTED).await?;
            tx.commit().await?;
            Ok(Overview {
                as_of: now,
                queues,
                merged: items,
                merged_more,
                health,
                outcomes,
                ageing,
            })
        })
        .await
    }
}

/// Requests that wait: those that the reader may approve, those that others have to, and whether there
/// are more than were read, of either.
async fn approvals(
    db: &mut PgConnection,
    by: &StaffCaller,
) -> Result<(Vec<Waiting>, Vec<Waiting>, bool), EngineError> {
    let pending = listing::waiting_approvals(db, by.tenant_id(), MAX_COUNTED + 1).await?;
    let more = i64::try_from(pending.len()).unwrap_or(i64::MAX) > MAX_COUNTED;
    let may = by.permits(Permission::Approve);
    let (mine, others): (Vec<_>, Vec<_>) =
        pending.into_iter().partition(|(_, requester)| may && *requester != by.staff_id());
    let alone = |list: Vec<(Waiting, _)>| list.into_iter().map(|(waiting, _)| waiting).collect();
    Ok((alone(mine), alone(others), more))
}

async fn waiting(
    db: &mut PgConnection,
    tenant: TenantId,
    cause: Cause,
) -> Result<Vec<Waiting>, EngineError> {
    let max = MAX_COUNTED + 1;
    match cause {
        Cause::UnknownOutcome => listing::waiting_unknown(db, tenant, max).await,
        Cause::StuckLease => listing::waiting_leases(db, tenant, max).await,
        Cause::OpenIncident => listing::waiting_incidents(db, tenant, max).await,
        Cause::PayloadConflict => listing::waiting_conflicts(db, tenant, max).await,
        Cause::DeadEvent => listing::waiting_events(db, tenant, max).await,
        Cause::StuckCompensation => listing::waiting_compensations(db, tenant, max).await,
        Cause::BlockedWorkflow => listing::waiting_workflows(db, tenant, max).await,
        Cause::UntakenMessage => listing::waiting_messages(db, tenant, max).await,
        Cause::ApprovalMine | Cause::ApprovalOthers => Ok(Vec::new()),
    }
}

/// The beginning of what waits, the greatest stake and age first, and whether there is more. Folded, an
/// operation stands once, under its most pressing cause.
fn merged(mut all: Vec<(Cause, Waiting)>, folded: bool) -> (Vec<(Cause, Waiting)>, bool) {
    all.sort_by(|(_, a), (_, b)| stake(b).total_cmp(&stake(a)).then(a.since.cmp(&b.since)));
    let mut merged: Vec<(Cause, Waiting)> = Vec::new();
    let mut more = false;
    let mut places: HashMap<Uuid, usize> = HashMap::new();
    for (cause, waiting) in all {
        let about = waiting.operation.filter(|_| folded).map_or(waiting.id, OperationId::uuid);
        match places.get(&about) {
            Some(at) if rank(cause) < rank(merged[*at].0) => merged[*at] = (cause, waiting),
            Some(_) => {}
            None if merged.len() < MAX_MERGED => {
                places.insert(about, merged.len());
                merged.push((cause, waiting));
            }
            None => more = true,
        }
    }
    (merged, more)
}

/// Names each record of the merged queue; one that is gone meanwhile is left out.
async fn named(
    db: &mut PgConnection,
    by: &StaffCaller,
    merged: Vec<(Cause, Waiting)>,
) -> Result<Vec<AttentionRow>, EngineError> {
    let tenant = by.tenant_id();
    let now = lease::clock(db).await?;
    let operations: Vec<_> = merged.iter().filter_map(|(_, waiting)| waiting.operation).collect();
    let operations = listing::rows(db, tenant, &operations, now).await?;
    let wanted: Vec<_> =
        merged.iter().map(|(cause, waiting)| (cause.record(), waiting.id)).collect();
    let of = |kind| -> Vec<Uuid> {
        wanted.iter().filter(|(wanted, _)| *wanted == kind).map(|(_, id)| *id).collect()
    };
    // Conflicts and requests are called otherwise in a queue.
    let machines: Vec<_> = wanted
        .iter()
        .filter(|(kind, _)| !matches!(kind, RecordType::Conflict | RecordType::Approval))
        .map(|(kind, id)| RecordName::new(*kind, *id))
        .collect();
    let mut records = record_ref::of(db, tenant, &machines).await?;
    let plain = |record, id: Uuid, label: String, key: String, status: String| RecordRef {
        record,
        id: id.to_string(),
        page_id: id.to_string(),
        label,
        key,
        status,
        amount: None,
    };
    let conflicts = conflict_listing::rows(db, tenant, &of(RecordType::Conflict)).await?;
    records.extend(conflicts.into_iter().map(|row| {
        let status = row.status.as_str().to_owned();
        plain(RecordType::Conflict, row.id.uuid(), row.operation, row.key, status)
    }));
    let incidents = incident_listing::rows(db, tenant, &of(RecordType::Incident)).await?;
    records.extend(incidents.into_iter().map(|stored| {
        let row = stored.row;
        let status = row.status.as_str().to_owned();
        plain(RecordType::Incident, row.id.uuid(), row.cause, row.summary, status)
    }));
    for stored in approval::rows(db, tenant, &of(RecordType::Approval)).await? {
        let row = approval_view(&stored, by.staff_id())?;
        let label = format!("{} {}", row.verb, row.target_operation);
        let status = row.status.as_str().to_owned();
        let id = row.id.uuid();
        records.push(plain(RecordType::Approval, id, label, row.target_key, status));
    }
    Ok(merged
        .into_iter()
        .filter_map(|(cause, waiting)| {
            let (kind, id) = (cause.record(), waiting.id.to_string());
            let record =
                records.iter().find(|record| record.record == kind && record.id == id)?.clone();
            let operation = waiting
                .operation
                .and_then(|id| operations.iter().find(|row| row.id == id).cloned());
            let (at_stake, since) = (waiting.amounts, waiting.since);
            Some(AttentionRow { cause, record, at_stake, operation, since })
        })
        .collect())
}

fn rank(cause: Cause) -> usize {
    Cause::ALL.iter().position(|known| *known == cause).unwrap_or(Cause::ALL.len())
}

/// The stake for ordering alone: major units, currencies taken as equal. Never shown.
fn stake(waiting: &Waiting) -> f64 {
    let major = |money: &Money| {
        let scale = 10_f64.powi(i32::try_from(exponent(&money.currency)).unwrap_or(2));
        #[expect(
            clippy::cast_precision_loss,
            reason = "orders rows; the amounts themselves stay exact"
        )]
        let minor = money.amount_minor as f64;
        minor / scale
    };
    waiting.amounts.iter().map(major).sum()
}

/// `more` says that not all were read, however few of what was read are in this queue.
fn queue(cause: Cause, waiting: &[Waiting], more: bool) -> Queue {
    let found = i64::try_from(waiting.len()).unwrap_or(i64::MAX);
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for money in waiting.iter().flat_map(|waiting| &waiting.amounts) {
        let sum = sums.entry(&money.currency).or_default();
        *sum = sum.saturating_add(money.amount_minor);
    }
    Queue {
        cause,
        count: found.min(MAX_COUNTED),
        more: more || found > MAX_COUNTED,
        oldest_at: waiting.iter().map(|waiting| waiting.since).min(),
        at_stake: sums
            .into_iter()
            .map(|(currency, amount_minor)| Money { amount_minor, currency: currency.to_owned() })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn what_was_not_read_whole_is_never_called_exact() {
        assert!(
            queue(Cause::ApprovalMine, &[], true).more,
            "a few of more requests than were read"
        );
        assert!(!queue(Cause::ApprovalMine, &[], false).more);
    }

    fn unknown(minor: i64) -> Waiting {
        let id = Uuid::from_u128(u128::from(minor.unsigned_abs()));
        Waiting {
            id,
            operation: Some(OperationId::new(id)),
            since: DateTime::UNIX_EPOCH,
            amounts: vec![Money { amount_minor: minor, currency: "EUR".into() }],
        }
    }

    #[test]
    fn the_first_rows_are_called_the_first_where_more_wait() {
        let waiting = |count| (1..=count).map(|minor| (Cause::UnknownOutcome, unknown(minor)));
        let (rows, more) = merged(waiting(50).collect(), true);
        assert_eq!((rows.len(), more), (50, false));
        let (rows, more) = merged(waiting(51).collect(), true);
        assert_eq!((rows.len(), more), (50, true));
        assert_eq!(rows[0].1.amounts[0].amount_minor, 51, "the greatest amount first");
        assert_eq!(rows[49].1.amounts[0].amount_minor, 2);
    }

    #[test]
    fn what_stands_twice_is_one_row_of_all_and_its_own_row_in_its_queue() {
        let trouble = || {
            let incident = Waiting { id: Uuid::from_u128(900), ..unknown(7) };
            vec![(Cause::OpenIncident, incident), (Cause::UnknownOutcome, unknown(7))]
        };
        let (rows, more) = merged(trouble(), true);
        assert_eq!((rows.len(), rows[0].0, more), (1, Cause::UnknownOutcome, false));
        assert_eq!(merged(trouble(), false).0.len(), 2);
    }
}
