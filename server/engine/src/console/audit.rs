//! The audit log for those who may read it: who did what, to what, why, and what was refused.

use chrono::{DateTime, Utc};
use domain::{
    access::Permission,
    listing::{AuditFilter, Cursor, Page},
    view::AuditRow,
};
use uuid::Uuid;

use super::{
    bounds::{self, given},
    list::{cursors, instants},
};
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    store::{
        audit_listing::{self, Narrowing},
        lease,
    },
};

/// What the log calls looking at it.
pub(crate) const READ: &str = "read_audit";

impl Engine {
    /// One page of the audit log, newest first.
    ///
    /// # Errors
    /// Refused: `permission_missing`, with one audit row; `filter_invalid` with the part named.
    pub async fn list_audit(
        &self,
        by: &StaffCaller,
        filter: &AuditFilter,
    ) -> Result<Page<AuditRow>, EngineError> {
        let (engine, by, filter) = (self.clone(), by.clone(), filter.clone());
        Self::detached(async move {
            let log = ("audit", by.tenant_slug());
            engine.may_look(&by, Permission::ReadAudit, READ, log).await?;
            engine.read_audit(&by, &filter).await
        })
        .await
    }

    async fn read_audit(
        &self,
        by: &StaffCaller,
        filter: &AuditFilter,
    ) -> Result<Page<AuditRow>, EngineError> {
        let mut tx = self.pools.begin_console(by.tenant_id()).await?;
        let now = lease::clock(&mut tx).await?;
        let mut narrowing = found(self, by, filter, now)?;
        let (limit, backwards) = (narrowing.limit, narrowing.backwards);
        let cursor = filter.cursor.as_deref().and_then(|text| Cursor::decode(text).ok());
        narrowing.limit += 1;
        let mut items = audit_listing::page(&mut tx, &narrowing).await?;
        tx.commit().await?;
        let further = i64::try_from(items.len()).is_ok_and(|found| found > limit);
        items.truncate(usize::try_from(limit).unwrap_or_default());
        let ids: Vec<_> = items.iter().map(|entry| id_of(entry.id)).collect();
        let (next, previous) = cursors(cursor, &ids, further);
        if backwards {
            items.reverse();
        }
        Ok(Page { items, next, previous, narrow: false, as_of: now })
    }
}

/// A filter as the store takes it.
pub(super) fn found(
    engine: &Engine,
    by: &StaffCaller,
    filter: &AuditFilter,
    now: DateTime<Utc>,
) -> Result<Narrowing, EngineError> {
    let limits = &engine.settings.limits;
    let texts = [("actor", &filter.actor), ("verb", &filter.verb), ("target", &filter.target)];
    let (cursor, limit) = bounds::page(&texts, &filter.cursor, filter.limit, limits)?;
    let place = cursor.map(|cursor| place(cursor.id));
    let backwards = cursor.is_some_and(|cursor| cursor.backwards);
    // What was done to one record has no default window: its whole story is looked for.
    let whole = given(&filter.target).is_some();
    let (from, to) = instants((filter.from, filter.to), now, whole, limits.list_days)?;
    Ok(Narrowing {
        tenant: by.tenant_id(),
        actor: given(&filter.actor),
        action: given(&filter.verb),
        target: given(&filter.target),
        denied: filter.denied,
        from,
        to,
        after: place.filter(|_| backwards).unwrap_or_default(),
        before: place.filter(|_| !backwards).unwrap_or(i64::MAX),
        backwards,
        limit,
    })
}

/// The place in the log as a cursor carries it.
fn id_of(seq: i64) -> Uuid {
    Uuid::from_u128(u128::from(seq.unsigned_abs()))
}

/// The place that a cursor carries; past the end for one of another list.
fn place(id: Uuid) -> i64 {
    i64::try_from(id.as_u128()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_the_log_survives_its_cursor() {
        for seq in [1, 7, i64::MAX] {
            let cursor = Cursor { id: id_of(seq), backwards: false };
            assert_eq!(place(Cursor::decode(&cursor.encode()).unwrap().id), seq);
        }
        assert_eq!(place(Uuid::max()), i64::MAX);
    }
}
