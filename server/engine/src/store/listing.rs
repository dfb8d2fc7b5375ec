//! Lists: which ids a page shows, found by the index that fits the filter, and the rows of those
//! ids. Never an offset, never a count over the table; payloads stay out (TOAST).

use chrono::{DateTime, Utc};
use domain::{
    ids::{OperationId, TenantId},
    lease::{LeaseState, LeaseView},
    listing::Cursor,
    view::OperationRow,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{row::money, word};
use crate::error::EngineError;

/// A filter as SQL takes it.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Whose.
    pub tenant: TenantId,
    /// One state.
    pub status: Option<String>,
    /// One kind.
    pub operation: Option<String>,
    /// Only what waits for a person.
    pub needs_manual: bool,
    /// Only what has a payload conflict.
    pub conflict: bool,
    /// Only tombstones, or (`false`) none.
    pub tombstone: Option<bool>,
    /// The oldest id, by the time in it.
    pub from: Uuid,
    /// Ids before this one.
    pub to: Uuid,
    /// Where the page begins.
    pub cursor: Option<Cursor>,
    /// Ids that a search found.
    pub found: Option<Vec<Uuid>>,
    /// Rows to read.
    pub limit: i64,
}

/// Which index leads: the most selective part of the filter that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    Found,
    Manual,
    Conflict,
    Tombstone,
    Status,
    Kind,
    Age,
}

impl Narrowing {
    fn lead(&self) -> Lead {
        if self.found.is_some() {
            Lead::Found
        } else if self.needs_manual {
            Lead::Manual
        } else if self.conflict {
            Lead::Conflict
        } else if self.tombstone == Some(true) {
            Lead::Tombstone
        } else if self.status.as_deref().is_some_and(|status| status != "succeeded") {
            Lead::Status
        } else if self.operation.is_some() {
            Lead::Kind
        } else if self.status.is_some() {
            Lead::Status
        } else {
            Lead::Age
        }
    }
}

/// The ids of one page. The leading predicate stands first; the rest narrows what it finds.
macro_rules! page_ids {
    ($db:expr, $n:expr, $from:literal, $lead:literal, $distinct:literal, $sort:literal) => {
        sqlx::query_scalar!(
            "select "
                + $distinct
                + " o.id from "
                + $from
                + " where o.tenant_id = $1 and not o.console and o.id >= $2 and o.id < $3 and "
                + $lead
                + " and ($4::text is null or o.status = $4)
                    and ($5::text is null or o.operation = $5)
                    and (not $6 or o.needs_manual)
                    and (not $7 or exists (select from payload_conflicts c
                      where c.tenant_id = o.tenant_id and c.operation_id = o.id))
                    and ($8::boolean is null or (o.tombstoned_at is not null) = $8)
                    and ($9::uuid[] is null or o.id = any($9))
                  order by o.id "
                + $sort
                + " limit $10",
            $n.tenant.uuid(),
            $n.from,
            $n.to,
            $n.status,
            $n.operation,
            $n.needs_manual,
            $n.conflict,
            $n.tombstone,
            $n.found.as_deref(),
            $n.limit,
        )
        .fetch_all($db)
        .await?
    };
}

macro_rules! both_ways {
    ($db:expr, $n:expr, $backwards:expr, $from:literal, $lead:literal, $distinct:literal) => {
        if $backwards {
            page_ids!($db, $n, $from, $lead, $distinct, "asc")
        } else {
            page_ids!($db, $n, $from, $lead, $distinct, "desc")
        }
    };
}

