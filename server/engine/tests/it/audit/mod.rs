//! The audit log: no effect without its row (T29), nobody writes but the one function and every edit is
//! found (T30), the actor is who acted (T31), and nobody reads another's (T32).

mod beside;
mod chain;
mod closed;
mod fresh_factor;
mod people;
mod places;
mod ready;

use crate::fixture::Fixture;

/// Tables that say what processes are at and not what was done.
const OF_PROCESSES: &str =
    "'workers', 'task_status', 'onceover_clock', 'operation_replays', '_sqlx_migrations'";

/// All that the database holds but what processes say of themselves: equal texts, equal contents.
pub async fn everything(fixture: &Fixture) -> Vec<(String, String)> {
    let tables: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
        "select c.relname::text from pg_class c where c.relkind = 'r'
           and c.relnamespace = 'public'::regnamespace and c.relname not in ({OF_PROCESSES}) order by 1"
    )))
    .fetch_all(fixture.pool())
    .await
    .unwrap();
    assert!(tables.len() > 30, "{tables:?}");
    let each: Vec<String> = tables
        .iter()
        .map(|table| {
            format!(
                "select '{table}' as name, coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as held
                 from {table} t"
            )
        })
        .collect();
    sqlx::query_as(sqlx::AssertSqlSafe(each.join(" union all ")))
        .fetch_all(fixture.pool())
        .await
        .unwrap()
}
