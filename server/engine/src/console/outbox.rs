//! The list of events and one event: in which order it stands, what its deliveries said, and what a
//! person may do about it.

use chrono::{DateTime, Utc};
use domain::{
    access::Permission,
    action::TargetType,
    ids::{EventId, OperationId, TenantId},
    listing::{EventFilter, Page},
    machine::Machine as _,
    outbox::EventStatus,
    problem::Code,
    view::{AggregateView, EnvelopeView, EventDetail, EventRow, MoveView, RelatedOperation},
};
use sqlx::PgConnection;

use super::{
    body::{body, hidden},
    bounds::{self, given},
    list::{beginning, cursors, id_range, span},
    offers::offers,
};
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    outbox::Facts,
    settings::Limits,
    store::{
        Target, audit, kind, lease, machine_event, operation, outbox_attempt,
        outbox_listing::{self, More, Narrowing},
    },
};

/// Matches of each kind that a search reads.
const MAX_MATCHES: i64 = 500;
/// Deliveries that a page shows.
const MAX_DELIVERIES: i64 = 100;
/// Moves that a page shows: each is a death or a person's decision.
const MAX_MOVES: usize = 200;
/// Events that a page shows to either side.
const NEIGHBOURS: i64 = 3;

impl Engine {
    /// One page of events, newest first.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `filter_invalid` with the part named.
    pub async fn list_events(
        &self,
        by: &StaffCaller,
        filter: &EventFilter,
    ) -> Result<Page<EventRow>, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by, filter) = (self.clone(), by.clone(), filter.clone());
        Self::detached(async move {
            let tenant = by.tenant_id();
            let mut tx = engine.pools.begin_console(tenant).await?;
            let now = lease::clock(&mut tx).await?;
            let (mut narrowing, narrow) = found(&engine, &mut tx, &by, &filter, now).await?;
            let limit = usize::try_from(narrowing.limit).unwrap_or_default();
            narrowing.limit += 1;
            let mut ids = outbox_listing::ids(&mut tx, &narrowing).await?;
            let further = ids.len() > limit;
            ids.truncate(limit);
            let items = outbox_listing::rows(&mut tx, tenant, &ids).await?;
            tx.commit().await?;
            let (next, previous) = cursors(narrowing.cursor, &ids, further);
            Ok(Page { items, next, previous, narrow, as_of: now })
        })
        .await
    }

    /// One event.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for one of another tenant.
    pub async fn event(&self, by: &StaffCaller, id: EventId) -> Result<EventDetail, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let tenant = by.tenant_id();
            let not_found = || EngineError::refused(Code::NotFound);
            let mut tx = engine.pools.begin_console(tenant).await?;
            let as_of = lease::clock(&mut tx).await?;
            let row = outbox_listing::rows(&mut tx, tenant, &[id.uuid()])
                .await?
                .pop()
                .ok_or_else(not_found)?;
            let more = outbox_listing::more(&mut tx, tenant, id).await?.ok_or_else(not_found)?;
            let order = order(&mut tx, tenant, &row, &more).await?;
            let operation = match row.operation_id {
                Some(id) => outbox_listing::operation(&mut tx, tenant, id).await?,
                None => None,
            };
            let pointers = masked_pointers(&mut tx, tenant, row.operation_id).await?;
            let deliveries = outbox_attempt::of_event(&mut tx, tenant, id, MAX_DELIVERIES).await?;
            let (moves, timeline_older) =
                machine_event::of(&mut tx, tenant, EventStatus::NAME, id.uuid(), MAX_MOVES).await?;
            let audit = audit::of_record(&mut tx, tenant, &id.to_string()).await?;
            tx.commit().await?;
            let payload = match pointers {
                Some(pointers) => body(&more.payload, &pointers),
                None => hidden(&more.payload),
            };
            Ok(EventDetail {
                as_of,
                envelope: envelope(&by, &row, &more),
                fence: more.fence,
                payload,
                order,
                timeline: story(&row, operation.as_ref(), moves, timeline_older),
                timeline_older,
                audit,
                operation,
                deliveries,
                actions: offers(&by, TargetType::Outbox, row.status.as_str()),
                row,
            })
        })
        .await
    }
}

/// What nobody may see of an event; `None` where nobody can say it any more.
pub(super) async fn masked_pointers(
    db: &mut PgConnection,
    tenant: TenantId,
    told_of: Option<OperationId>,
) -> Result<Option<Vec<String>>, EngineError> {
    let Some(id) = told_of else { return Ok(Some(Vec::new())) };
    let Some(name) = operation::kind_name(db, Target { tenant, id }).await? else {
        return Ok(None);
    };
    let kind = kind::find(db, tenant, &name).await?;
    Ok(kind.map(|kind| wherever(&kind.masked_pointers)))
}