/// The ids of a page, in reading order from its cursor (oldest first when reading backwards).
///
/// # Errors
/// The database's.
pub async fn ids(
    db: &mut PgConnection,
    narrowing: &Narrowing,
) -> Result<Vec<OperationId>, EngineError> {
    let mut n = narrowing.clone();
    let backwards = n.cursor.is_some_and(|cursor| cursor.backwards);
    match n.cursor {
        Some(Cursor { id, backwards: true }) => {
            n.from = n.from.max(Uuid::from_u128(id.as_u128().saturating_add(1)))
        }
        Some(Cursor { id, backwards: false }) => n.to = n.to.min(id),
        None => {}
    }
    let ids = match n.lead() {
        Lead::Found => both_ways!(
            db,
            n,
            backwards,
            // Lateral with a limit: one look-up per id found, never a scan that a long list of ids
            // makes look cheap.
            "unnest($9::uuid[]) as f(id) cross join lateral
               (select * from operations p where p.tenant_id = $1 and p.id = f.id limit 1) o",
            "true",
            ""
        ),
        Lead::Manual => both_ways!(db, n, backwards, "operations o", "o.needs_manual", ""),
        Lead::Conflict => both_ways!(
            db,
            n,
            backwards,
            "payload_conflicts k join operations o on o.tenant_id = k.tenant_id and o.id = k.operation_id",
            "k.tenant_id = $1 and k.operation_id >= $2 and k.operation_id < $3",
            "distinct"
        ),
        Lead::Tombstone => {
            both_ways!(db, n, backwards, "operations o", "o.tombstoned_at is not null", "")
        }
        Lead::Status => both_ways!(db, n, backwards, "operations o", "o.status = $4", ""),
        Lead::Kind => both_ways!(db, n, backwards, "operations o", "o.operation = $5", ""),
        Lead::Age => both_ways!(db, n, backwards, "operations o", "true", ""),
    };
    Ok(ids.into_iter().map(OperationId::new).collect())
}

/// What a search looks for, each exactly or by prefix.
#[derive(Clone, Debug)]
pub struct Search {
    /// The text as typed, and the first text after all that begin with it.
    pub text: (String, String),
    /// The ids that a hexadecimal prefix stands for.
    pub ids: Option<(Uuid, Uuid)>,
    /// The keyed hash of the text, for masked terms.
    pub hashed: String,
    /// An amount in minor units, with its currency.
    pub amount: Option<(i64, String)>,
    /// Matches to read of each kind.
    pub limit: i64,
}

/// The ids that a search finds, newest matches of no particular order, and whether one kind of
/// match had more than the limit.
///
/// # Errors
/// The database's.
pub async fn search(
    db: &mut PgConnection,
    tenant: TenantId,
    search: &Search,
) -> Result<(Vec<Uuid>, bool), EngineError> {
    let rows = sqlx::query!(
        r#"
        (select 1 as "branch!", id as "id!" from operations
          where tenant_id = $1 and not console and key >= $2 and key < $3 order by key limit $9)
        union all
        (select 2, id from operations
          where tenant_id = $1 and not console and external_reference >= $2 and external_reference < $3
          order by external_reference limit $9)
        union all
        (select 3, operation_id from operation_terms
          where tenant_id = $1 and term >= $2 and term < $3 order by term limit $9)
        union all
        (select 4, operation_id from operation_terms where tenant_id = $1 and term = $4 limit $9)
        union all
        (select 5, id from operations
          where tenant_id = $1 and not console and id >= $5 and id <= $6 order by id desc limit $9)
        union all
        (select 6, id from operations
          where tenant_id = $1 and not console and currency = $8 and amount_minor = $7 order by id desc limit $9)
        "#,
        tenant.uuid(),
        search.text.0,
        search.text.1,
        search.hashed,
        search.ids.map(|(first, _)| first),
        search.ids.map(|(_, last)| last),
        search.amount.as_ref().map(|(amount, _)| *amount),
        search.amount.as_ref().map(|(_, currency)| currency.as_str()),
        search.limit,
    )
    .fetch_all(db)
    .await?;
    let more = (1..=6).any(|branch| {
        let found = rows.iter().filter(|row| row.branch == branch).count();
        i64::try_from(found).is_ok_and(|found| found >= search.limit)
    });
    let mut ids: Vec<_> = rows.into_iter().map(|row| row.id).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok((ids, more))
}

