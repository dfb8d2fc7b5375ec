//! A million messages, workflows, undos and requests: every list, search and sweep of theirs reads by its
//! index and a bounded number of rows, and what waits is counted up to its bound.

use domain::{
    access::Role,
    approval::ApprovalStatus,
    inbox::InboxState,
    listing::{ApprovalFilter, Cursor, InboxFilter, WorkflowFilter},
    machine::Machine as _,
    workflow::WorkflowState,
};
use engine::{Engine, Settings, background::Queue, workflows::campaign_agent};
use sqlx::Executor as _;
use tracing_subscriber::layer::SubscriberExt as _;
use uuid::Uuid;

use crate::{
    fixture::{Fixture, settings},
    plans::{Plans, judge},
};

/// An id whose time lies `n` milliseconds back: lists read by it.
const ID: &str = "(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n), 12, '0') || '70008000000000000000')::uuid";

async fn plant(fixture: &Fixture) {
    let tenant = fixture.service.tenant_id();
    let statements = [
        format!(
            "insert into inbox (tenant_id, id, consumer, source, message_id, hash, hash_version, status, produced_at,
               window_until, payload, settled_at)
             select '{tenant}', {ID}, 'c-' || n % 50, 's-' || n % 40, 'm-' || n, '\\x{hash}', 1, s.status, now(),
               now() + (n % 1000 - 1) * interval '1 hour', '1',
               case when s.status in ('processed', 'dropped') then now() end
             from generate_series(1, 250000) n, lateral (select case when n % 100 = 0 then 'dead'
               when n % 101 = 0 then 'quarantined' when n % 103 = 0 then 'dropped' else 'processed' end as status) s",
            hash = "00".repeat(32)
        ),
        format!(
            "insert into workflows (tenant_id, id, kind, key, definition_version, input_hash, status, next_at,
               created_by_kind, created_by, completed_at)
             select '{tenant}', {ID}, case when n % 3 = 0 then 'campaign.agent' else 'other' end, 'w-' || n, 1,
               '\\x{hash}', s.status, case when s.status in ('compensating', 'compensation_stuck')
                 or s.status in ('running', 'waiting') and n % 2 = 0 then now() end, 'service', 'x',
               case when s.status in ('completed', 'failed') then now() end
             from generate_series(1, 250000) n, lateral (select case when n % 20 = 0 then 'running'
               when n % 21 = 0 then 'waiting' when n % 100 = 1 then 'blocked' when n % 50 = 3 then 'compensating'
               when n % 101 = 0 then 'compensation_stuck' when n % 30 = 7 then 'failed' else 'completed' end as status) s",
            hash = "00".repeat(32)
        ),
        format!(
            "insert into workflow_steps (tenant_id, workflow_id, step_key, position, status, completed_seq, completed_at)
             select '{tenant}', {ID}, 'a', 1, 'succeeded', 1, now() from generate_series(1, 250000) n"
        ),
        format!(
            "insert into compensations (tenant_id, operation_id, kind, status, undo_id, requested_by_kind, requested_by,
               next_at)
             select '{tenant}', {ID}, 'invoice.refund', s.status, {ID}, 'service', 'x',
               case when s.status in ('requested', 'waiting_forward') then now() end
             from generate_series(1, 250000) n, lateral (select case when n % 100 = 0 then 'requested'
               when n % 50 = 1 then 'waiting_forward' when n % 99 = 0 then 'running' when n % 101 = 0 then 'failed'
               else 'compensated' end as status) s"
        ),
        format!(
            "insert into approvals (tenant_id, id, verb, target_type, target_id, version, decision, binds, seen, reason,
               status, requester_id, requester, expires_at, decided_at)
             select '{tenant}', {ID}, 'confirm', 'operation', 't-' || n, 1, '{{}}', '\\x{hash}', '{{}}', 'why', s.status,
               p.id, p.name, now() + (n % 500 - 5) * interval '1 minute', case when s.status <> 'pending' then now() end
             from generate_series(1, 250000) n
               join (select id, name, row_number() over (order by id) - 1 as k from staff) p on p.k = n % 2,
               lateral (select case when n % 25 < 2 then 'pending' when n % 7 = 0 then 'stale' else 'expired' end as status) s",
            hash = "00".repeat(32)
        ),
    ];
    let mut db = fixture.pool().acquire().await.unwrap();
    db.execute("set statement_timeout = 0").await.unwrap();
    db.execute("set session_replication_role = replica").await.unwrap();
    for sql in statements {
        db.execute(sqlx::AssertSqlSafe(sql)).await.unwrap();
    }
    for table in ["inbox", "workflows", "workflow_steps", "compensations", "approvals"] {
        db.execute(sqlx::AssertSqlSafe(format!("vacuum analyze {table}"))).await.unwrap();
    }
    db.execute("set session_replication_role = origin").await.unwrap();
}

