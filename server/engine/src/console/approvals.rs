//! Requests for a second person: the lists *waiting for me*, *asked by me*, *asked by others* and
//! *decided*, and one request with the difference to now.

use chrono::{DateTime, Utc};
use domain::{
    access::Permission,
    approval::ApprovalStatus,
    ids::ApprovalId,
    listing::{ApprovalFilter, Cursor, Page},
    machine::Machine as _,
    problem::Code,
    view::ApprovalView,
};
use uuid::Uuid;

use super::{bounds, list::span, since::since};
use crate::{
    Engine, StaffCaller,
    actions::{approval_view, evidence_files, who_may},
    error::EngineError,
    settings::Limits,
    store::{
        approval::{self, Narrowing},
        evidence_file, lease, subject,
    },
};

impl Engine {
    /// One page of requests, newest first; by default those that wait.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `filter_invalid` with the part named.
    pub async fn list_approvals(
        &self,
        by: &StaffCaller,
        filter: &ApprovalFilter,
    ) -> Result<Page<ApprovalView>, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by) = (self.clone(), by.clone());
        let filter = filter.clone();
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            let now = lease::clock(&mut tx).await?;
            let mut narrowing = found(&engine, &by, &filter, now)?;
            let limit = narrowing.limit;
            narrowing.limit += 1;
            let mut ids = approval::ids(&mut tx, &narrowing).await?;
            let further = i64::try_from(ids.len()).is_ok_and(|found| found > limit);
            ids.truncate(usize::try_from(limit).unwrap_or_default());
            let backwards = narrowing.cursor.is_some_and(|cursor| cursor.backwards);
            if backwards {
                ids.reverse();
            }
            let rows = approval::rows(&mut tx, by.tenant_id(), &ids).await?;
            tx.commit().await?;
            let items = rows
                .iter()
                .map(|row| approval_view(row, by.staff_id()))
                .collect::<Result<Vec<_>, _>>()?;
            let (next, previous) = edges(narrowing.cursor, &ids, further);
            Ok(Page { items, next, previous, narrow: false, as_of: now })
        })
        .await
    }

    /// One request, with who may approve it and what its record looks like now.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for one of another tenant.
    pub async fn approval(
        &self,
        by: &StaffCaller,
        id: ApprovalId,
    ) -> Result<ApprovalView, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let tenant = by.tenant_id();
            let mut tx = engine.pools.begin_console(tenant).await?;
            let stored = approval::find(&mut tx, tenant, id)
                .await?
                .ok_or_else(|| EngineError::refused(Code::NotFound))?;
            let mut shown = approval_view(&stored, by.staff_id())?;
            shown.now = subject::read(&mut tx, tenant, &stored.target).await?;
            shown.since = since(&mut tx, tenant, &stored).await?;
            let files = evidence_files(&stored)?;
            shown.evidence_files =
                evidence_file::named(&mut tx, tenant, &stored.target, &files).await?;
            if stored.status == ApprovalStatus::Pending {
                let may = who_may(&mut tx, &stored, tenant).await?;
                shown.may_approve = may.into_iter().map(|person| person.name).collect();
            }
            tx.commit().await?;
            Ok(shown)
        })
        .await
    }
}

/// A filter as the store takes it.
pub(super) fn found(
    engine: &Engine,
    by: &StaffCaller,
    filter: &ApprovalFilter,
    now: DateTime<Utc>,
) -> Result<Narrowing, EngineError> {
    narrow(by, filter, now, &engine.settings.limits)
}

fn narrow(
    by: &StaffCaller,
    filter: &ApprovalFilter,
    now: DateTime<Utc>,
    limits: &Limits,
) -> Result<Narrowing, EngineError> {
    if filter.mine && (filter.others || filter.waiting) {
        return Err(bounds::unfit("others", "what one asked for waits for others"));
    }
    if filter.waiting && filter.decided {
        return Err(bounds::unfit("decided", "what is decided waits for nobody"));
    }
    let (cursor, limit) = bounds::page(&[], &filter.cursor, filter.limit, limits)?;
    // Nothing waits for whoever cannot decide: of no state, in the list and in its export alike.
    let idle = filter.waiting && !by.permits(Permission::Approve);
    let wanted = |status: &ApprovalStatus| match filter.status {
        _ if idle => false,
        Some(only) => *status == only,
        None => status.is_final() == filter.decided,
    };
    let statuses = ApprovalStatus::ALL.iter().copied().filter(wanted);
    Ok(Narrowing {
        tenant: by.tenant_id(),
        statuses: statuses.map(|status| status.as_str().to_owned()).collect(),
        by: filter.mine.then(|| by.staff_id()),
        not_by: (filter.others || filter.waiting).then(|| by.staff_id()),
        may: filter.waiting.then(|| by.staff_id()),
        // Requests are few: without a day all are shown.
        span: span((filter.from, filter.to), now, true, limits.list_days)?,
        cursor,
        limit,
    })
}

/// The cursors of the pages after and before this one; `ids` stand newest first.
fn edges(cursor: Option<Cursor>, ids: &[Uuid], further: bool) -> (Option<String>, Option<String>) {
    let at = |id: Option<&Uuid>, backwards| id.map(|id| Cursor { id: *id, backwards }.encode());
    let backwards = cursor.is_some_and(|cursor| cursor.backwards);
    let next = if further || backwards { at(ids.last(), false) } else { None };
    let previous = match cursor {
        Some(cursor) if !cursor.backwards || further => at(ids.first(), true),
        _ => None,
    };
    (next, previous)
}
