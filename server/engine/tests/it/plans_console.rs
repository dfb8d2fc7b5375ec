//! A million events, and hundreds of thousands of leases, incidents, conflicts and audit entries: what
//! the console lists and what its first page reads goes by an index and a bounded number of rows.

use domain::{
    access::Role,
    ids::{ConflictId, EventId, IncidentId},
    lease::LeaseState,
    listing::{
        AuditFilter, ConflictFilter, Cursor, EventFilter, IncidentFilter, IncidentState,
        LeaseFilter, List,
    },
    outbox::EventStatus,
};
use engine::{Engine, Limits, Settings, StaffCaller, console::MAX_BATCH};
use sqlx::Executor as _;
use tracing_subscriber::layer::SubscriberExt as _;
use uuid::Uuid;

use crate::{
    fixture::{Fixture, engine, settings},
    plans::{Plans, judge},
};

async fn plant(fixture: &Fixture) {
    let tenant = fixture.service.tenant_id();
    // The id of the instant `n` seconds ago, the same in every statement.
    let base = chrono::Utc::now().timestamp_millis();
    let id = format!(
        "(lpad(to_hex({base}::bigint - n * 1000), 12, '0') || '70008000000000000000')::uuid"
    );
    fixture.reserve("first").await;
    let mut db = fixture.pool().acquire().await.unwrap();
    // The server's own time limit is for requests.
    db.execute("set statement_timeout = 0").await.unwrap();
    let mut statements = Vec::new();
    for table in ["operations", "outbox", "incidents", "compensations", "workflows", "inbox"] {
        statements.push(format!("alter table {table} disable trigger user"));
    }
    statements.extend([
        format!(
            "insert into operations (tenant_id, id, operation, key, hash, hash_version, status, amount_minor, currency,
               attempt, max_attempts, unknown_since, next_reconcile_at, created_by_kind, created_by)
             select '{tenant}', {id}, case when n % 3 = 0 then 'campaign.send' else 'invoice.charge' end, 'key-' || n,
               sha256(''), 1, case when n % 2 = 0 then 'unknown' else 'reserved' end, n, 'EUR', 1, 3,
               case when n % 2 = 0 then now() - n * interval '1 second' end,
               case when n % 2 = 0 then now() + interval '1 hour' end, 'service', 'planted'
             from generate_series(1, 200000) n"
        ),
        "insert into leases (tenant_id, operation_id, fence, owner, lease_until)
           select tenant_id, id, 1, 'w-' || amount_minor % 7, now() + (amount_minor - 150000) * interval '1 second'
           from operations where key like 'key-%'".to_owned(),
        "insert into payload_conflicts (tenant_id, operation_id, hash, hash_version, callers, last_at, id)
           select tenant_id, id, hash, 1, '{x}', now() - amount_minor * interval '1 second', id
           from operations where key like 'key-%'".to_owned(),
        format!(
            "insert into incidents (tenant_id, id, operation_id, cause, summary, opened_at, closed_at, closed_by, reason)
             select '{tenant}', {id}, {id}, case when n % 1000 = 7 then 'rare' else 'double_effect_suspected' end, 'x',
               now() - n * interval '1 second', case when n % 4 > 0 then now() end, case when n % 4 > 0 then 'x' end,
               case when n % 4 > 0 then 'x' end
             from generate_series(1, 200000) n"
        ),
        format!(
            "insert into aggregates (tenant_id, aggregate, next_seq, head_seq, blocked)
             select '{tenant}', 'a-' || n, 3, 2, n % 10 = 0 from generate_series(1, 500000) n"
        ),
        format!(
            "insert into outbox (tenant_id, id, aggregate, seq, topic, payload, status, settled_at)
             select '{tenant}', overlay({id}::text placing '800' || seq from 20 for 4)::uuid, 'a-' || n, seq,
               case when n % 1000 = 7 then 'rare' else 'thing.happened' end, '1',
               case when seq = 1 then 'published' when n % 10 = 0 then 'dead' else 'pending' end,
               case when seq = 1 then now() end
             from generate_series(1, 500000) n, generate_series(1, 2) seq"
        ),
        format!(
            "insert into audit (tenant_id, seq, at, actor_kind, actor, action, target_type, target_id, result, request_id,
               hash)
             select '{tenant}', n + 1000, now() - (300000 - n) * interval '1 second', 'staff',
               case when n % 1000 = 7 then 'rare@acme.test' else 'olga@acme.test' end,
               case when n % 1000 = 8 then 'rare' else 'confirm' end, 'operation', 't-' || n % 10000,
               case when n % 1000 = 9 then 'denied' else 'done' end, 'r', ''
             from generate_series(1, 300000) n"
        ),
        format!(
            "insert into workflows (tenant_id, kind, key, definition_version, input_hash, status, created_by_kind,
               created_by)
             select '{tenant}', 'campaign', 'c-' || n, 1, sha256(''), case when n % 2 = 0 then 'blocked' else 'running' end,
               'service', 'x' from generate_series(1, 100000) n"
        ),
        format!(
            "insert into inbox (tenant_id, consumer, source, message_id, hash, hash_version, status, produced_at,
               window_until)
             select '{tenant}', 'billing', 'orders', 'm-' || n, sha256(''), 1,
               case when n % 2 = 0 then 'dead' else 'processing' end, now(), now() from generate_series(1, 100000) n"
        ),
        "insert into compensations (tenant_id, operation_id, kind, status, amount_minor, currency, requested_by_kind,
           requested_by) select tenant_id, id, 'invoice.refund', 'failed', 1, 'EUR', 'staff', 'x'
           from operations where key like 'key-%' limit 100000".to_owned(),
    ]);
    statements.extend([
        "insert into staff (email, name, password_hash)
           select 'p' || n || '@acme.test', 'p', 'x' from generate_series(1, 2000) n"
            .to_owned(),
        format!(
            "insert into saved_views (tenant_id, staff_id, list, name, query, shared)
             select '{tenant}', s.id, 'operations', 'view ' || n, '', n % 2 = 0
             from staff s, generate_series(1, 50) n where s.name = 'p'"
        ),
    ]);
    for table in [
        "operations",
        "leases",
        "payload_conflicts",
        "incidents",
        "aggregates",
        "outbox",
        "audit",
        "workflows",
        "inbox",
        "compensations",
        "saved_views",
    ] {
        statements.push(format!("vacuum analyze {table}"));
    }
    for sql in statements {
        db.execute(sqlx::AssertSqlSafe(sql.clone()))
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// Takes every list; most have more rows than an export may, which is found out in the same way.
async fn take_lists(engine: &Engine, by: &StaffCaller) {
    let part = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let narrow = [
        (List::Outbox, part("topic", "rare")),
        (List::Outbox, part("q", "a-77")),
        (List::Incidents, part("cause", "rare")),
        (List::Conflicts, part("operation", "none.such")),
        (List::Leases, part("holder", "w-99")),
        (List::Audit, part("actor", "rare@acme.test")),
        (List::Audit, part("verb", "rare")),
        (List::Audit, part("target", "t-77")),
        (List::Audit, part("denied", "true")),
    ];
    let whole = List::ALL.iter().map(|list| (*list, Vec::new()));
    for (list, parts) in whole.chain(narrow) {
        let Ok(export) = engine.begin_export(by, list, parts, "csv").await else { continue };
        for batch in 0..export.rows().div_ceil(MAX_BATCH) {
            let part = batch * MAX_BATCH..(batch + 1) * MAX_BATCH;
            engine.export_batch(by, &export, part).await.unwrap();
        }
    }
}

#[tokio::test]
async fn the_consoles_lists_and_first_page_read_by_index_at_a_million_rows() {
    let fixture = Fixture::new().await;
    plant(&fixture).await;
    let auditor = fixture.person("auditor", Role::Auditor).await;
    let middle: Uuid = sqlx::query_scalar(
        "select id from incidents where closed_at is null order by id offset 20000 limit 1",
    )
    .fetch_one(fixture.pool())
    .await
    .unwrap();
    let event: Uuid =
        sqlx::query_scalar("select id from outbox where aggregate = 'a-250000' and seq = 2")
            .fetch_one(fixture.pool())
            .await
            .unwrap();
    Plans::explain_from_now_on(&fixture).await;
    let explained = engine(&fixture.db).await;
    let limits = Limits { export_rows: 2_000, ..Limits::default() };
    let exporting = Engine::connect(Settings { limits, ..settings(&fixture.db) }).await.unwrap();
    let plans = Plans::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(plans.clone()));
    let deep = Some(Cursor { id: middle, backwards: false }.encode());
    let back = Some(Cursor { id: middle, backwards: true }.encode());
    let text = |text: &str| Some(text.to_owned());
    let mut all: Vec<(&str, String)> = Vec::new();

    let mut events = vec![
        ("events", EventFilter::default()),
        ("events, deep", EventFilter { cursor: deep.clone(), ..Default::default() }),
        ("events, back", EventFilter { cursor: back.clone(), ..Default::default() }),
        ("events of a rare topic", EventFilter { topic: text("rare"), ..Default::default() }),
        (
            "events of an aggregate",
            EventFilter { aggregate: text("a-77777"), ..Default::default() },
        ),
        ("events, broad prefix", EventFilter { q: text("a-"), ..Default::default() }),
        ("events by topic's beginning", EventFilter { q: text("thing"), ..Default::default() }),
        ("events by id", EventFilter { q: text(&event.to_string()), ..Default::default() }),
    ];
    for status in
        [EventStatus::Dead, EventStatus::Pending, EventStatus::Published, EventStatus::Skipped]
    {
        let filter = EventFilter { status: Some(status), ..Default::default() };
        events.push(("events by state", EventFilter { cursor: deep.clone(), ..filter.clone() }));
        events.push(("events by state", filter));
    }
    let conflicts = [
        ConflictFilter::default(),
        ConflictFilter { cursor: deep.clone(), ..Default::default() },
        ConflictFilter {
            cursor: back.clone(),
            operation: text("campaign.send"),
            ..Default::default()
        },
        ConflictFilter { operation: text("none.such"), ..Default::default() },
        ConflictFilter { q: text("key-77"), ..Default::default() },
    ];
    let leases = [
        LeaseFilter::default(),
        LeaseFilter { status: Some(LeaseState::Stale), ..Default::default() },
        LeaseFilter { status: Some(LeaseState::Live), ..Default::default() },
        LeaseFilter { holder: text("w-99"), ..Default::default() },
        LeaseFilter { operation: text("campaign.send"), ..Default::default() },
        LeaseFilter { q: text("key-77"), ..Default::default() },
    ];
    let incidents = [
        IncidentFilter::default(),
        IncidentFilter { cursor: back, ..Default::default() },
        IncidentFilter { cause: text("rare"), ..Default::default() },
        IncidentFilter { status: Some(IncidentState::Open), cursor: deep, ..Default::default() },
        IncidentFilter { status: Some(IncidentState::Closed), ..Default::default() },
        IncidentFilter { q: text("key-77"), ..Default::default() },
        IncidentFilter { q: text(&middle.to_string()), ..Default::default() },
    ];
    let now = chrono::Utc::now();
    let audit = [
        AuditFilter::default(),
        AuditFilter { actor: text("rare@acme.test"), ..Default::default() },
        AuditFilter { verb: text("rare"), ..Default::default() },
        AuditFilter { target: text("t-77"), ..Default::default() },
        AuditFilter { denied: true, ..Default::default() },
        AuditFilter {
            from: Some(now - chrono::TimeDelta::seconds(200_000)),
            to: Some(now - chrono::TimeDelta::seconds(190_000)),
            ..Default::default()
        },
    ];
    // More than five times, so that a cached generic plan is looked at too.
    for _ in 0..7 {
        for (name, filter) in &events {
            explained.list_events(&auditor, filter).await.unwrap();
            all.extend(plans.take().into_iter().map(|plan| (*name, plan)));
        }
        for filter in &conflicts {
            explained.list_conflicts(&auditor, filter).await.unwrap();
        }
        all.extend(plans.take().into_iter().map(|plan| ("conflicts", plan)));
        for filter in &leases {
            explained.list_leases(&auditor, filter).await.unwrap();
        }
        all.extend(plans.take().into_iter().map(|plan| ("leases", plan)));
        for filter in &incidents {
            explained.list_incidents(&auditor, filter).await.unwrap();
        }
        all.extend(plans.take().into_iter().map(|plan| ("incidents", plan)));
        for filter in &audit {
            explained.list_audit(&auditor, filter).await.unwrap();
        }
        all.extend(plans.take().into_iter().map(|plan| ("audit", plan)));
        let ids = [event.to_string(), middle.to_string()];
        for q in ["key-77", "a-25", "thing", "c-77", "m-77", &ids[0], &ids[1]] {
            explained.search(&auditor, q).await.unwrap();
        }
        all.extend(plans.take().into_iter().map(|plan| ("one search", plan)));
        explained.event(&auditor, EventId::new(event)).await.unwrap();
        explained.conflict(&auditor, ConflictId::new(middle)).await.unwrap();
        explained.incident(&auditor, IncidentId::new(middle), None).await.unwrap();
        all.extend(plans.take().into_iter().map(|plan| ("details", plan)));
        explained.saved_views(&auditor, List::Operations).await.unwrap();
        all.extend(plans.take().into_iter().map(|plan| ("views", plan)));
        take_lists(&exporting, &auditor).await;
        all.extend(plans.take().into_iter().map(|plan| ("exports", plan)));
        explained.overview(&auditor, None).await.unwrap();
        explained.fold_outcomes().await.unwrap();
        all.extend(plans.take().into_iter().map(|plan| ("first page", plan)));
    }
    let (read, wrong) = judge(all.iter().map(|(name, plan)| (*name, plan)));
    assert!(
        wrong.is_empty(),
        "{} of {read} plans read too much:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(read > 500, "the database told only {read} plans");
}