/// The rows of these ids, newest first. Flags come from lateral joins with a limit: an `exists`
/// would be hashed over the whole table.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn rows(
    db: &mut PgConnection,
    tenant: TenantId,
    ids: &[OperationId],
    now: DateTime<Utc>,
) -> Result<Vec<OperationRow>, EngineError> {
    let ids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        r#"
        select o.id, o.operation, o.key, o.status, o.tombstoned_at, o.version, o.fence, o.attempt,
          o.amount_minor, o.currency, o.external_reference, o.needs_manual, o.created_at, o.updated_at,
          l.owner as "owner?", l.granted_at as "granted_at?", l.beat_at as "beat_at?",
          l.lease_until as "lease_until?", t.name as "taken_by?",
          c.yes is not null as "conflict!", i.yes is not null as "incident!"
        from operations o
        left join leases l on l.tenant_id = o.tenant_id and l.operation_id = o.id
        left join operation_takes t on t.tenant_id = o.tenant_id and t.operation_id = o.id
        left join lateral (select true as yes from payload_conflicts c
          where c.tenant_id = o.tenant_id and c.operation_id = o.id limit 1) c on true
        left join lateral (select true as yes from incidents i
          where i.tenant_id = o.tenant_id and i.operation_id = o.id and i.closed_at is null limit 1) i on true
        where o.tenant_id = $1 and o.id = any($2) and not o.console
        order by o.id desc
        "#,
        tenant.uuid(),
        &ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let state = match row.lease_until {
                None => LeaseState::None,
                Some(until) if until >= now => LeaseState::Live,
                Some(_) => LeaseState::Stale,
            };
            Ok(OperationRow {
                id: OperationId::new(row.id),
                operation: row.operation,
                key: row.key,
                status: word(&row.status)?,
                tombstoned: row.tombstoned_at.is_some(),
                version: row.version,
                attempt: row.attempt,
                lease: LeaseView {
                    owner: row.owner,
                    fence: row.fence,
                    granted_at: row.granted_at,
                    beat_at: row.beat_at,
                    lease_until: row.lease_until,
                    state,
                },
                amount: money(row.amount_minor, row.currency),
                external_reference: row.external_reference,
                needs_manual: row.needs_manual,
                conflict: row.conflict,
                open_incident: row.incident,
                taken_by: row.taken_by,
                created_at: row.created_at,
                updated_at: row.updated_at,
            })
        })
        .collect()
}

/// How many operations wait for a person, up to `max`.
///
/// # Errors
/// The database's.
pub async fn count_manual(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<i64, EngineError> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from
           (select from operations where tenant_id = $1 and needs_manual limit $2) waiting"#,
        tenant.uuid(),
        max,
    )
    .fetch_one(db)
    .await?;
    Ok(count)
}

/// One operation of a queue of attention.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Which.
    pub id: OperationId,
    /// Since when.
    pub since: DateTime<Utc>,
    /// Amount at stake.
    pub amount: Option<domain::money::Money>,
}

macro_rules! waiting {
    ($db:expr, $tenant:expr, $max:expr, $sql:literal) => {
        sqlx::query!($sql, $tenant.uuid(), $max)
            .fetch_all($db)
            .await?
            .into_iter()
            .map(|row| Waiting {
                id: OperationId::new(row.id),
                since: row.since,
                amount: money(row.amount_minor, row.currency),
            })
            .collect()
    };
}

/// Unknown outcomes that machines have given up on, oldest first.
///
/// # Errors
/// The database's.
pub async fn waiting_unknown(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    Ok(waiting!(
        db,
        tenant,
        max,
        r#"select id, unknown_since as "since!", amount_minor, currency from operations
           where tenant_id = $1 and needs_manual order by unknown_since limit $2"#
    ))
}

/// Leases that ended with nobody taking over, oldest first.
///
/// # Errors
/// The database's.
pub async fn waiting_leases(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    Ok(waiting!(
        db,
        tenant,
        max,
        r#"select o.id, l.lease_until as "since!", o.amount_minor, o.currency
           from leases l join operations o on o.tenant_id = l.tenant_id and o.id = l.operation_id
           where l.tenant_id = $1 and l.lease_until < (select onceover_now()) and o.status in ('reserved', 'executing')
           order by l.lease_until limit $2"#
    ))
}

/// Operations with an open incident, oldest first.
///
/// # Errors
/// The database's.
pub async fn waiting_incidents(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    Ok(waiting!(
        db,
        tenant,
        max,
        r#"select o.id, i.opened_at as "since!", o.amount_minor, o.currency
           from incidents i join operations o on o.tenant_id = i.tenant_id and o.id = i.operation_id
           where i.tenant_id = $1 and i.closed_at is null order by i.opened_at limit $2"#
    ))
}

/// Operations whose key came with another payload in the last seven days, oldest first.
///
/// # Errors
/// The database's.
pub async fn waiting_conflicts(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    Ok(waiting!(
        db,
        tenant,
        max,
        r#"select o.id, min(c.last_at) as "since!", o.amount_minor, o.currency
           from (select operation_id, last_at from payload_conflicts
             where tenant_id = $1 and last_at > (select onceover_now()) - interval '7 days'
             order by last_at limit $2) c
           join operations o on o.tenant_id = $1 and o.id = c.operation_id
           group by o.tenant_id, o.id order by 2"#
    ))
}
