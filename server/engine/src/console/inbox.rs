//! The list of messages and one message: filters checked and bounded, pages by key both ways,
//! bodies masked by the kind that they lead to.

use chrono::{DateTime, Utc};
use domain::{
    access::Permission,
    action::TargetType,
    ids::{MessageId, TenantId},
    json::Json,
    listing::{InboxFilter, Page},
    machine::Machine as _,
    money::Money,
    problem::Code,
    view::{BodyView, MessageConflict, MessageDetail, MessageRow},
};
use sqlx::PgConnection;

use super::body::body;
use super::bounds;
use super::list::{beginning, cursors, id_range, span};
use super::offers::offers;
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    inbox::{Effect, likeness, needs_second_person},
    settings::{Limits, Settings},
    store::{
        Target, audit,
        inbox::Address,
        inbox_conflict,
        inbox_listing::{self, Bodies, Narrowing},
        kind, lease, machine_event, operation,
    },
};

/// Matches of each kind that a search reads.
const MAX_MATCHES: i64 = 500;
/// Moves of one message: five at most are legal, and shrinking is one of them.
const MAX_MOVES: usize = 50;

impl Engine {
    /// One page of messages, newest first.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `filter_invalid` with the part named.
    pub async fn list_messages(
        &self,
        by: &StaffCaller,
        filter: &InboxFilter,
    ) -> Result<Page<MessageRow>, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by, filter) = (self.clone(), by.clone(), filter.clone());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            let now = lease::clock(&mut tx).await?;
            let (mut narrowing, more_matches) = found(&engine, &mut tx, &by, &filter, now).await?;
            let limit = narrowing.limit;
            narrowing.limit = limit + 1;
            let mut ids = inbox_listing::ids(&mut tx, &narrowing).await?;
            let further = i64::try_from(ids.len()).is_ok_and(|found| found > limit);
            ids.truncate(usize::try_from(limit).unwrap_or_default());
            let items = inbox_listing::rows(&mut tx, by.tenant_id(), &ids).await?;
            tx.commit().await?;
            let ids: Vec<_> = ids.into_iter().map(MessageId::uuid).collect();
            let (next, previous) = cursors(narrowing.cursor, &ids, further);
            Ok(Page { items, next, previous, narrow: more_matches, as_of: now })
        })
        .await
    }

    /// One message with what stands beside it.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for one of another tenant.
    pub async fn message(
        &self,
        by: &StaffCaller,
        id: MessageId,
    ) -> Result<MessageDetail, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by, tenant) = (self.clone(), by.clone(), by.tenant_id());
        Self::detached(async move {
            let not_found = || EngineError::refused(Code::NotFound);
            let mut tx = engine.pools.begin_console(tenant).await?;
            let now = lease::clock(&mut tx).await?;
            let row =
                inbox_listing::rows(&mut tx, tenant, &[id]).await?.pop().ok_or_else(not_found)?;
            let bodies = inbox_listing::bodies(&mut tx, tenant, id).await?.ok_or_else(not_found)?;
            let address = Address {
                tenant,
                consumer: &row.consumer,
                source: &row.source,
                message_id: &row.message_id,
            };
            let (payload, effect) = (bodies.payload.as_deref(), bodies.effect.as_deref());
            let second = needs_second_person(&engine, &mut tx, tenant, payload, effect).await?;
            let mut like = likeness(&mut tx, &engine.settings, address, payload, effect).await?;
            like.ids.extend(row.operation_id.map(domain::ids::OperationId::uuid));
            let related = inbox_listing::related(&mut tx, tenant, &like).await?;
            let stored = inbox_conflict::of(&mut tx, tenant, id).await?;
            let (timeline, timeline_older) =
                machine_event::of(&mut tx, tenant, "inbox", id.uuid(), MAX_MOVES).await?;
            let audit = audit::of_record(&mut tx, tenant, &id.to_string()).await?;
            let pointers = masked_pointers(&mut tx, &row, like.ids.first(), tenant, effect).await?;
            let amount = amount(&mut tx, tenant, payload, effect).await?;
            tx.commit().await?;
            let in_effect = in_effect(&pointers);
            Ok(MessageDetail {
                as_of: now,
                payload: payload.map(|bytes| body(bytes, &pointers)),
                effect: effect.map(|bytes| body(bytes, &in_effect)),
                amount,
                last_error: bodies.last_error,
                needs_second_person: row.status.needs_person() && second,
                related,
                conflicts: stored
                    .into_iter()
                    .map(|stored| MessageConflict {
                        count: stored.count,
                        first_at: stored.first_at,
                        last_at: stored.last_at,
                        payload: stored.payload.map(|bytes| BodyView {
                            cut: stored.payload_cut,
                            ..body(&bytes, &pointers)
                        }),
                    })
                    .collect(),
                timeline,
                timeline_older,
                audit,
                actions: offers(&by, TargetType::Inbox, row.status.as_str()),
                row,
            })
        })
        .await
    }
}

