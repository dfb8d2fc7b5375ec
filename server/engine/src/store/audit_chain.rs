//! The audit chain as it is stored, for whoever checks it: entries in the form that their hashes were
//! taken over, and the record of the newest.

use domain::ids::TenantId;
use sqlx::PgConnection;

use crate::error::EngineError;

/// An entry as its hash was taken over it, `audit_add` in the migrations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its place.
    pub seq: i64,
    /// The fields as one JSON array.
    pub text: String,
    /// The same as they would stand at another place, where one was asked for.
    pub moved: Option<String>,
    /// Its hash, in hexadecimal digits.
    pub hash: String,
}

/// Both ends of a chain, read at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Place and hash of the newest entry, as they were recorded.
    pub head: Option<(i64, String)>,
    /// The newest entry that is there.
    pub last: Option<i64>,
}

/// The ends of a tenant's chain.
///
/// # Errors
/// The database's.
pub async fn ends(db: &mut PgConnection, tenant: TenantId) -> Result<Ends, EngineError> {
    let row = sqlx::query!(
        r#"select h.seq as "seq?", encode(h.hash, 'hex') as hash,
             (select max(a.seq) from audit a where a.tenant_id = $1) as last
           from (select $1::uuid as tenant_id) t left join audit_heads h using (tenant_id)"#,
        tenant.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(Ends { head: row.seq.zip(row.hash), last: row.last })
}

/// The next entries after a place, up to another, each also as it would stand at `elsewhere`.
///
/// # Errors
/// The database's.
pub async fn links(
    db: &mut PgConnection,
    tenant: TenantId,
    (after, to): (i64, i64),
    elsewhere: Option<i64>,
    limit: i64,
) -> Result<Vec<Link>, EngineError> {
    let rows = sqlx::query_as!(
        Link,
        r#"select seq, encode(hash, 'hex') as "hash!",
             (jsonb_build_array(tenant_id, seq, extract(epoch from at), actor_kind, actor_id, actor, action,
               target_type, target_id, result, code, reason, before, after, receipt, request_id)
               || case when client is null then '[]'::jsonb else jsonb_build_array(client) end)::text as "text!",
             case when $4::bigint is not null then
               (jsonb_build_array(tenant_id, $4::bigint, extract(epoch from at), actor_kind, actor_id, actor, action,
                 target_type, target_id, result, code, reason, before, after, receipt, request_id)
                 || case when client is null then '[]'::jsonb else jsonb_build_array(client) end)::text
             end as moved
           from audit where tenant_id = $1 and seq > $2 and seq <= $3 order by seq limit $5"#,
        tenant.uuid(),
        after,
        to,
        elsewhere,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// The hashes that stand at places of chains, in hexadecimal digits, in the order of the question.
///
/// # Errors
/// The database's.
pub async fn hashes(
    db: &mut PgConnection,
    tenants: &[uuid::Uuid],
    places: &[i64],
) -> Result<Vec<Option<String>>, EngineError> {
    let rows = sqlx::query_scalar!(
        "select encode(a.hash, 'hex') from unnest($1::uuid[], $2::bigint[]) with ordinality as q(tenant, seq, place)
         left join audit a on a.tenant_id = q.tenant and a.seq = q.seq order by q.place",
        tenants,
        places,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}
