//! The tasks of a process by themselves: each of them runs, and the heads of the audit chains are taken
//! outside when they are due, without anybody asking.

use std::{fs, path::Path, time::Duration};

use chrono::{DateTime, Utc};
use engine::{Engine, identity::Admin};
use server::{background, config::Config};
use testkit::{TestDatabase, eventually, within};
use tokio::{sync::watch, task::JoinHandle};

use crate::support::WEBHOOK_SECRET;

const LIMIT: Duration = Duration::from_secs(60);

/// Every task that a process runs; one that is forgotten in the list of the program is missing here.
const TASKS: [&str; 19] = [
    "advance bulks",
    "advance workflows",
    "anchor audit heads",
    "block workflows without their version",
    "carry out operations",
    "check audit chains",
    "count outcomes",
    "expire bulks that nobody started",
    "expire old operations",
    "expire requests for approval",
    "forget dead processes",
    "publish events",
    "purge told events",
    "reconcile unknown outcomes",
    "release events of lost publishers",
    "remove old tombstones",
    "shrink the inbox",
    "take over expired leases",
    "unwind what is to be undone",
];

/// A process's background, until it is told to stop.
struct Running {
    stop: watch::Sender<bool>,
    work: JoinHandle<()>,
}

impl Running {
    async fn start(config: &Config) -> Self {
        let engine = Engine::connect(config.engine().unwrap()).await.unwrap();
        let (stop, stopped) = watch::channel(false);
        let work = tokio::spawn(background::run(engine, stopped, Duration::from_secs(5)));
        Self { stop, work }
    }

    async fn end(self) {
        self.stop.send_replace(true);
        within("the tasks end", LIMIT, self.work).await.unwrap();
    }
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

async fn told(database: &TestDatabase) -> Vec<String> {
    sqlx::query_scalar("select task from task_status group by task order by task collate \"C\"")
        .fetch_all(database.owner_pool())
        .await
        .unwrap()
}

async fn last_anchoring(database: &TestDatabase) -> DateTime<Utc> {
    sqlx::query_scalar("select max(last_run_at) from task_status where task = 'anchor audit heads'")
        .fetch_one(database.owner_pool())
        .await
        .unwrap()
}

#[tokio::test]
async fn a_process_runs_every_task_and_takes_the_heads_outside_when_they_are_due() {
    let database = TestDatabase::create().await;
    let mut admin = Admin::connect(&database.url()).await.unwrap();
    admin.ensure_tenant("acme", "acme").await.unwrap();
    admin.add_service_token("acme", "billing", &[], None).await.unwrap();
    let path = std::env::temp_dir().join(format!("onceover-{}.heads", database.name()));
    let settings = [
        ("DATABASE_URL", database.url().as_str()),
        ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET),
        ("ONCEOVER_AUDIT_ANCHOR_FILE", path.to_str().unwrap()),
        ("ONCEOVER_AUDIT_ANCHOR_MINUTES", "10"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = Config::read(&settings, None).unwrap();

    let first = Running::start(&config).await;
    eventually("the head is outside", LIMIT, async || lines(&path) == 1).await;
    eventually("every task has run", LIMIT, async || told(&database).await == TASKS).await;
    first.end().await;
    assert_eq!(told(&database).await, TASKS, "and no other");
    assert_eq!(lines(&path), 1, "not at every run");

    let before = last_anchoring(&database).await;
    let second = Running::start(&config).await;
    eventually("it looked again", LIMIT, async || last_anchoring(&database).await > before).await;
    second.end().await;
    assert_eq!(lines(&path), 1, "not due before ten minutes are over, for any process");

    database.advance_clock(Duration::from_secs(601)).await;
    let third = Running::start(&config).await;
    eventually("it is due", LIMIT, async || lines(&path) == 2).await;
    third.end().await;
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(text.lines().all(|line| line.contains(r#""tenant":"acme""#)), "{text}");
}