#[tokio::test]
async fn messages_workflows_undos_and_requests_are_read_by_index_at_a_million_rows() {
    let fixture = Fixture::new().await;
    let reader = fixture.person("reader", Role::Viewer).await;
    fixture.person("other", Role::Operator).await;
    plant(&fixture).await;
    Plans::explain_from_now_on(&fixture).await;
    let settings = Settings { workflows: vec![campaign_agent().unwrap()], ..settings(&fixture.db) };
    let explained = Engine::connect(settings).await.unwrap();
    let plans = Plans::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(plans.clone()));
    let mut all = Vec::new();
    let middle = async |table: &str| -> Uuid {
        let sql = format!("select id from {table} order by id offset 100000 limit 1");
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(fixture.pool()).await.unwrap()
    };
    // More than five times each, so that a cached generic plan is looked at too.
    const TIMES: usize = 7;

    let id = middle("inbox").await;
    let cursor = |backwards| Some(Cursor { id, backwards }.encode());
    let base = InboxFilter::default;
    let mut filters = vec![
        base(),
        InboxFilter { cursor: cursor(false), ..base() },
        InboxFilter { cursor: cursor(true), ..base() },
        InboxFilter { consumer: Some("c-7".into()), ..base() },
        InboxFilter { source: Some("s-7".into()), cursor: cursor(false), ..base() },
        InboxFilter { q: Some("m-77777".into()), ..base() },
        InboxFilter { q: Some("m-".into()), ..base() },
        InboxFilter { q: Some(id.to_string()), ..base() },
    ];
    filters
        .extend(InboxState::ALL.iter().map(|state| InboxFilter { status: Some(*state), ..base() }));
    for filter in filters {
        for _ in 0..TIMES {
            explained.list_messages(&reader, &filter).await.unwrap();
        }
        all.extend(plans.take().into_iter().map(|plan| (format!("messages {filter:?}"), plan)));
    }

    let id = middle("workflows").await;
    let cursor = |backwards| Some(Cursor { id, backwards }.encode());
    let base = WorkflowFilter::default;
    let mut filters = vec![
        base(),
        WorkflowFilter { cursor: cursor(false), ..base() },
        WorkflowFilter { cursor: cursor(true), ..base() },
        WorkflowFilter { kind: Some("campaign.agent".into()), cursor: cursor(false), ..base() },
        WorkflowFilter { q: Some("w-77777".into()), ..base() },
        WorkflowFilter { q: Some("w-".into()), ..base() },
        WorkflowFilter { q: Some(id.to_string()), ..base() },
    ];
    filters.extend(
        WorkflowState::ALL.iter().map(|state| WorkflowFilter { status: Some(*state), ..base() }),
    );
    for filter in filters {
        for _ in 0..TIMES {
            explained.list_workflows(&reader, &filter).await.unwrap();
        }
        all.extend(plans.take().into_iter().map(|plan| (format!("workflows {filter:?}"), plan)));
    }

    let id = middle("approvals").await;
    let cursor = |backwards| Some(Cursor { id, backwards }.encode());
    let base = ApprovalFilter::default;
    let mut filters = Vec::new();
    for (mine, others) in [(false, false), (true, false), (false, true)] {
        for decided in [false, true] {
            for cursor in [None, cursor(false), cursor(true)] {
                filters.push(ApprovalFilter { mine, others, decided, cursor, ..base() });
            }
        }
        for status in ApprovalStatus::ALL {
            filters.push(ApprovalFilter { status: Some(*status), mine, others, ..base() });
        }
    }
    for filter in filters {
        for _ in 0..TIMES {
            // What was planted is no decision: a page with rows cannot be read back as one.
            let _ = explained.list_approvals(&reader, &filter).await;
        }
        all.extend(plans.take().into_iter().map(|plan| (format!("requests {filter:?}"), plan)));
    }

    for _ in 0..TIMES {
        explained.shrink_inbox().await.unwrap();
        explained.expire_approvals().await.unwrap();
        explained.expire_bulks().await.unwrap();
        explained.block_unserved_workflows().await.unwrap();
        for queue in [
            // Those of operations and events have few rows here: a scan of those is the best plan.
            Queue::Undoing,
            Queue::Workflows,
            Queue::LapsedEvents,
            Queue::Inbox,
            Queue::Requests,
            Queue::Bulks,
        ] {
            explained.backlog(queue).await.unwrap();
        }
    }
    all.extend(plans.take().into_iter().map(|plan| ("sweeps and queues".to_owned(), plan)));
    // Turns of what was planted come to nothing; how they are found is what counts here.
    for _ in 0..TIMES {
        let _ = explained.advance_workflows().await;
        let _ = explained.unwind_due().await;
    }
    all.extend(plans.take().into_iter().map(|plan| ("turns".to_owned(), plan)));
    let (read, wrong) = judge(all.iter().map(|(name, plan)| (name.as_str(), plan)));
    assert!(
        wrong.is_empty(),
        "{} of {read} plans read too much:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(read > 500, "the database told only {read} plans");
}
