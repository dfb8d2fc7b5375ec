//! Requests for a second person (A5 to A7). The table's own checks refuse self-approval and any
//! change of what was asked for.

use chrono::{DateTime, Utc};
use domain::{
    action::{Subject, Verb},
    approval::ApprovalStatus,
    ids::{ApprovalId, OperationId, StaffId, TenantId},
    listing::Cursor,
    machine::Machine as _,
    money::Money,
};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{row::money, span, word};
use crate::error::EngineError;

/// A request as stored.
#[derive(Clone, Debug)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// What was asked for.
    pub verb: Verb,
    /// On which record.
    pub target: Subject,
    /// At which version of it.
    pub version: i64,
    /// The decision whole.
    pub decision: Value,
    /// SHA-256 over verb, target, version, decision and what was seen (T24).
    pub binds: Vec<u8>,
    /// What the requester saw.
    pub seen: Value,
    /// The amount at stake.
    pub amount: Option<Money>,
    /// Why.
    pub reason: String,
    /// Text or link.
    pub evidence: Option<String>,
    /// Where it stands.
    pub status: ApprovalStatus,
    /// Who asked.
    pub requester_id: StaffId,
    /// By name.
    pub requester: String,
    /// By email, as it is now.
    pub requester_email: String,
    /// When.
    pub requested_at: DateTime<Utc>,
    /// Until when it can be approved.
    pub expires_at: DateTime<Utc>,
    /// Whether that time is over, by the database's clock.
    pub expired: bool,
    /// Who settled it; nobody where it became stale or expired.
    pub decider_id: Option<StaffId>,
    /// By name.
    pub decider: Option<String>,
    /// When.
    pub decided_at: Option<DateTime<Utc>>,
    /// What they said to it.
    pub decision_reason: Option<String>,
    /// The receipt of what followed.
    pub receipt: Option<OperationId>,
    /// 1 while it waits, 2 once it is settled.
    pub own_version: i64,
}

/// A request to write.
pub struct NewApproval<'a> {
    /// Whose.
    pub tenant: TenantId,
    /// What is asked for.
    pub verb: Verb,
    /// On which record.
    pub target: &'a Subject,
    /// At which version.
    pub version: i64,
    /// The decision whole.
    pub decision: &'a Value,
    /// What binds it.
    pub binds: &'a [u8],
    /// What was seen.
    pub seen: &'a Value,
    /// The amount at stake.
    pub amount: Option<&'a Money>,
    /// Why.
    pub reason: &'a str,
    /// Text or link.
    pub evidence: Option<&'a str>,
    /// Who asks.
    pub requester: (StaffId, &'a str),
    /// For how long it stands.
    pub ttl_ms: i64,
}

/// How a request ends.
pub struct Settled<'a> {
    /// In which state.
    pub status: ApprovalStatus,
    /// By whom; nobody where it became stale or expired.
    pub decider: Option<(StaffId, &'a str)>,
    /// What they said to it.
    pub reason: Option<&'a str>,
    /// The receipt of what followed.
    pub receipt: Option<OperationId>,
}

impl Settled<'_> {
    /// An end that nobody decided.
    #[must_use]
    pub const fn by_nobody(status: ApprovalStatus) -> Self {
        Self { status, decider: None, reason: None, receipt: None }
    }
}

/// Writes a request; `None` where one for the same verb on the same record waits.
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    new: NewApproval<'_>,
) -> Result<Option<ApprovalId>, EngineError> {
    let (requester_id, requester) = new.requester;
    let id = sqlx::query_scalar!(
        "insert into approvals (tenant_id, verb, target_type, target_id, version, decision, binds, seen, amount_minor,
           currency, reason, evidence, status, requester_id, requester, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'pending', $13, $14,
           onceover_now() + $15::bigint * interval '1 ms')
         on conflict (tenant_id, target_type, target_id, verb) where status = 'pending' do nothing
         returning id",
        new.tenant.uuid(),
        new.verb.as_str(),
        new.target.kind.as_str(),
        new.target.id,
        new.version,
        new.decision,
        new.binds,
        new.seen,
        new.amount.map(|money| money.amount_minor),
        new.amount.map(|money| money.currency.as_str()),
        new.reason,
        new.evidence,
        requester_id.uuid(),
        requester,
        new.ttl_ms,
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(ApprovalId::new))
}

