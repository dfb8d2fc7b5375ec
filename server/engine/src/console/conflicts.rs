//! The same key with another payload: a list, and one with both bodies beside each other.

use chrono::{DateTime, Utc};
use domain::{
    access::Permission,
    ids::{ConflictId, TenantId},
    json::Json,
    listing::{ConflictFilter, Page},
    problem::Code,
    view::{BodyView, ConflictDetail, ConflictRow},
};
use sqlx::PgConnection;

use super::{
    body::{MAX_SHOWN, body},
    bounds::{self, given},
    detail::conflict_view,
    list::{About, about, cursors_within, span},
};
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    operations::masked,
    settings::Limits,
    store::{
        Target,
        conflict_listing::{self, Narrowing},
        correction, detail, kind, lease, listing,
    },
};

/// Matches of each kind that a search reads.
const MAX_MATCHES: i64 = 200;

impl Engine {
    /// One page of conflicts, newest first.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `filter_invalid` with the part named.
    pub async fn list_conflicts(
        &self,
        by: &StaffCaller,
        filter: &ConflictFilter,
    ) -> Result<Page<ConflictRow>, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by, filter) = (self.clone(), by.clone(), filter.clone());
        Self::detached(async move {
            let tenant = by.tenant_id();
            let mut tx = engine.pools.begin_console(tenant).await?;
            let now = lease::clock(&mut tx).await?;
            let (mut narrowing, narrow) = found(&engine, &mut tx, &by, &filter, now).await?;
            let limit = usize::try_from(narrowing.limit).unwrap_or_default();
            narrowing.limit += 1;
            let (mut ids, stopped) = conflict_listing::ids(&mut tx, &narrowing).await?;
            let further = ids.len() > limit;
            ids.truncate(limit);
            let items = conflict_listing::rows(&mut tx, tenant, &ids).await?;
            tx.commit().await?;
            let (next, previous) = cursors_within(narrowing.cursor, &ids, further, stopped);
            Ok(Page { items, next, previous, narrow, as_of: now })
        })
        .await
    }

    /// One conflict.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for one of another tenant.
    pub async fn conflict(
        &self,
        by: &StaffCaller,
        id: ConflictId,
    ) -> Result<ConflictDetail, EngineError> {
        by.require(Permission::Read)?;
        let (engine, tenant) = (self.clone(), by.tenant_id());
        Self::detached(async move {
            let not_found = || EngineError::refused(Code::NotFound);
            let mut tx = engine.pools.begin_console(tenant).await?;
            let as_of = lease::clock(&mut tx).await?;
            let row = conflict_listing::rows(&mut tx, tenant, &[id.uuid()])
                .await?
                .pop()
                .ok_or_else(not_found)?;
            let compared =
                conflict_listing::compared(&mut tx, tenant, id).await?.ok_or_else(not_found)?;
            let target = Target { tenant, id: row.operation_id };
            let max = i32::try_from(MAX_SHOWN).unwrap_or(i32::MAX);
            let first = detail::find(&mut tx, target, max).await?.ok_or_else(not_found)?;
            let operation = listing::rows(&mut tx, tenant, &[row.operation_id], as_of)
                .await?
                .pop()
                .ok_or_else(not_found)?;
            let pointers = kind::find(&mut tx, tenant, &row.operation)
                .await?
                .ok_or_else(|| EngineError::Unreadable(format!("kind {} is gone", row.operation)))?
                .masked_pointers;
            let corrections = correction::of(&mut tx, target).await?;
            let beside = conflict_listing::beside(&mut tx, tenant, row.operation_id, id).await?;
            let others = conflict_listing::rows(&mut tx, tenant, &beside).await?;
            tx.commit().await?;

            let parsed = first.payload.as_deref().and_then(|bytes| Json::parse(bytes).ok());
            let parsed = parsed.map(|payload| masked(payload, &pointers).payload);
            let other = compared.stored.payload.as_deref().map(|bytes| {
                let shown = body(bytes, &pointers);
                BodyView { cut: shown.cut || compared.stored.payload_cut, ..shown }
            });
            Ok(ConflictDetail {
                as_of,
                reserved_at: compared.reserved_at,
                reserved_by: compared.reserved_by,
                completed_at: first.completed_at,
                disputed: operation.open_incident && operation.status.is_final(),
                corrected_to: corrections.first().map(|latest| latest.happened),
                external_reference: operation.external_reference,
                first: first.payload.as_deref().map(|bytes| body(bytes, &pointers)),
                other,
                comparison: conflict_view(compared.stored, parsed.as_ref(), row.amount.as_ref()),
                others,
                row,
            })
        })
        .await
    }
}

/// A filter as the store takes it, with what its search finds, and whether the search matches more than
/// is read.
pub(super) async fn found(
    engine: &Engine,
    tx: &mut PgConnection,
    by: &StaffCaller,
    filter: &ConflictFilter,
    now: DateTime<Utc>,
) -> Result<(Narrowing, bool), EngineError> {
    let tenant = by.tenant_id();
    let mut narrowing = narrow(tenant, filter, now, &engine.settings.limits)?;
    let Some(q) = given(&filter.q) else { return Ok((narrowing, false)) };
    let About { operations, more, ids } = about(engine, tx, by, &q, MAX_MATCHES).await?;
    let found = conflict_listing::search(tx, tenant, &operations, ids, MAX_MATCHES).await?;
    let more = more || found.len() > conflict_listing::MAX_LOOKED_AT;
    narrowing.found = Some(found);
    Ok((narrowing, more))
}

fn narrow(
    tenant: TenantId,
    filter: &ConflictFilter,
    now: DateTime<Utc>,
    limits: &Limits,
) -> Result<Narrowing, EngineError> {
    let texts = [("q", &filter.q), ("operation", &filter.operation)];
    let (cursor, limit) = bounds::page(&texts, &filter.cursor, filter.limit, limits)?;
    let open = given(&filter.q).is_some();
    let (from, to) = span((filter.from, filter.to), now, open, limits.list_days)?;
    Ok(Narrowing {
        tenant,
        operation: given(&filter.operation),
        from,
        to,
        cursor,
        found: None,
        limit,
    })
}
