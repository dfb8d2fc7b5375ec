//! How long a call of a dead worker waits (R07): a worker process is killed in the middle of calls,
//! at a random moment between two beats; the time runs from the kill until another moves the
//! operation on to `unknown` (O11), in leases. Both instants are the database's.

use std::{collections::HashMap, process::Stdio, time::Duration};

use chrono::{DateTime, Utc};
use engine::{Engine, background::LAPSED_EVERY};
use rand::RngExt as _;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::TcpListener,
    process::{Child, Command},
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use uuid::Uuid;

use crate::{
    bench::{Bench, Database},
    fault::{Fault, trying},
    hold,
    line::{Budget, Line, number},
    stats::{median, percentile, spread},
    tenant::{Tenant, charge},
};

/// Calls that one worker holds.
const CALLS: usize = 5;
/// Workers that live at the same time.
const AT_ONCE: usize = 5;
const LIMIT: Duration = Duration::from_secs(30);

/// When each held operation lost its worker.
type Killed = HashMap<Uuid, DateTime<Utc>>;

/// Measures.
pub async fn measure(bench: &Bench) -> Result<Vec<Line>, Fault> {
    let (workers, lease_ms) = bench.by_form((20, 5_000), (60, 10_000));
    let database = bench.database("rescue").await?;
    let mut policy = charge();
    policy.lease_ms = lease_ms;
    policy.call_deadline_ms = lease_ms * 8 / 10;
    let tenant = Tenant::open(&database, policy).await?;
    let engine = tenant.engine(4).await?;
    for _ in 0..workers * CALLS {
        tenant.queue(&engine).await?;
    }
    let provider = silent_provider().await?;
    let (stop, stopped) = watch::channel(false);
    let rescuer = tokio::spawn(keep_rescuing(engine, stopped));
    let mut killed = Killed::new();
    for wave in 0..workers / AT_ONCE {
        let mut lives = JoinSet::new();
        for n in 0..AT_ONCE {
            let (url, pool) = (database.url.clone(), database.owner.clone());
            let (provider, name) = (provider.clone(), format!("w-{wave}-{n}"));
            lives.spawn(async move { victim(&url, &pool, &provider, &name, lease_ms).await });
        }
        while let Some(ended) = lives.join_next().await {
            killed
                .extend(ended.map_err(|error| Fault::Said(format!("a scene panicked: {error}")))??);
        }
    }
    let waited = rescued(&database, &killed, lease_ms).await?;
    stop.send_replace(true);
    rescuer.await.map_err(|error| Fault::Said(format!("the rescuer panicked: {error}")))??;
    let (_, longest) = spread(&waited);
    let figure = format!(
        "rescue after SIGKILL, {workers} workers with {} calls, lease {} s",
        waited.len(),
        lease_ms / 1_000
    );
    let beside = format!("leases at most (p99 {})", number(percentile(&waited, 99)));
    let mut line = Line::alone("R07", figure, "leases", waited.clone(), longest, beside)
        .within(Budget::at_most(2.0, "leases"));
    line.value = format!(
        "median {} leases, p99 {}",
        number(median(&waited)),
        number(percentile(&waited, 99))
    );
    Ok(vec![line])
}

/// Looks for lapsed calls as often as the program does.
async fn keep_rescuing(engine: Engine, mut stop: watch::Receiver<bool>) -> Result<(), Fault> {
    while !*stop.borrow() {
        if engine.take_over_expired().await?.handled == 0 {
            let _ = timeout(LAPSED_EVERY, stop.wait_for(|stop| *stop)).await;
        }
    }
    Ok(())
}

/// One worker: begins its calls, and is killed.
async fn victim(
    url: &str,
    pool: &sqlx::PgPool,
    provider: &str,
    name: &str,
    lease_ms: i64,
) -> Result<Killed, Fault> {
    let mut child = start(url, provider, name)?;
    let told = timeout(LIMIT, ready(&mut child)).await;
    if !matches!(told, Ok(true)) {
        return Err(Fault::Said(format!("the worker {name} did not begin its calls")));
    }
    let begun = Instant::now();
    while held(pool, name).await?.len() < CALLS {
        if begun.elapsed() > LIMIT {
            return Err(Fault::Said(format!("the calls of the worker {name} did not begin")));
        }
        sleep(Duration::from_millis(10)).await;
    }
    // Anywhere between two beats, and before the call's own deadline.
    let within = u64::try_from(lease_ms / 2).unwrap_or_default();
    let pause = Duration::from_millis(rand::rng().random_range(0..within));
    sleep(pause).await;
    let operations = held(pool, name).await?;
    let at: DateTime<Utc> = sqlx::query_scalar("select clock_timestamp()").fetch_one(pool).await?;
    child.kill().await.map_err(trying("kill a worker"))?;
    Ok(operations.into_iter().map(|id| (id, at)).collect())
}

fn start(url: &str, provider: &str, name: &str) -> Result<Child, Fault> {
    let program = std::env::current_exe().map_err(trying("find this program"))?;
    Command::new(program)
        .args(["--hold", &CALLS.to_string(), "--provider", provider, "--name", name])
        .env(hold::DATABASE, url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(trying("start a worker"))
}

async fn ready(child: &mut Child) -> bool {
    let Some(output) = child.stdout.take() else { return false };
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line == hold::READY {
            return true;
        }
    }
    false
}

/// Which calls a worker is in.
async fn held(pool: &sqlx::PgPool, name: &str) -> Result<Vec<Uuid>, Fault> {
    let held = sqlx::query_scalar(
        "select l.operation_id from leases l
         join operations o on o.tenant_id = l.tenant_id and o.id = l.operation_id
         where l.owner = $1 and o.status = 'executing'",
    )
    .bind(name)
    .fetch_all(pool)
    .await?;
    Ok(held)
}

/// How long each waited, in leases, once all are moved on.
async fn rescued(database: &Database, killed: &Killed, lease_ms: i64) -> Result<Vec<f64>, Fault> {
    let begun = Instant::now();
    loop {
        let moved: Vec<(Uuid, DateTime<Utc>)> =
            sqlx::query_as("select operation_id, at from operation_events where move = 'O11'")
                .fetch_all(&database.owner)
                .await?;
        let waited: Vec<f64> = moved
            .iter()
            .filter_map(|(id, at)| Some((*at - *killed.get(id)?).num_milliseconds() as f64))
            .map(|ms| ms / lease_ms as f64)
            .collect();
        if waited.len() == killed.len() {
            return Ok(waited);
        }
        if begun.elapsed() > LIMIT {
            let (left, all) = (killed.len() - waited.len(), killed.len());
            return Err(Fault::Said(format!("{left} of {all} calls were never moved on")));
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// A provider that takes every call and answers none.
async fn silent_provider() -> Result<String, Fault> {
    let listener =
        TcpListener::bind(("127.0.0.1", 0)).await.map_err(trying("listen on the loopback"))?;
    let address = listener.local_addr().map_err(trying("listen on the loopback"))?;
    tokio::spawn(async move {
        let mut calls = Vec::new();
        while let Ok((call, _)) = listener.accept().await {
            calls.push(call);
        }
    });
    Ok(format!("http://{address}/charges"))
}