/// What the operation would move that a message asks to start, as its kind reads it; `None` where it starts
/// none, where the kind hides the amount, or where it could not be reserved so.
async fn amount(
    db: &mut PgConnection,
    tenant: TenantId,
    payload: Option<&[u8]>,
    effect: Option<&[u8]>,
) -> Result<Option<Money>, EngineError> {
    let Some(Ok(Effect::Operation(effect))) = effect.map(Effect::parse) else { return Ok(None) };
    let Some(kind) = kind::find(db, tenant, &effect.operation).await? else { return Ok(None) };
    let covers = |masked: &String| {
        let pointers = [&kind.amount_pointer, &kind.currency_pointer];
        pointers.into_iter().flatten().any(|pointer| {
            let rest = pointer.strip_prefix(masked.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    if kind.masked_pointers.iter().any(covers) {
        return Ok(None);
    }
    let asked = Json::parse(effect.payload_or(payload.unwrap_or_default())).ok();
    Ok(asked.and_then(|asked| effect.amount_in(&kind, &asked)))
}

/// Where something is masked in a message's payload.
pub(super) async fn pointers_of(
    db: &mut PgConnection,
    settings: &Settings,
    tenant: TenantId,
    row: &MessageRow,
    bodies: &Bodies,
) -> Result<Vec<String>, EngineError> {
    let address = Address {
        tenant,
        consumer: &row.consumer,
        source: &row.source,
        message_id: &row.message_id,
    };
    let (payload, effect) = (bodies.payload.as_deref(), bodies.effect.as_deref());
    let like = likeness(db, settings, address, payload, effect).await?;
    masked_pointers(db, row, like.ids.first(), tenant, effect).await
}

/// Where the same stands in what a message asks to start.
pub(super) fn in_effect(pointers: &[String]) -> Vec<String> {
    pointers.iter().map(|pointer| format!("/operation/payload{pointer}")).collect()
}

/// What nobody may see of a message: the masked fields of the kind that it leads to.
pub(super) async fn masked_pointers(
    db: &mut PgConnection,
    row: &MessageRow,
    about: Option<&uuid::Uuid>,
    tenant: TenantId,
    effect: Option<&[u8]>,
) -> Result<Vec<String>, EngineError> {
    let named = match effect.map(Effect::parse) {
        Some(Ok(Effect::Operation(effect))) => Some(effect.operation),
        _ => {
            let id = row.operation_id.or_else(|| about.copied().map(domain::ids::OperationId::new));
            match id {
                Some(id) => operation::kind_name(db, Target { tenant, id }).await?,
                None => None,
            }
        }
    };
    let Some(name) = named else { return Ok(Vec::new()) };
    Ok(kind::find(db, tenant, &name).await?.map(|kind| kind.masked_pointers).unwrap_or_default())
}

/// A filter as the store takes it, with what its search finds, and whether the search matches more than
/// is read.
pub(super) async fn found(
    engine: &Engine,
    tx: &mut PgConnection,
    by: &StaffCaller,
    filter: &InboxFilter,
    now: DateTime<Utc>,
) -> Result<(Narrowing, bool), EngineError> {
    let mut narrowing = narrow(by, filter, now, &engine.settings.limits)?;
    let Some(q) = bounds::given(&filter.q) else { return Ok((narrowing, false)) };
    let (first, last) = beginning(&q);
    let text = (first.as_str(), last.as_str());
    let (found, more) =
        inbox_listing::search(tx, by.tenant_id(), text, id_range(&q), MAX_MATCHES).await?;
    narrowing.found = Some(found);
    Ok((narrowing, more))
}

fn narrow(
    by: &StaffCaller,
    filter: &InboxFilter,
    now: DateTime<Utc>,
    limits: &Limits,
) -> Result<Narrowing, EngineError> {
    let (cursor, limit) = bounds::page(
        &[("q", &filter.q), ("consumer", &filter.consumer), ("source", &filter.source)],
        &filter.cursor,
        filter.limit,
        limits,
    )?;
    // What waits for a person, and what a search finds, has no default window.
    let open = filter.status.is_some_and(|state| state.needs_person()) || filter.q.is_some();
    let (from, to) = span((filter.from, filter.to), now, open, limits.list_days)?;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    Ok(Narrowing {
        tenant: by.tenant_id(),
        status: filter.status.map(|state| state.as_str().to_owned()),
        consumer: given(&filter.consumer),
        source: given(&filter.source),
        from,
        to,
        cursor,
        found: None,
        limit,
    })
}
