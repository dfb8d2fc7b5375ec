//! Operation kinds: the policy of each, per tenant.

use std::time::Duration;

use domain::{ids::TenantId, money::Money, view::KindView};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::error::EngineError;

/// The policy of one kind (docs/operations.md, *Kinds*). Durations in milliseconds, amounts in
/// minor units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindPolicy {
    /// The kind's name.
    pub name: String,
    /// A repeat would harm.
    pub irreversible: bool,
    /// Why a repeat does no harm, where it does none (O34).
    pub harmless_reason: Option<String>,
    /// It moves money.
    pub money: bool,
    /// JSON pointer of the amount in the payload.
    pub amount_pointer: Option<String>,
    /// JSON pointer of the currency in the payload.
    pub currency_pointer: Option<String>,
    /// Name of the provider's endpoint.
    pub provider: Option<String>,
    /// The provider can be asked.
    pub lookup: bool,
    /// Its *not found* is proof (D14).
    pub absent_is_proof: bool,
    /// It answers a repeated key with the first answer.
    pub honours_keys: bool,
    /// For so long.
    pub key_ttl_ms: Option<i64>,
    /// The longest a call may take.
    pub call_deadline_ms: i64,
    /// How long a lease lasts without a beat.
    pub lease_ms: i64,
    /// How long an effect may take to show in a lookup.
    pub settle_window_ms: i64,
    /// Calls before it is given up.
    pub max_attempts: i32,
    /// Claims without a start before it is given up.
    pub max_claims: i32,
    /// Questions before a person must decide.
    pub max_reconcile_tries: i32,
    /// First pause between attempts and between questions.
    pub backoff_ms: i64,
    /// From the final state to the tombstone; `None`: never.
    pub retention_ms: Option<i64>,
    /// From this amount on a confirmation needs a second person.
    pub approval_threshold_minor: Option<i64>,
    /// JSON pointers that are shown masked.
    pub masked_pointers: Vec<String>,
    /// JSON pointers that search finds an operation by.
    pub search_pointers: Vec<String>,
    /// https template of the provider's page, with `{reference}`.
    pub reference_url: Option<String>,
    /// The kind whose operation undoes one of this kind; `None`: nothing can.
    pub undo_kind: Option<String>,
    /// Of an undo: the member of its payload that names the reference of what it undoes.
    pub undo_reference_member: Option<String>,
    /// From the tombstone to the removal of the row; `None`: never (O29).
    pub purge_after_ms: Option<i64>,
    /// It makes something public: its keys are kept for ever, like those of money.
    pub publication: bool,
    /// How long a request for a second person stands.
    pub approval_ttl_ms: i64,
}

impl KindPolicy {
    /// The longest a call may take.
    #[must_use]
    pub fn call_deadline(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.call_deadline_ms).unwrap_or_default())
    }

    /// What must be left of a lease beyond the call for it to begin (O2): a tenth of what the
    /// lease has to spare, at most a second.
    #[must_use]
    pub const fn start_margin_ms(&self) -> i64 {
        let spare = (self.lease_ms - self.call_deadline_ms) / 10;
        if spare > 1000 { 1000 } else { spare }
    }

    /// Whether confirming this amount takes a second person; an unknown amount counts as above every
    /// threshold (A5).
    #[must_use]
    pub fn needs_second_person(&self, amount: Option<&Money>) -> bool {
        self.approval_threshold_minor
            .is_some_and(|threshold| amount.is_none_or(|money| money.amount_minor >= threshold))
    }

    /// The part that pages show.
    #[must_use]
    pub fn view(&self) -> KindView {
        KindView {
            name: self.name.clone(),
            irreversible: self.irreversible,
            money: self.money,
            provider: self.provider.clone(),
            lookup: self.lookup,
            absent_is_proof: self.absent_is_proof,
            call_deadline_ms: self.call_deadline_ms,
            lease_ms: self.lease_ms,
            settle_window_ms: self.settle_window_ms,
            approval_threshold_minor: self.approval_threshold_minor,
        }
    }
}

