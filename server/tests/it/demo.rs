//! The demo as a person starts it: the real program on a database of its own. Every state that
//! somebody may meet is there when it says that it is ready, and a second start adds nothing.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use sandbox::client::{ConsumerControl, ProviderControl};
use serde_json::Value;
use testkit::{TestDatabase, eventually};

use crate::faults::processes::Process;

/// How long what happens by itself may take.
const LIMIT: Duration = Duration::from_secs(30);

/// What must be there, and how it is counted.
const SIGHTS: &[(&str, &str)] = &[
    ("a running workflow", "select count(*) from workflows where status = 'running'"),
    (
        "a workflow that waits for an unknown outcome",
        "select count(*) from workflows w join workflow_steps s on s.workflow_id = w.id
         where w.status = 'waiting' and s.status = 'blocked_unknown'",
    ),
    (
        "a workflow blocked by drift, not by a missing version",
        "select count(*) from workflows where status = 'blocked' and kind = 'letter.stamped'",
    ),
    (
        "a workflow that is undone and waits for the truth about a step",
        "select count(*) from workflows w join workflow_steps s on s.workflow_id = w.id
         where w.status = 'compensating' and s.status = 'blocked_unknown'",
    ),
    (
        "a stuck undo, its charge still done",
        "select count(*) from workflows w join workflow_steps s on s.workflow_id = w.id
         join compensations c on c.operation_id = s.operation_id
         where w.status = 'compensation_stuck' and s.status = 'succeeded' and c.status = 'failed'",
    ),
    ("a completed workflow", "select count(*) from workflows where status = 'completed'"),
    ("a compensated workflow", "select count(*) from workflows where status = 'compensated'"),
    ("a partly undone one", "select count(*) from workflows where status = 'closed_partial'"),
    ("a failed workflow", "select count(*) from workflows where status = 'failed'"),
    (
        "a workflow of another tenant",
        "select count(*) from workflows w
         join tenants t on t.id = w.tenant_id where t.slug = 'globex' and w.status = 'completed'",
    ),
    (
        "a dead event that blocks its aggregate, and one that waits behind it",
        "select count(*) from outbox d
         join aggregates a on a.tenant_id = d.tenant_id and a.aggregate = d.aggregate and a.blocked
         join outbox p on p.tenant_id = d.tenant_id and p.aggregate = d.aggregate
           and p.seq = d.seq + 1
         where d.status = 'dead' and p.status = 'pending'",
    ),
    ("published events", "select count(*) from outbox where status = 'published'"),
    (
        "a processed message that came twice",
        "select count(*) from inbox
         where status = 'processed' and deliveries = 2 and operation_id is not null",
    ),
    ("a quarantined message", "select count(*) from inbox where status = 'quarantined'"),
    ("a dead message", "select count(*) from inbox where status = 'dead'"),
    (
        "an operator's requests that somebody else may decide",
        "select count(*) from approvals where status = 'pending'",
    ),
    ("an open incident", "select count(*) from incidents where closed_at is null"),
    ("a correction", "select count(*) from corrections where not happened"),
    (
        "an unknown outcome that a person must decide",
        "select count(*) from operations where status = 'unknown' and key = 'charge:INV-2026-0042'",
    ),
];

/// What a second start must leave as it is, row by row.
const KEPT: &[&str] = &[
    "select operation || ' ' || key from operations where operation not like 'console.%' order by 1",
    "select operation || ' ' || key from operations where operation like 'console.%' order by 1",
    "select key || ' ' || status || ' ' || version from workflows order by 1",
    "select message_id || ' ' || status || ' ' || deliveries from inbox order by 1",
    "select id || ' ' || status from approvals order by 1",
    "select id::text from corrections order by 1",
    "select id || ' ' || status || ' ' || n from compensations order by 1",
    "select id || ' ' || aggregate from outbox where status in ('dead', 'pending')
       and aggregate like 'invoice:%' order by 1",
];

