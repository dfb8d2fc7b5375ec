//! What a request has changed, read from every table that the database has, so that a new one counts.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;

use crate::support::Stage;

/// Tables whose rows say who asked or was shown something, or what time it is, not what was changed.
const WITNESSES: [&str; 9] = [
    "audit",
    "audit_heads",
    "onceover_clock",
    "sessions",
    "sign_in_addresses",
    "sign_in_attempts",
    "tokens",
    "task_status",
    "_sqlx_migrations",
];

/// Of them, the rows that an effect leaves, without what a mere request moves.
const EFFECTS_OF_WITNESSES: [(&str, &str); 3] = [
    ("audit", "select t::text from audit t where t.result = 'done'"),
    ("sessions", "select (to_jsonb(t) - 'seen_at')::text from sessions t"),
    ("tokens", "select (to_jsonb(t) - 'last_used_at')::text from tokens t"),
];

/// A digest of each table's rows, but for those that a refusal leaves too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects(BTreeMap<String, String>);

impl Effects {
    /// The tables that are not as they were, in order.
    pub fn since(&self, before: &Self) -> Vec<&str> {
        assert!(self.0.keys().eq(before.0.keys()), "the tables are the same");
        let moved = self.0.iter().filter(|(table, rows)| before.0[*table] != **rows);
        moved.map(|(table, _)| table.as_str()).collect()
    }
}

impl Stage {
    /// Everything that a request could have changed.
    pub async fn effects(&self) -> Effects {
        let sql = self.effects_of.get_or_init(async || {
            let tables = tables(self, false).await;
            let plain = tables.iter().map(|table| (table.as_str(), format!("select t::text from {table} t")));
            let kept = EFFECTS_OF_WITNESSES.map(|(table, rows)| (table, rows.to_owned()));
            let parts: Vec<_> = plain
                .chain(kept)
                .map(|(table, rows)| {
                    format!(
                        "select '{table}', coalesce(md5(string_agg(l, '|' order by l)), '-') from ({rows}) x(l)"
                    )
                })
                .collect();
            parts.join(" union all ").into()
        });
        let rows: Vec<(String, String)> = sqlx::query_as(AssertSqlSafe(sql.await.clone()))
            .fetch_all(self.database.owner_pool())
            .await
            .unwrap();
        Effects(rows.into_iter().collect())
    }
}

/// Every table but the [`WITNESSES`]; where asked, those alone that belong to tenants.
async fn tables(stage: &Stage, of_tenants: bool) -> Vec<String> {
    let mut all: Vec<String> = sqlx::query_scalar(
        "select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = 'public' and c.relkind = 'r' and (not $1 or exists (
           select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id'))
         order by 1",
    )
    .bind(of_tenants)
    .fetch_all(stage.database.owner_pool())
    .await
    .unwrap();
    all.retain(|table| !WITNESSES.contains(&table.as_str()));
    all
}

/// One number per table but the [`WITNESSES`], over all rows that meet a condition.
pub async fn digest(stage: &Stage, condition: &str) -> String {
    let parts: Vec<_> = tables(stage, !condition.is_empty())
        .await
        .iter()
        .map(|table| {
            format!(
                "select '{table} ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '-')
                 from {table} t {condition}"
            )
        })
        .collect();
    let all = AssertSqlSafe(format!(
        "select string_agg(l, E'\\n') from ({}) x(l)",
        parts.join(" union all ")
    ));
    sqlx::query_scalar(all).fetch_one(stage.database.owner_pool()).await.unwrap()
}
