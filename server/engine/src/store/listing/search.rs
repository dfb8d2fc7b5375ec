//! Search: the ids that a person's words find, each way of finding by its own index.

use domain::ids::TenantId;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::EngineError;

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
