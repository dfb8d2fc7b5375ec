//! A million operations: every list and search reads by its index and bounded rows. The plans are
//! those of the engine's own statements, told by the database as it runs them.

use std::sync::{Arc, Mutex};

use domain::{
    access::Role,
    listing::{OperationFilter, StatusFilter},
    operation::Status,
};
use serde_json::Value;
use sqlx::Executor as _;
use tracing::{Event, Subscriber, field::Visit};
use tracing_subscriber::{Layer, layer::Context, layer::SubscriberExt as _};

use crate::fixture::{Fixture, engine};

const ROWS: i64 = 1_000_000;
/// Rows that one scan may touch: a page, a queue or a search's matches, never the table.
const MAX_TOUCHED: f64 = 6_000.0;
const BIG: [&str; 15] = [
    "operations",
    "operation_terms",
    "payload_conflicts",
    "operation_events",
    "aggregates",
    "outbox",
    "outbox_attempts",
    "inbox",
    "workflows",
    "workflow_steps",
    "compensations",
    "approvals",
    "machine_events",
    "saved_views",
    "bulk_rows",
];

/// What the database says while it works: `auto_explain` sends each plan as a notice.
#[derive(Clone, Default)]
pub struct Plans(Arc<Mutex<Vec<String>>>);

impl Plans {
    /// Has every connection to this database that is made from now on explain what it runs.
    pub async fn explain_from_now_on(fixture: &Fixture) {
        let name = fixture.db.name();
        for (setting, value) in [
            ("session_preload_libraries", "auto_explain"),
            ("auto_explain.log_min_duration", "0"),
            ("auto_explain.log_analyze", "on"),
            ("auto_explain.log_format", "json"),
            ("auto_explain.log_level", "notice"),
        ] {
            let sql = format!("alter database \"{name}\" set {setting} = '{value}'");
            fixture.pool().execute(sqlx::AssertSqlSafe(sql)).await.unwrap();
        }
    }

    /// What was told since the last time.
    pub fn take(&self) -> Vec<String> {
        self.0.lock().unwrap().drain(..).collect()
    }
}

/// Reads plans that were told; how many there were, and what is wrong with which.
pub fn judge<'a>(all: impl IntoIterator<Item = (&'a str, &'a String)>) -> (usize, Vec<String>) {
    let mut read = 0;
    let mut wrong = Vec::new();
    for (name, notice) in all {
        let Some((_, json)) = notice.split_once("plan:") else { continue };
        let plan: Value =
            serde_json::from_str(json.trim()).unwrap_or_else(|error| panic!("{error}: {json}"));
        read += 1;
        let mut found = Vec::new();
        faults(&plan["Plan"], &mut found);
        wrong.extend(
            found
                .into_iter()
                .map(|fault| format!("{name}: {fault}\n{}\n{}", plan["Query Text"], plan["Plan"])),
        );
    }
    wrong.sort();
    wrong.dedup();
    (read, wrong)
}

struct Message<'a>(&'a mut Vec<String>);

impl Visit for Message<'_> {
    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        if field.name() == "message" {
            self.0.push(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0.push(format!("{value:?}"));
        }
    }
}

impl<S: Subscriber> Layer<S> for Plans {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "sqlx::postgres::notice" {
            event.record(&mut Message(&mut self.0.lock().unwrap()));
        }
    }
}

async fn plant(fixture: &Fixture) {
    let pool = fixture.pool();
    fixture.reserve("first").await;
    for table in ["operations", "operation_events", "workflows"] {
        let sql = format!("alter table {table} disable trigger user");
        pool.execute(sqlx::AssertSqlSafe(sql)).await.unwrap();
    }
    sqlx::query(
        "insert into operations (tenant_id, id, operation, key, hash, hash_version, status, amount_minor, currency,
           payload, external_reference, attempt, max_attempts, needs_manual, unknown_since, next_reconcile_at, next_at,
           completed_at, created_by_kind, created_by, workflow_id)
         select o.tenant_id,
           (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n * 1000), 12, '0') || '70008000000000000000')::uuid,
           case when n % 3 = 0 then 'campaign.send' else 'invoice.charge' end,
           'key-' || n, o.hash, 1, s.status, n % 100000, 'EUR', o.payload,
           case when s.status = 'succeeded' then 'ch_' || n end, 1, 3, s.status = 'unknown' and n % 200 = 0,
           case when s.status = 'unknown' then now() end,
           case when s.status = 'unknown' then now() + interval '1 hour' end,
           case when s.status = 'failed_retryable' then now() end,
           case when s.status in ('succeeded', 'failed_terminal') then now() end, 'service', 'planted',
           case when n % 10 = 7 and s.status = 'succeeded' then md5('wf-' || n / 50)::uuid end
         from (select * from operations limit 1) o, generate_series(1, $1) n,
           lateral (select case when n % 100 = 0 then 'unknown' when n % 101 = 0 then 'failed_terminal'
             when n % 103 = 0 then 'failed_retryable' when n % 5000 = 1 then 'executing'
             when n % 50 = 3 then 'reserved' else 'succeeded' end as status) s",
    )
    .bind(ROWS)
    .execute(pool)
    .await
    .unwrap();
    for sql in [
        "insert into operation_terms select tenant_id, 'INV-' || substring(key from 5), id from operations",
        "insert into payload_conflicts (tenant_id, operation_id, hash, hash_version, callers, last_at)
           select tenant_id, id, hash, 1, '{x}', now() - row_number() over () % 100 * interval '1 day'
           from operations where key like 'key-%77'",
        "insert into workflows (tenant_id, id, kind, key, definition_version, input_hash, status, created_by_kind,
             created_by, completed_at)
           select o.tenant_id, md5('wf-' || n)::uuid, 'line', 'flow-' || n, 1, o.hash, 'completed', 'service',
             'planted', now()
           from (select * from operations limit 1) o, generate_series(0, 20000) n",
        "vacuum analyze operations",
        "vacuum analyze operation_terms",
        "vacuum analyze payload_conflicts",
        "vacuum analyze workflows",
    ] {
        pool.execute(sql).await.unwrap();
    }
}

