//! The health of what works for people, condensed for the first page.

use std::collections::BTreeMap;

use domain::view::{BreakerView, HealthView, TaskHealth, TaskView};
use sqlx::PgConnection;

use crate::{
    StaffCaller,
    error::EngineError,
    settings::Destination,
    store::{breaker, health, task_status, worker},
};

/// Events that are counted, and records that are looked through for what providers leave open.
const MAX_COUNTED: i64 = 1_000;

/// Reads it for one tenant. Processes, tasks, destinations and the database belong to none; the events
/// that wait, and what providers leave open, are the tenant's own. A destination that takes another
/// tenant's events alone is not told: its name says whose it is (T19).
pub(super) async fn read(
    db: &mut PgConnection,
    by: &StaffCaller,
    destinations: &[Destination],
) -> Result<HealthView, EngineError> {
    let tenant = by.tenant_id();
    let of_another = |name: &str| {
        let known = destinations.iter().find(|destination| destination.name == name);
        let only = known.and_then(|destination| destination.tenant.as_deref());
        only.is_some_and(|slug| slug != by.tenant_slug())
    };
    let workers = worker::all(db).await?;
    let tasks = task_status::all(db).await?;
    let publisher = health::publisher(db, tenant, MAX_COUNTED).await?;
    let breakers = breaker::not_closed(db).await?;
    let providers = health::providers(db, tenant, MAX_COUNTED).await?;
    let (oldest_transaction, sessions_hidden) = health::oldest_transaction(db).await?;
    let count = |found: usize| i64::try_from(found).unwrap_or(i64::MAX);
    let alive = workers.iter().filter(|worker| worker.alive);
    let lost = workers.iter().filter(|worker| !worker.alive && worker.stopped_at.is_none());
    Ok(HealthView {
        workers_alive: count(alive.clone().count()),
        workers_draining: count(alive.filter(|worker| worker.draining).count()),
        workers_lost: count(lost.count()),
        seen_at: workers.iter().map(|worker| worker.seen_at).max(),
        tasks: condensed(tasks),
        publisher,
        breakers: breakers
            .into_iter()
            .filter(|open| !of_another(&open.destination))
            .map(|open| BreakerView {
                destination: open.destination,
                opened_at: open.opened_at,
                failures: open.failures,
                probe_in_ms: open.probe_in_ms,
                last_error: open.last_error,
            })
            .collect(),
        providers,
        oldest_transaction,
        sessions_hidden,
    })
}

/// One row per task: the latest report, and in how many processes it fails.
fn condensed(reports: Vec<TaskView>) -> Vec<TaskHealth> {
    let mut tasks: BTreeMap<String, TaskHealth> = BTreeMap::new();
    for report in reports {
        let task = tasks.entry(report.task.clone()).or_insert_with(|| TaskHealth {
            task: report.task.clone(),
            last_run_at: report.last_run_at,
            backlog: report.backlog,
            backlog_is_more: report.backlog_is_more,
            oldest_at: report.oldest_at,
            failing: 0,
            last_error: None,
        });
        if report.last_run_at > task.last_run_at {
            task.last_run_at = report.last_run_at;
            task.backlog = report.backlog;
            task.backlog_is_more = report.backlog_is_more;
            task.oldest_at = report.oldest_at;
        }
        if report.failures > 0 {
            task.failing += 1;
            task.last_error = task.last_error.take().or(report.last_error);
        }
    }
    tasks.into_values().collect()
}