struct Row {
    id: Uuid,
    verb: String,
    target_type: String,
    target_id: String,
    version: i64,
    decision: Value,
    binds: Vec<u8>,
    seen: Value,
    amount_minor: Option<i64>,
    currency: Option<String>,
    reason: String,
    evidence: Option<String>,
    status: String,
    requester_id: Uuid,
    requester: String,
    requester_email: String,
    requested_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    expired: bool,
    decider_id: Option<Uuid>,
    decider: Option<String>,
    decided_at: Option<DateTime<Utc>>,
    decision_reason: Option<String>,
    receipt: Option<Uuid>,
    own_version: i64,
}

impl TryFrom<Row> for Approval {
    type Error = EngineError;

    fn try_from(row: Row) -> Result<Self, EngineError> {
        let status = ApprovalStatus::parse(&row.status)
            .map_err(|_| EngineError::Unreadable(row.status.clone()))?;
        Ok(Self {
            id: ApprovalId::new(row.id),
            verb: word(&row.verb)?,
            target: Subject { kind: word(&row.target_type)?, id: row.target_id },
            version: row.version,
            decision: row.decision,
            binds: row.binds,
            seen: row.seen,
            amount: money(row.amount_minor, row.currency),
            reason: row.reason,
            evidence: row.evidence,
            status,
            requester_id: StaffId::new(row.requester_id),
            requester: row.requester,
            requester_email: row.requester_email,
            requested_at: row.requested_at,
            expires_at: row.expires_at,
            expired: row.expired,
            decider_id: row.decider_id.map(StaffId::new),
            decider: row.decider,
            decided_at: row.decided_at,
            decision_reason: row.decision_reason,
            receipt: row.receipt.map(OperationId::new),
            own_version: row.own_version,
        })
    }
}

/// One request.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn find(
    db: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
) -> Result<Option<Approval>, EngineError> {
    Ok(rows(db, tenant, &[id.uuid()]).await?.pop())
}

/// Locks one request until the transaction ends, its record's lock held before; then reads it.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn lock(
    db: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
) -> Result<Option<Approval>, EngineError> {
    let locked = sqlx::query_scalar!(
        "select id from approvals where tenant_id = $1 and id = $2 for update",
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(&mut *db)
    .await?;
    match locked {
        Some(_) => find(db, tenant, id).await,
        None => Ok(None),
    }
}

/// Locks the request that waits for a verb on a record, where there is one.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn lock_open(
    db: &mut PgConnection,
    tenant: TenantId,
    target: &Subject,
    verb: Verb,
) -> Result<Option<Approval>, EngineError> {
    let id = sqlx::query_scalar!(
        "select id from approvals
         where tenant_id = $1 and target_type = $2 and target_id = $3 and verb = $4 and status = 'pending'
         for update",
        tenant.uuid(),
        target.kind.as_str(),
        target.id,
        verb.as_str(),
    )
    .fetch_optional(&mut *db)
    .await?;
    match id {
        Some(id) => find(db, tenant, ApprovalId::new(id)).await,
        None => Ok(None),
    }
}

/// The ids of the requests about a record that wait, oldest first.
///
/// # Errors
/// The database's.
pub async fn open_of(
    db: &mut PgConnection,
    tenant: TenantId,
    target: &Subject,
) -> Result<Vec<Uuid>, EngineError> {
    let ids = sqlx::query_scalar!(
        "select id from approvals
         where tenant_id = $1 and target_type = $2 and target_id = $3 and status = 'pending'
         order by id limit 20",
        tenant.uuid(),
        target.kind.as_str(),
        target.id,
    )
    .fetch_all(db)
    .await?;
    Ok(ids)
}

/// Requests by id, in the order given.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn rows(
    db: &mut PgConnection,
    tenant: TenantId,
    ids: &[Uuid],
) -> Result<Vec<Approval>, EngineError> {
    let rows = sqlx::query_as!(
        Row,
        r#"select a.id, a.verb, a.target_type, a.target_id, a.version, a.decision, a.binds, a.seen, a.amount_minor,
             a.currency, a.reason, a.evidence, a.status, a.requester_id, a.requester, s.email as requester_email,
             a.requested_at, a.expires_at, a.expires_at <= onceover_now() as "expired!", a.decider_id, a.decider,
             a.decided_at, a.decision_reason, a.receipt, a.own_version::bigint as "own_version!"
           from unnest($2::uuid[]) with ordinality as wanted (id, place)
           join approvals a on a.tenant_id = $1 and a.id = wanted.id
           join staff s on s.id = a.requester_id
           order by wanted.place"#,
        tenant.uuid(),
        ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Approval::try_from).collect()
}

