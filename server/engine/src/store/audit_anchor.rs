//! The heads of all chains, and when they are to be kept outside the database.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::EngineError;

/// The newest entry of a tenant's chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whose.
    pub tenant_id: Uuid,
    /// Its short name.
    pub tenant: String,
    /// The place.
    pub seq: i64,
    /// The hash, in hexadecimal digits.
    pub hash: String,
}

/// The next heads, in the order of the tenants' ids.
///
/// # Errors
/// The database's.
pub async fn heads(
    db: &mut PgConnection,
    after: Uuid,
    limit: i64,
) -> Result<Vec<Head>, EngineError> {
    let rows = sqlx::query_as!(
        Head,
        r#"select h.tenant_id, t.slug as tenant, h.seq, encode(h.hash, 'hex') as "hash!"
           from audit_heads h join tenants t on t.id = h.tenant_id
           where h.tenant_id > $1 order by h.tenant_id limit $2"#,
        after,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// Takes a place that is due, for one of all processes; it is due again after `retry_secs` unless
/// [`arrived`] says otherwise.
///
/// # Errors
/// The database's.
pub async fn claim(
    db: &mut PgConnection,
    place: &str,
    retry_secs: i32,
) -> Result<bool, EngineError> {
    let claimed = sqlx::query_scalar!(
        r#"insert into audit_anchors as a (place, due_at)
           values ($1, onceover_now() + make_interval(secs => $2))
           on conflict (place) do update set due_at = excluded.due_at where a.due_at <= onceover_now()
           returning true as "claimed!""#,
        place,
        f64::from(retry_secs),
    )
    .fetch_optional(db)
    .await?;
    Ok(claimed.is_some())
}

/// The heads arrived at a place; it is due again after `every_minutes`.
///
/// # Errors
/// The database's.
pub async fn arrived(
    db: &mut PgConnection,
    place: &str,
    every_minutes: i32,
) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into audit_anchors (place, due_at, anchored_at)
         values ($1, onceover_now() + make_interval(mins => $2), onceover_now())
         on conflict (place) do update set due_at = excluded.due_at, anchored_at = excluded.anchored_at",
        place,
        every_minutes,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// When heads last arrived at any place.
///
/// # Errors
/// The database's.
pub async fn last(db: &mut PgConnection) -> Result<Option<DateTime<Utc>>, EngineError> {
    let at =
        sqlx::query_scalar!("select max(anchored_at) from audit_anchors").fetch_one(db).await?;
    Ok(at)
}
