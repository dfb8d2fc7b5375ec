//! Bulks for people: the list, one with what its set adds up to, and its rows by key.

use chrono::{DateTime, Utc};
use domain::{
    access::Permission,
    action::{Subject, TargetType, Verb},
    bulk::BulkState,
    ids::BulkId,
    listing::{BulkFilter, BulkRowFilter, Page, PlaceCursor},
    problem::Code,
    view::{ActionOffer, BulkDetail, BulkRecord, BulkRow},
};

use super::{bounds, detail::open_requests, list::cursors, offers::offers};
use crate::{
    Engine, StaffCaller,
    actions::why_two,
    error::EngineError,
    store::{
        audit,
        bulk::{self, Bulk},
        bulk_listing::{self, Narrowing},
        lease,
    },
};

impl Engine {
    /// One page of bulks, newest first.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `filter_invalid` with the part named.
    pub async fn list_bulks(
        &self,
        by: &StaffCaller,
        filter: &BulkFilter,
    ) -> Result<Page<BulkRow>, EngineError> {
        by.require(Permission::Read)?;
        let (cursor, limit) =
            bounds::page(&[], &filter.cursor, filter.limit, &self.settings.limits)?;
        let (engine, tenant) = (self.clone(), by.tenant_id());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let as_of = lease::clock(&mut tx).await?;
            let mut ids = bulk_listing::ids(&mut tx, tenant, cursor, limit + 1).await?;
            let further = i64::try_from(ids.len()).is_ok_and(|found| found > limit);
            ids.truncate(usize::try_from(limit).unwrap_or_default());
            let (next, previous) = cursors(cursor, &ids, further);
            if cursor.is_some_and(|cursor| cursor.backwards) {
                ids.reverse();
            }
            let mut items = Vec::with_capacity(ids.len());
            for id in ids {
                items.extend(bulk::find(&mut tx, tenant, BulkId::new(id)).await?.map(|it| it.row));
            }
            tx.commit().await?;
            Ok(Page { items, next, previous, narrow: false, as_of })
        })
        .await
    }

    /// One bulk.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for one of another tenant.
    pub async fn bulk(&self, by: &StaffCaller, id: BulkId) -> Result<BulkDetail, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by, tenant) = (self.clone(), by.clone(), by.tenant_id());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let as_of = lease::clock(&mut tx).await?;
            let stored = bulk::find(&mut tx, tenant, id)
                .await?
                .ok_or_else(|| EngineError::refused(Code::NotFound))?;
            let target = stored.row.target_type;
            let second = match stored.row.status {
                BulkState::Ready => why_two(&mut tx, tenant, target, &stored.sums).await?,
                _ => None,
            };
            let subject = Subject::new(TargetType::Bulk, id.to_string());
            let approvals = open_requests(&mut tx, &by, &subject).await?;
            let audit = audit::of_record(&mut tx, tenant, &subject.id).await?;
            tx.commit().await?;
            let mut actions = offered(&by, &stored, as_of);
            for offer in &mut actions {
                let waits = approvals.iter().any(|asked| asked.verb == offer.verb);
                offer.refusal = offer.refusal.or(waits.then_some(Code::ApprovalPending));
            }
            Ok(BulkDetail {
                as_of,
                reason: stored.reason,
                cause: stored.cause,
                sums: stored.sums,
                second,
                receipt: stored.receipt,
                actions,
                approvals,
                audit,
                row: stored.row,
            })
        })
        .await
    }

    /// One page of a bulk's rows, in the order in which they were frozen.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `filter_invalid` with the part named; `not_found`.
    pub async fn bulk_rows(
        &self,
        by: &StaffCaller,
        id: BulkId,
        filter: &BulkRowFilter,
    ) -> Result<Page<BulkRecord>, EngineError> {
        by.require(Permission::Read)?;
        let limits = &self.settings.limits;
        let (cursor, limit) =
            bounds::page_by(PlaceCursor::decode, &[], &filter.cursor, filter.limit, limits)?;
        let (engine, tenant, standing) = (self.clone(), by.tenant_id(), filter.standing);
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let as_of = lease::clock(&mut tx).await?;
            let stored = bulk::find(&mut tx, tenant, id)
                .await?
                .ok_or_else(|| EngineError::refused(Code::NotFound))?;
            let narrowing = Narrowing { tenant, bulk: id, standing, cursor, limit: limit + 1 };
            let mut items =
                bulk_listing::records(&mut tx, stored.row.target_type, &narrowing).await?;
            tx.commit().await?;
            let further = i64::try_from(items.len()).is_ok_and(|found| found > limit);
            items.truncate(usize::try_from(limit).unwrap_or_default());
            let (next, previous) = ways(cursor, &items, further);
            if cursor.is_some_and(|cursor| cursor.backwards) {
                items.reverse();
            }
            Ok(Page { items, next, previous, narrow: false, as_of })
        })
        .await
    }
}

/// What the state offers; with nothing eligible there is nothing to start, and after its time nothing is
/// started.
fn offered(by: &StaffCaller, stored: &Bulk, as_of: DateTime<Utc>) -> Vec<ActionOffer> {
    let row = &stored.row;
    let mut actions = offers(by, TargetType::Bulk, row.status.as_str());
    let startable = row.eligible > 0 && !row.has_expired(as_of);
    actions.retain(|offer| startable || offer.verb != Verb::Run);
    // The right to the verb of its rows is asked for as well.
    let right = row.verb.permission_on(row.target_type);
    for offer in &mut actions {
        if offer.verb == Verb::Run && !by.permits(right) {
            (offer.missing, offer.refusal) = (Some(right), Some(Code::PermissionMissing));
        }
    }
    actions
}

/// The cursors of the pages after and before this one; `items` stand in reading order.
fn ways(
    cursor: Option<PlaceCursor>,
    items: &[BulkRecord],
    further: bool,
) -> (Option<String>, Option<String>) {
    let to = |row: Option<&BulkRecord>, backwards| {
        row.map(|row| PlaceCursor { place: row.place, backwards }.encode())
    };
    let backwards = cursor.is_some_and(|cursor| cursor.backwards);
    let on = if further { to(items.last(), backwards) } else { None };
    let back = if cursor.is_some() { to(items.first(), !backwards) } else { None };
    if backwards { (back, on) } else { (on, back) }
}
