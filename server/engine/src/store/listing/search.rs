//! Search: the ids that a person's words find, each way of finding by its own index.

use domain::ids::TenantId;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{error::EngineError, store::workflow_listing};

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

/// The ids that a search finds, of no particular order, and whether one kind of match had more than
/// the limit.
///
/// # Errors
/// The database's.
pub async fn search(
    db: &mut PgConnection,
    tenant: TenantId,
    search: &Search,
) -> Result<(Vec<Uuid>, bool), EngineError> {
    let (found, more) = ranked(db, tenant, search).await?;
    let mut ids: Vec<_> = found.into_iter().map(|(id, _)| id).collect();
    ids.sort_unstable();
    Ok((ids, more))
}

/// The same, each with whether something of it is exactly what was looked for: those first, then the
/// newest. An operation that the key of its workflow finds is never exactly what was looked for: the
/// workflow is.
///
/// # Errors
/// The database's.
pub async fn ranked(
    db: &mut PgConnection,
    tenant: TenantId,
    search: &Search,
) -> Result<(Vec<(Uuid, bool)>, bool), EngineError> {
    let text = (search.text.0.as_str(), search.text.1.as_str());
    // Read first, so that workflows which were left out are told of too, however few operations the
    // others have.
    let (workflows, more_workflows) =
        workflow_listing::search(&mut *db, tenant, text, None, search.limit).await?;
    let rows = sqlx::query!(
        r#"
        (select 1 as "branch!", id as "id!", key = $2 as "exact!" from operations
          where tenant_id = $1 and not console and key >= $2 and key < $3 order by key limit $9)
        union all
        (select 2, id, external_reference = $2 from operations
          where tenant_id = $1 and not console and external_reference >= $2 and external_reference < $3
          order by external_reference limit $9)
        union all
        (select 3, operation_id, term = $2 from operation_terms
          where tenant_id = $1 and term >= $2 and term < $3 order by term limit $9)
        union all
        (select 4, operation_id, true from operation_terms where tenant_id = $1 and term = $4 limit $9)
        union all
        (select 5, id, $5::uuid = $6::uuid from operations
          where tenant_id = $1 and not console and id >= $5 and id <= $6 order by id desc limit $9)
        union all
        (select 6, id, true from operations
          where tenant_id = $1 and not console and currency = $8 and amount_minor = $7 order by id desc limit $9)
        union all
        (select 7, o.id, false from unnest($10::uuid[]) as w(id) cross join lateral
          (select p.id from operations p
           where p.tenant_id = $1 and p.workflow_id = w.id and not p.console limit $9) o
          limit $9)
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
        &workflows,
    )
    .fetch_all(db)
    .await?;
    let cut = (1..=7).any(|branch| {
        let found = rows.iter().filter(|row| row.branch == branch).count();
        i64::try_from(found).is_ok_and(|found| found >= search.limit)
    });
    let more = more_workflows || cut;
    let mut found: Vec<_> = rows.into_iter().map(|row| (row.id, row.exact)).collect();
    found.sort_unstable_by(|(a, a_exact), (b, b_exact)| b.cmp(a).then(b_exact.cmp(a_exact)));
    found.dedup_by_key(|(id, _)| *id);
    found.sort_by_key(|(_, exact)| !exact);
    Ok((found, more))
}