/// Which requests a list shows.
pub struct Narrowing {
    /// Whose.
    pub tenant: TenantId,
    /// In which state, or in all that are settled; none of them: in no state, so no request.
    pub statuses: Vec<String>,
    /// Only of this person.
    pub by: Option<StaffId>,
    /// Only of others than this person.
    pub not_by: Option<StaffId>,
    /// Only those that this person may decide: not expired, and the right older than the request and
    /// not from its requester's hand.
    pub may: Option<StaffId>,
    /// From the smallest id that may be shown, up to the first that may not.
    pub span: (Uuid, Uuid),
    /// Where the page begins.
    pub cursor: Option<Cursor>,
    /// How many.
    pub limit: i64,
}

/// The ids of one page. The leading predicate names the index that has its order; the rest narrows.
macro_rules! page_ids {
    ($db:expr, $n:expr, $span:expr, $status:expr, $lead:literal, $sort:literal) => {
        sqlx::query_scalar!(
            "select id from approvals where tenant_id = $1 and "
                + $lead
                + " and id >= $2 and id < $8
                    and ($3::text is null or status = $3)
                    and ($4::uuid is null or requester_id = $4)
                    and ($5::uuid is null or requester_id <> $5)
                    and ($7::uuid is null or expires_at > (select onceover_now()) and exists (
                      select from memberships m where m.tenant_id = $1 and m.staff_id = $7
                        and m.granted_at < approvals.requested_at
                        and m.granted_by_id is distinct from approvals.requester_id))
                  order by id "
                + $sort
                + " limit $6",
            $n.tenant.uuid(),
            $span.0,
            $status,
            $n.by.map(StaffId::uuid),
            $n.not_by.map(StaffId::uuid),
            $n.limit,
            $n.may.map(StaffId::uuid),
            $span.1,
        )
        .fetch_all($db)
        .await?
    };
}

macro_rules! both_ways {
    ($db:expr, $n:expr, $span:expr, $status:expr, $lead:literal) => {
        if $n.cursor.is_some_and(|cursor| cursor.backwards) {
            page_ids!($db, $n, $span, $status, $lead, "asc")
        } else {
            page_ids!($db, $n, $span, $status, $lead, "desc")
        }
    };
}

/// The ids of a page, away from where it begins: newest first, or oldest first where it is read
/// backwards.
///
/// # Errors
/// The database's.
pub async fn ids(db: &mut PgConnection, n: &Narrowing) -> Result<Vec<Uuid>, EngineError> {
    let one = match n.statuses.as_slice() {
        [] => return Ok(Vec::new()),
        [one] => Some(one.as_str()),
        _ => None,
    };
    let span = span::from_cursor(n.cursor, n.span);
    let ids = match (one, n.by.is_some()) {
        (Some("pending"), true) => {
            both_ways!(db, n, span, one, "status = 'pending' and requester_id = $4")
        }
        (Some("pending"), false) => both_ways!(db, n, span, one, "status = 'pending'"),
        (Some(_), true) => both_ways!(db, n, span, one, "requester_id = $4 and status = $3"),
        (Some(_), false) => both_ways!(db, n, span, one, "status = $3"),
        (None, true) => both_ways!(db, n, span, one, "status <> 'pending' and requester_id = $4"),
        (None, false) => both_ways!(db, n, span, one, "status <> 'pending'"),
    };
    Ok(ids)
}

/// Settles a request that waits; `false` where it waits no longer.
///
/// # Errors
/// The database's: its checks refuse a decider who asked for it.
pub async fn settle(
    db: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    settled: Settled<'_>,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update approvals set status = $3, decider_id = $4, decider = $5, decision_reason = $6, receipt = $7,
           decided_at = onceover_now()
         where tenant_id = $1 and id = $2 and status = 'pending'",
        tenant.uuid(),
        id.uuid(),
        settled.status.as_str(),
        settled.decider.map(|(id, _)| id.uuid()),
        settled.decider.map(|(_, name)| name),
        settled.reason,
        settled.receipt.map(OperationId::uuid),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Expires a batch of requests of any tenant whose time is over; how many.
///
/// # Errors
/// The database's.
pub async fn expire_due(db: &mut PgConnection, limit: i64) -> Result<u64, EngineError> {
    let done = sqlx::query!(
        "with due as materialized (
           select tenant_id, id from approvals
           where status = 'pending' and expires_at <= (select onceover_now())
           order by expires_at limit $1 for update skip locked
         )
         update approvals a set status = 'expired', decided_at = onceover_now()
         from due where a.tenant_id = due.tenant_id and a.id = due.id and a.status = 'pending'",
        limit,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}