/// Where a masked field may stand in what is told of an operation: as it stood in the payload, or
/// with the payload as a whole.
fn wherever(pointers: &[String]) -> Vec<String> {
    ["", "/payload", "/data"]
        .into_iter()
        .flat_map(|prefix| pointers.iter().map(move |pointer| format!("{prefix}{pointer}")))
        .collect()
}

fn envelope(by: &StaffCaller, row: &EventRow, more: &More) -> EnvelopeView {
    let facts = Facts::of(by.tenant_slug(), &row.aggregate, row.seq, &more.payload);
    EnvelopeView {
        spec_version: Facts::SPEC_VERSION.to_owned(),
        source: facts.source,
        sequence: facts.sequence,
        partition_key: facts.partition_key,
        content_type: facts.content_type.to_owned(),
    }
}

async fn order(
    db: &mut PgConnection,
    tenant: TenantId,
    row: &EventRow,
    more: &More,
) -> Result<AggregateView, EngineError> {
    let mut places: Vec<_> = (row.seq - NEIGHBOURS..=row.seq + NEIGHBOURS).collect();
    places.push(more.head_seq);
    let ids = outbox_listing::at_places(db, tenant, &row.aggregate, &places).await?;
    let mut rows = outbox_listing::rows(db, tenant, &ids).await?;
    rows.sort_by_key(|row| row.seq);
    let head = rows.iter().find(|row| row.at_head).cloned();
    rows.retain(|other| (other.seq - row.seq).abs() <= NEIGHBOURS);
    Ok(AggregateView {
        head_seq: more.head_seq,
        next_seq: more.next_seq,
        waiting: more.next_seq - more.head_seq,
        blocked: more.blocked,
        next_at: more.next_at,
        head,
        neighbours: rows,
    })
}

/// X1, which has no row of its own, and what the machine wrote; without X1 where others stand between.
fn story(
    row: &EventRow,
    operation: Option<&RelatedOperation>,
    moves: Vec<MoveView>,
    older: bool,
) -> Vec<MoveView> {
    let about = operation.map(|told| ("operation".to_owned(), told.key.clone()));
    let written = MoveView {
        at: row.created_at,
        rule: "X1".into(),
        from: None,
        to: EventStatus::Pending.as_str().into(),
        version: 1,
        by_person: false,
        actor: "engine".into(),
        detail: about.into_iter().collect(),
    };
    (!older).then_some(written).into_iter().chain(moves).collect()
}

/// A filter as the store takes it, with what its search finds, and whether the search matches more than
/// is read.
pub(super) async fn found(
    engine: &Engine,
    tx: &mut PgConnection,
    by: &StaffCaller,
    filter: &EventFilter,
    now: DateTime<Utc>,
) -> Result<(Narrowing, bool), EngineError> {
    let tenant = by.tenant_id();
    let mut narrowing = narrow(tenant, filter, now, &engine.settings.limits)?;
    let (found, more) = if let Some(q) = given(&filter.q) {
        let (first, last) = beginning(&q);
        let text = (first.as_str(), last.as_str());
        outbox_listing::search(tx, tenant, text, id_range(&q), MAX_MATCHES).await?
    } else if let Some(aggregate) = &narrowing.aggregate {
        outbox_listing::of_aggregate(tx, tenant, aggregate, MAX_MATCHES).await?
    } else {
        return Ok((narrowing, false));
    };
    narrowing.found = Some(found);
    Ok((narrowing, more))
}

fn narrow(
    tenant: TenantId,
    filter: &EventFilter,
    now: DateTime<Utc>,
    limits: &Limits,
) -> Result<Narrowing, EngineError> {
    let texts = [("q", &filter.q), ("topic", &filter.topic), ("aggregate", &filter.aggregate)];
    let (cursor, limit) = bounds::page(&texts, &filter.cursor, filter.limit, limits)?;
    // What is not settled, and what a search finds, has no default window.
    let open = filter.status.is_some_and(|status| !status.is_final())
        || given(&filter.q).is_some()
        || given(&filter.aggregate).is_some();
    let (from, to) = span((filter.from, filter.to), now, open, limits.list_days)?;
    Ok(Narrowing {
        tenant,
        status: filter.status.map(|status| status.as_str().to_owned()),
        topic: given(&filter.topic),
        aggregate: given(&filter.aggregate),
        from,
        to,
        cursor,
        found: None,
        limit,
    })
}
