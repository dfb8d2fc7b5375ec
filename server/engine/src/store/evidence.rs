//! Evidence: what an old holder, a webhook, a lookup or a person said about an operation.

use chrono::{DateTime, Utc};
use domain::{
    ids::{EvidenceId, OperationId},
    money::Money,
    view::EvidenceView,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Target, evidence_file::file, newest, one_over, row::money};
use crate::{actor::Actor, error::EngineError};

/// The most of an operation's evidence that is read.
const MAX_READ: usize = 200;

/// A piece of evidence to keep.
pub struct NewEvidence<'a> {
    /// `worker`, `webhook`, `lookup` or `staff`.
    pub source: &'static str,
    /// `done`, `rejected`, `not_done`, `absent`, `ambiguous` or `statement`.
    pub says: &'static str,
    /// The provider's reference in it.
    pub external_reference: Option<&'a str>,
    /// The amount in it.
    pub amount: Option<&'a Money>,
    /// The fence its sender carried.
    pub fence: Option<i64>,
    /// The provider's id of the message.
    pub provider_event: Option<&'a str>,
    /// Words or link.
    pub text: Option<&'a str>,
    /// Whether it is proof as soon as the status is unknown (O16).
    pub proves: bool,
}

/// Keeps evidence; `None` where this message of the provider was kept before.
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    target: Target,
    actor: &Actor,
    new: NewEvidence<'_>,
) -> Result<Option<EvidenceId>, EngineError> {
    let id = sqlx::query_scalar!(
        "insert into evidence (tenant_id, operation_id, source, says, external_reference, amount_minor, currency,
           fence, provider_event, text, actor_kind, actor, proves)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
         on conflict (tenant_id, operation_id, provider_event) where provider_event is not null do nothing
         returning id",
        target.tenant.uuid(),
        target.id.uuid(),
        new.source,
        new.says,
        new.external_reference,
        new.amount.map(|money| money.amount_minor),
        new.amount.map(|money| money.currency.as_str()),
        new.fence,
        new.provider_event,
        new.text,
        actor.kind,
        actor.name,
        new.proves,
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(EvidenceId::new))
}

/// Unrefuted evidence that the effect happened.
#[derive(Clone, Debug)]
pub struct DoneEvidence {
    /// Where it came from.
    pub source: String,
    /// The reference in it.
    pub external_reference: Option<String>,
    /// The amount in it.
    pub amount: Option<Money>,
    /// Whether it is proof as soon as the status is unknown.
    pub proves: bool,
}

/// The latest unrefuted evidence of Done, a webhook's first: that is proof where it matches.
/// Evidence on an earlier undo of the same link counts for its later ones, but proves nothing of
/// them: money that may have gone back once must not go back again.
///
/// # Errors
/// The database's.
pub async fn done_on_record(
    db: &mut PgConnection,
    target: Target,
) -> Result<Option<DoneEvidence>, EngineError> {
    let row = sqlx::query!(
        r#"select source, external_reference, amount_minor, currency,
             proves and operation_id = $2 as "proves!"
           from evidence
           where tenant_id = $1 and says = 'done' and refuted_at is null
             and operation_id = any(array[$2::uuid] || array(
               select e.undo_id from compensation_undos u
               join compensation_undos e on e.tenant_id = u.tenant_id
                 and e.compensation_id = u.compensation_id and e.n < u.n
               where u.tenant_id = $1 and u.undo_id = $2))
           order by 5 desc, (source = 'webhook') desc, id desc limit 1"#,
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| DoneEvidence {
        source: row.source,
        external_reference: row.external_reference,
        amount: money(row.amount_minor, row.currency),
        proves: row.proves,
    }))
}