struct Demo<'a> {
    database: &'a TestDatabase,
    folder: &'a Path,
}

impl Demo<'_> {
    /// Starts it and waits until it says that it is ready.
    async fn start(&self) -> Process {
        let url = self.database.url();
        let data = self.folder.to_str().unwrap().to_owned();
        let start = move || {
            let environment = [
                ("DATABASE_URL", url.as_str()),
                ("ONCEOVER_DATA", &data),
                ("ONCEOVER_ADDR", "127.0.0.1:0"),
                ("ONCEOVER_DEMO_TRAFFIC", "false"),
                ("ONCEOVER_ENGINE_CONNECTIONS", "6"),
                ("ONCEOVER_CONSOLE_CONNECTIONS", "4"),
            ];
            Process::start(&["demo"], &environment, "ready: ").0
        };
        tokio::task::spawn_blocking(start).await.unwrap()
    }

    async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(self.database.owner_pool()).await.unwrap()
    }

    async fn kept(&self) -> Vec<Vec<String>> {
        let mut kept = Vec::new();
        for sql in KEPT {
            kept.push(
                sqlx::query_scalar(*sql).fetch_all(self.database.owner_pool()).await.unwrap(),
            );
        }
        kept
    }

    fn file(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.folder.join(name)).unwrap()).unwrap()
    }
}

/// The demo's data, gone after the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn stop(process: Process) {
    let code = tokio::task::spawn_blocking(|| process.stop()).await.unwrap();
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn the_demo_shows_every_state_from_the_first_page_and_tells_its_story_once() {
    let database = TestDatabase::create().await;
    let name = format!("onceover-demo-{}", hex::encode(rand::random::<[u8; 6]>()));
    let folder = Folder(std::env::temp_dir().join(name));
    std::fs::create_dir_all(&folder.0).unwrap();
    let demo = Demo { database: &database, folder: &folder.0 };

    let process = demo.start().await;
    for (sight, sql) in SIGHTS {
        eventually(sight, LIMIT, async || demo.count(sql).await > 0).await;
    }
    let told = demo.file("demo.json");
    let providers = ProviderControl::new(told["sandbox_url"].as_str().unwrap()).unwrap();
    // One charge for each invoice, whatever went wrong with it (I1).
    let charges = providers.ledger(&[("kind", "charge")]).await.unwrap();
    let mut invoices: Vec<_> = charges.iter().map(|line| line["invoice_id"].to_string()).collect();
    invoices.sort();
    let counted = invoices.len();
    invoices.dedup();
    assert_eq!(invoices.len(), counted, "{invoices:?}");
    // The events went out signed, and what was refused was not taken.
    let consumer = providers.consumer_url().await.unwrap().unwrap();
    let consumer = ConsumerControl::new(&consumer).unwrap();
    assert!(!consumer.ledger(&[]).await.unwrap().is_empty());
    let refused = consumer.ledger(&[("aggregate", "invoice:INV-2026-0056")]).await.unwrap();
    assert_eq!(refused.len(), 0, "{refused:?}");
    // What the story's retries do by themselves is over once the busy provider took its charge.
    eventually("what is tried again is done", LIMIT, async || {
        demo.count(
            "select count(*) from operations where status in ('reserved', 'failed_retryable')
             and operation <> 'draft.preview'",
        )
        .await
            == 0
    })
    .await;
    let kept = demo.kept().await;
    stop(process).await;

    // The next start does not even know that the story was told to its end.
    let mut secrets = demo.file("secrets.json");
    secrets["story_edition"] = 0.into();
    std::fs::write(folder.0.join("secrets.json"), secrets.to_string()).unwrap();
    let process = demo.start().await;
    assert_eq!(demo.kept().await, kept, "told again, it added something");
    assert!(demo.file("secrets.json")["story_edition"].as_u64() > Some(0));
    stop(process).await;
}