/// Walks a plan and names what reads too much.
fn faults(node: &Value, found: &mut Vec<String>) {
    let number = |name: &str| node[name].as_f64().unwrap_or(0.0);
    let kind = node["Node Type"].as_str().unwrap_or_default();
    let relation = node["Relation Name"].as_str().unwrap_or_default();
    if kind == "Seq Scan" && BIG.contains(&relation) {
        found.push(format!("sequential scan of {relation}"));
    }
    if kind.contains("Scan") {
        let touched =
            (number("Actual Rows") + number("Rows Removed by Filter")) * number("Actual Loops");
        if touched > MAX_TOUCHED {
            found.push(format!("{kind} of {relation} touched {touched} rows"));
        }
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        faults(child, found);
    }
}

#[tokio::test]
async fn lists_and_searches_read_by_index_at_a_million_rows() {
    let fixture = Fixture::new().await;
    plant(&fixture).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    Plans::explain_from_now_on(&fixture).await;
    let explained = engine(&fixture.db).await;
    let plans = Plans::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(plans.clone()));

    let middle: uuid::Uuid =
        sqlx::query_scalar("select id from operations where key = 'key-500000'")
            .fetch_one(fixture.pool())
            .await
            .unwrap();
    let deep = Some(domain::listing::Cursor { id: middle, backwards: false }.encode());
    let back = Some(domain::listing::Cursor { id: middle, backwards: true }.encode());
    let base = OperationFilter::default;
    let with_q = |q: &str| OperationFilter { q: Some(q.into()), ..base() };
    let mut filters = vec![
        ("first page", base()),
        ("deep page", OperationFilter { cursor: deep.clone(), ..base() }),
        ("back", OperationFilter { cursor: back, ..base() }),
        ("kind", OperationFilter { operation: Some("campaign.send".into()), ..base() }),
        (
            "deep kind",
            OperationFilter {
                operation: Some("campaign.send".into()),
                cursor: deep.clone(),
                ..base()
            },
        ),
        ("needs a person", OperationFilter { needs_manual: true, ..base() }),
        ("conflict", OperationFilter { conflict: true, ..base() }),
        ("tombstones", OperationFilter { status: Some(StatusFilter::Tombstone), ..base() }),
        ("key", with_q("key-777777")),
        ("key prefix", with_q("key-7777")),
        ("broad prefix", with_q("key-")),
        ("reference", with_q("ch_123456")),
        ("invoice", with_q("INV-424242")),
        ("broad invoice", with_q("INV-")),
        ("id", with_q(&middle.to_string())),
        ("amount", with_q("424.24 EUR")),
        ("workflow key", with_q("flow-7777")),
        ("broad workflow key", with_q("flow-")),
        ("nothing", with_q("no such thing")),
    ];
    for status in Status::ALL {
        filters.push((
            status.as_str(),
            OperationFilter { status: Some(StatusFilter::Is(status)), ..base() },
        ));
        let deep = OperationFilter {
            status: Some(StatusFilter::Is(status)),
            cursor: deep.clone(),
            ..base()
        };
        filters.push((status.as_str(), deep));
    }
    let mut all = Vec::new();
    for (name, filter) in filters {
        // More than five times, so that a cached generic plan is looked at too.
        for _ in 0..7 {
            explained.list_operations(&viewer, &filter).await.unwrap();
        }
        all.extend(plans.take().into_iter().map(|plan| (name, plan)));
    }
    let whole = middle.to_string();
    let searches = [
        "key-777777",
        "key-7777",
        "key-",
        "ch_123456",
        "INV-424242",
        "INV-",
        "424.24 EUR",
        "flow-7777",
        "flow-",
        "no such thing",
        whole.as_str(),
        &whole[..13],
    ];
    for q in searches {
        for _ in 0..7 {
            explained.search(&viewer, q).await.unwrap();
        }
        all.extend(plans.take().into_iter().map(|plan| ("one search", plan)));
    }
    for _ in 0..7 {
        explained.kind_names(&viewer, "inv", "", 101).await.unwrap();
        explained.overview(&viewer, None).await.unwrap();
        explained.me(&viewer).await.unwrap();
        explained.operation(&viewer, domain::ids::OperationId::new(middle)).await.unwrap();
        explained.reconcile_due().await.unwrap();
        explained.take_over_expired().await.unwrap();
        explained.expire_due().await.unwrap();
        let kinds = vec!["invoice.charge".to_owned()];
        explained.claim(&fixture.service, &kinds, 10, None).await.unwrap();
    }
    all.extend(plans.take().into_iter().map(|plan| ("overview, page and sweeps", plan)));

    let (read, wrong) = judge(all.iter().map(|(name, plan)| (*name, plan)));
    assert!(
        wrong.is_empty(),
        "{} of {read} plans read too much:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(read > 300, "the database told only {read} plans");
}