/// Refutes every piece of evidence that says it happened, but what names the given reference; by two
/// people's names. How many.
///
/// # Errors
/// The database's.
pub async fn refute_done(
    db: &mut PgConnection,
    target: Target,
    but: Option<&str>,
    by: &str,
) -> Result<u64, EngineError> {
    let done = sqlx::query!(
        "update evidence set refuted_at = onceover_now(), refuted_by = $4
         where tenant_id = $1 and operation_id = $2 and says = 'done' and refuted_at is null
           and ($3::text is null or external_reference is distinct from $3)",
        target.tenant.uuid(),
        target.id.uuid(),
        but,
        by,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// An operation's newest evidence, oldest first, and whether there is older: what came last may
/// contradict all before it.
///
/// # Errors
/// The database's.
pub async fn of(
    db: &mut PgConnection,
    target: Target,
) -> Result<(Vec<EvidenceView>, bool), EngineError> {
    let rows = sqlx::query_as!(
        Row,
        "select id, source, says, external_reference, amount_minor, currency, fence, text, actor, at,
           file_name, file_size, file_sha256
         from evidence where tenant_id = $1 and operation_id = $2 order by id desc limit $3",
        target.tenant.uuid(),
        target.id.uuid(),
        one_over(MAX_READ),
    )
    .fetch_all(db)
    .await?;
    Ok(newest(rows.into_iter().map(Row::view).collect(), MAX_READ))
}

/// An operation's last evidence after an instant, oldest first, at most `max`.
///
/// # Errors
/// The database's.
pub async fn since(
    db: &mut PgConnection,
    target: Target,
    after: DateTime<Utc>,
    max: i64,
) -> Result<Vec<EvidenceView>, EngineError> {
    let rows = sqlx::query_as!(
        Row,
        "select id, source, says, external_reference, amount_minor, currency, fence, text, actor, at,
           file_name, file_size, file_sha256
         from evidence where tenant_id = $1 and operation_id = $2 and at > $3 order by id desc limit $4",
        target.tenant.uuid(),
        target.id.uuid(),
        after,
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().rev().map(Row::view).collect())
}

struct Row {
    id: Uuid,
    source: String,
    says: String,
    external_reference: Option<String>,
    amount_minor: Option<i64>,
    currency: Option<String>,
    fence: Option<i64>,
    text: Option<String>,
    actor: String,
    at: DateTime<Utc>,
    file_name: Option<String>,
    file_size: Option<i64>,
    file_sha256: Option<Vec<u8>>,
}

impl Row {
    fn view(self) -> EvidenceView {
        EvidenceView {
            id: EvidenceId::new(self.id),
            source: self.source,
            says: self.says,
            external_reference: self.external_reference,
            amount: money(self.amount_minor, self.currency),
            fence: self.fence,
            text: self.text,
            file: file(EvidenceId::new(self.id), self.file_name, self.file_size, self.file_sha256),
            actor: self.actor,
            at: self.at,
        }
    }
}

/// Removes what evidence says at expiry; that it came stays (D39).
///
/// # Errors
/// The database's.
pub async fn empty(db: &mut PgConnection, target: Target) -> Result<(), EngineError> {
    sqlx::query!(
        "update evidence set text = null, file = null, file_name = null
         where tenant_id = $1 and operation_id = $2 and (text is not null or file is not null)",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Whether any unrefuted evidence says that it happened.
///
/// # Errors
/// The database's.
pub async fn any_done(db: &mut PgConnection, target: Target) -> Result<bool, EngineError> {
    Ok(done_on_record(db, target).await?.is_some())
}

/// Whether any unrefuted evidence says how it ended, either way: sending the request again to ask
/// would then be doing it again, or doing what was refused.
///
/// # Errors
/// The database's.
pub async fn any_outcome(db: &mut PgConnection, target: Target) -> Result<bool, EngineError> {
    let known = sqlx::query_scalar!(
        r#"select exists (select from evidence
           where tenant_id = $1 and operation_id = $2 and says in ('done', 'rejected')
             and refuted_at is null) as "known!""#,
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(known)
}

/// An operation that a provider's message is about, by the key the provider knows it by (D15).
#[must_use]
pub fn target_of(provider_key: &str) -> Option<OperationId> {
    provider_key.parse().ok()
}

/// Removes an operation's evidence with its row (O29).
///
/// # Errors
/// The database's.
pub async fn purge(db: &mut PgConnection, target: Target) -> Result<(), EngineError> {
    sqlx::query!(
        "delete from evidence where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}