/// A kind of a tenant.
///
/// # Errors
/// The database's.
pub async fn find(
    db: &mut PgConnection,
    tenant: TenantId,
    name: &str,
) -> Result<Option<KindPolicy>, EngineError> {
    let kind = sqlx::query_as!(
        KindPolicy,
        "select name, irreversible, harmless_reason, money, amount_pointer, currency_pointer, provider, lookup,
           absent_is_proof, honours_keys, key_ttl_ms, call_deadline_ms, lease_ms, settle_window_ms, max_attempts,
           max_claims, max_reconcile_tries, backoff_ms, retention_ms, approval_threshold_minor, masked_pointers,
           search_pointers, reference_url, undo_kind, undo_reference_member, purge_after_ms, publication,
           approval_ttl_ms
         from operation_kinds where tenant_id = $1 and name = $2",
        tenant.uuid(),
        name,
    )
    .fetch_optional(db)
    .await?;
    Ok(kind)
}

/// Locks a kind until the transaction ends, with its version; the name itself is locked too, so
/// that of two people who add one kind one is first.
///
/// # Errors
/// The database's.
pub async fn lock(
    db: &mut PgConnection,
    tenant: TenantId,
    name: &str,
) -> Result<Option<(KindPolicy, i64)>, EngineError> {
    sqlx::query_scalar!(
        r#"select 1 as "one!" from (select pg_advisory_xact_lock(hashtextextended($1::uuid::text || $2, 0))) locked"#,
        tenant.uuid(),
        name,
    )
    .fetch_one(&mut *db)
    .await?;
    let version = sqlx::query_scalar!(
        "select version from operation_kinds where tenant_id = $1 and name = $2 for update",
        tenant.uuid(),
        name,
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(version) = version else { return Ok(None) };
    Ok(find(db, tenant, name).await?.map(|policy| (policy, version)))
}

/// The names of a tenant's kinds.
///
/// # Errors
/// The database's.
pub async fn names(db: &mut PgConnection, tenant: TenantId) -> Result<Vec<String>, EngineError> {
    let names = sqlx::query_scalar!(
        "select name from operation_kinds where tenant_id = $1 order by name limit 2000",
        tenant.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(names)
}

/// The names of a tenant's kinds that begin so, from one on, in their order.
///
/// # Errors
/// The database's.
pub async fn some_names(
    db: &mut PgConnection,
    tenant: TenantId,
    prefix: &str,
    from: &str,
    limit: i64,
) -> Result<Vec<String>, EngineError> {
    // U+10FFFF sorts after every character that a name can continue with.
    let end = format!("{prefix}\u{10ffff}");
    let names = sqlx::query_scalar!(
        "select name from operation_kinds
         where tenant_id = $1 and name >= $2 and name >= $3 and name < $4 order by name limit $5",
        tenant.uuid(),
        prefix,
        from,
        end,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(names)
}

/// A kind whose provider no process reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreachedKind {
    /// The tenant's short name.
    pub tenant: String,
    /// The kind's name.
    pub kind: String,
    /// Its provider's name.
    pub provider: String,
}

/// Kinds with a provider that none of the processes at work carries out.
///
/// # Errors
/// The database's.
pub async fn unreached(db: &mut PgConnection) -> Result<Vec<UnreachedKind>, EngineError> {
    let kinds = sqlx::query_as!(
        UnreachedKind,
        r#"select t.slug as tenant, k.name as kind, k.provider as "provider!" from operation_kinds k
           join tenants t on t.id = k.tenant_id
           where k.provider is not null and not exists (select from workers w
             where w.stopped_at is null and w.seen_at > onceover_now() - interval '30 seconds'
               and k.name = any(w.kinds))
           order by t.slug, k.name limit 100"#,
    )
    .fetch_all(db)
    .await?;
    Ok(kinds)
}

/// The kinds of all tenants that a provider of this process serves.
///
/// # Errors
/// The database's.
pub async fn served(
    db: &mut PgConnection,
    providers: &[String],
) -> Result<Vec<(TenantId, String)>, EngineError> {
    let rows = sqlx::query!(
        "select tenant_id, name from operation_kinds where provider = any($1) order by tenant_id, name",
        providers,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (TenantId::new(row.tenant_id), row.name)).collect())
}

/// Writes a kind's policy, new or changed.
///
/// # Errors
/// The database's: its checks refuse a policy that contradicts itself.
pub async fn put(
    db: &mut PgConnection,
    tenant: TenantId,
    kind: &KindPolicy,
) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into operation_kinds
           (tenant_id, name, irreversible, harmless_reason, money, amount_pointer, currency_pointer, provider, lookup,
            absent_is_proof, honours_keys, key_ttl_ms, call_deadline_ms, lease_ms, settle_window_ms, max_attempts,
            max_claims, max_reconcile_tries, backoff_ms, retention_ms, approval_threshold_minor, masked_pointers,
            search_pointers, reference_url, undo_kind, undo_reference_member, purge_after_ms, publication,
            approval_ttl_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
            $23, $24, $25, $26, $27, $28, $29)
         on conflict (tenant_id, name) do update set
            irreversible = excluded.irreversible, harmless_reason = excluded.harmless_reason,
            money = excluded.money, amount_pointer = excluded.amount_pointer,
            currency_pointer = excluded.currency_pointer, provider = excluded.provider, lookup = excluded.lookup,
            absent_is_proof = excluded.absent_is_proof, honours_keys = excluded.honours_keys,
            key_ttl_ms = excluded.key_ttl_ms, call_deadline_ms = excluded.call_deadline_ms,
            lease_ms = excluded.lease_ms, settle_window_ms = excluded.settle_window_ms,
            max_attempts = excluded.max_attempts, max_claims = excluded.max_claims,
            max_reconcile_tries = excluded.max_reconcile_tries, backoff_ms = excluded.backoff_ms,
            retention_ms = excluded.retention_ms, approval_threshold_minor = excluded.approval_threshold_minor,
            masked_pointers = excluded.masked_pointers, search_pointers = excluded.search_pointers,
            reference_url = excluded.reference_url, undo_kind = excluded.undo_kind,
            undo_reference_member = excluded.undo_reference_member, purge_after_ms = excluded.purge_after_ms,
            publication = excluded.publication, approval_ttl_ms = excluded.approval_ttl_ms, updated_at = onceover_now(),
            version = operation_kinds.version + 1",
        tenant.uuid(),
        kind.name,
        kind.irreversible,
        kind.harmless_reason,
        kind.money,
        kind.amount_pointer,
        kind.currency_pointer,
        kind.provider,
        kind.lookup,
        kind.absent_is_proof,
        kind.honours_keys,
        kind.key_ttl_ms,
        kind.call_deadline_ms,
        kind.lease_ms,
        kind.settle_window_ms,
        kind.max_attempts,
        kind.max_claims,
        kind.max_reconcile_tries,
        kind.backoff_ms,
        kind.retention_ms,
        kind.approval_threshold_minor,
        &kind.masked_pointers,
        &kind.search_pointers,
        kind.reference_url,
        kind.undo_kind,
        kind.undo_reference_member,
        kind.purge_after_ms,
        kind.publication,
        kind.approval_ttl_ms,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The kinds of all tenants whose tombstones go, and how long after burial (O29).
///
/// # Errors
/// The database's.
pub async fn purgeable(db: &mut PgConnection) -> Result<Vec<(TenantId, String, i64)>, EngineError> {
    let rows = sqlx::query!(
        r#"select tenant_id, name, purge_after_ms as "after!" from operation_kinds
           where purge_after_ms is not null and not money and not publication
           order by tenant_id, name"#,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (TenantId::new(row.tenant_id), row.name, row.after)).collect())
}
