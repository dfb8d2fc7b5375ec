//! `doctor`: what would go wrong, asked before it does; a sentence per fault.

mod certificate;

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use domain::view::{BackgroundView, TaskView};
use engine::{Engine, EngineError, Settings, background::UnreachedKind};
use sqlx::{Connection as _, Row as _, postgres::PgConnection};
use tokio::{io::AsyncReadExt as _, net::TcpStream, time::timeout};
use url::Url;

use super::{Failure, durable};
use crate::{
    auth::oidc::Oidc,
    config::{Config, OidcSettings},
    refusal::chain,
};

/// The oldest PostgreSQL that is supported, as the server numbers itself.
const OLDEST: i32 = 150_000;
const PATIENCE: Duration = Duration::from_secs(5);

/// `onceover doctor`. The configuration has been read by then, so its faults have been told.
///
/// # Errors
/// [`Failure`] with every fault found.
pub async fn run(config: &Config) -> Result<(), Failure> {
    let mut faults = Vec::new();
    match certificate::look(config) {
        Some(Ok(sentence)) => println!("{sentence}"),
        Some(Err(fault)) => faults.push(fault),
        None => {}
    }
    let found = match config.database() {
        Err(error) => vec![error.to_string()],
        Ok(url) => match timeout(PATIENCE, database(url.expose())).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => vec![format!("the database cannot be asked: {}", chain(&error))],
            Err(_) => vec!["the database does not answer within 5 seconds".to_owned()],
        },
    };
    let asked = found.is_empty();
    faults.extend(found);
    match config.engine() {
        Err(error) if asked => faults.push(error.to_string()),
        Ok(settings) if asked => {
            if let Err(error) = Engine::check_migrated(&settings.database_url).await {
                faults.push(format!(
                    "the schema is not this build's; has `onceover migrate` run? {}",
                    chain(&error)
                ));
            } else {
                match connected(settings).await {
                    Ok((view, unrouted, unreached)) => {
                        print!("{}", told(&view));
                        print!("{}", waiting(&view, &unreached));
                        // Nothing is wrong with them: they wait for a destination to be named.
                        if !unrouted.is_empty() {
                            println!(
                                "events wait that no destination takes (ONCEOVER_DESTINATION_TOPICS): {}",
                                unrouted.join(", ")
                            );
                        }
                    }
                    Err(error) => {
                        faults.push(format!("the engine does not connect: {}", chain(&error)));
                    }
                }
            }
        }
        _ => {}
    }
    for provider in &config.providers {
        if let Err(fault) = reachable(&provider.url).await {
            faults.push(format!("the provider {} {fault}", provider.name));
        }
        if let Some(lookup) = &provider.lookup_url
            && let Err(fault) = reachable(lookup).await
        {
            faults.push(format!("the lookup of the provider {} {fault}", provider.name));
        }
    }
    for destination in &config.destinations {
        if let Err(fault) = reachable(&destination.url).await {
            faults.push(format!("the destination {} {fault}", destination.name));
        }
    }
    if let Some(settings) = &config.oidc
        && let Err(fault) = look(settings, config).await
    {
        faults.push(format!("the identity provider {}: {fault}", settings.issuer));
    }
    if faults.is_empty() {
        println!(
            "no fault found: configuration, database, {} providers and {} destinations",
            config.providers.len(),
            config.destinations.len()
        );
        Ok(())
    } else {
        Err(Failure::all(faults))
    }
}

/// What the background says, and topics of events that no destination takes, once both pools have
/// answered.
async fn connected(
    settings: Settings,
) -> Result<(BackgroundView, Vec<String>, Vec<UnreachedKind>), EngineError> {
    let engine = Engine::connect(settings).await?;
    engine.ping().await?;
    let unreached = engine.unreached_kinds().await?;
    Ok((engine.background_status().await?, engine.unrouted_topics().await?, unreached))
}

/// What the background last said of itself: processes, and the latest report on each task.
fn told(view: &BackgroundView) -> String {
    let mut text = String::new();
    let since = |at: chrono::DateTime<chrono::Utc>| {
        format!("{} s ago", (view.as_of - at).num_seconds().max(0))
    };
    if view.workers.is_empty() {
        text.push_str("no process does background work\n");
    }
    for worker in &view.workers {
        let state = match (worker.stopped_at, worker.alive, worker.draining) {
            (Some(at), ..) => format!("stopped {}", since(at)),
            (None, false, _) => format!("not heard of since {}", since(worker.seen_at)),
            (None, true, true) => format!("stopping, {} calls under way", worker.busy),
            (None, true, false) => format!("at work, {} calls under way", worker.busy),
        };
        let _ = writeln!(text, "process {} ({}): {state}", worker.name, worker.program_version);
    }
    let mut latest: BTreeMap<&str, &TaskView> = BTreeMap::new();
    for task in &view.tasks {
        let known = latest.entry(&task.task).or_insert(task);
        if task.last_run_at > known.last_run_at {
            *known = task;
        }
    }
    for task in latest.values() {
        let _ = write!(
            text,
            "task {}: ran {} for {} ms, {} rows",
            task.task,
            since(task.last_run_at),
            task.took_ms,
            task.handled
        );
        if let Some(waiting) = task.backlog {
            let more = if task.backlog_is_more { "more than " } else { "" };
            let _ = write!(text, ", {more}{waiting} wait");
        }
        if let Some(at) = task.oldest_at {
            let _ = write!(text, ", the oldest since {}", since(at));
        }
        if let Some(error) = &task.last_error {
            let _ = write!(text, "; failed {} times in a row: {error}", task.failures);
        }
        text.push('\n');
    }
    text
}

/// Kinds that nobody carries out: queued operations of them wait, and so do questions about unknown
/// ones. No fault of this process: another may be about to start.
fn waiting(view: &BackgroundView, unreached: &[UnreachedKind]) -> String {
    let mut text = String::new();
    // That no process is at work has been told already.
    if view.workers.iter().any(|worker| worker.alive) {
        for kind in unreached {
            let _ = writeln!(
                text,
                "warning: no process at work reaches the provider {} of the kind {} ({}): what is queued of it \
                 waits",
                kind.provider, kind.kind, kind.tenant
            );
        }
    }
    text
}

async fn database(url: &str) -> Result<Vec<String>, EngineError> {
    // What stands before the database comes first: behind a pooler nothing else can be believed.
    if let Err(error) = Engine::check_direct(url).await {
        return match error {
            EngineError::Pooled(_) => Ok(vec![error.to_string()]),
            error => Err(error),
        };
    }
    let mut connection = PgConnection::connect(url).await?;
    let row = sqlx::query(
        "select current_setting('server_version_num')::int as version,
           current_setting('server_version') as version_text,
           coalesce((select pg_has_role(oid, 'member') from pg_roles where rolname = 'onceover_app'), false) as app,
           coalesce((select pg_has_role(oid, 'member') from pg_roles where rolname = 'onceover_engine'), false) as engine",
    )
    .fetch_one(&mut connection)
    .await?;
    let mut faults = Vec::new();
    if row.try_get::<i32, _>("version")? < OLDEST {
        let version: String = row.try_get("version_text")?;
        faults.push(format!("PostgreSQL is {version}; 15 or later is needed"));
    }
    faults.extend(durable::losses(&mut connection).await?);
    for role in ["app", "engine"] {
        if !row.try_get::<bool, _>(role)? {
            faults.push(format!(
                "the user of DATABASE_URL is no member of the role onceover_{role}; has `onceover migrate` run?"
            ));
        }
    }
    connection.close().await?;
    Ok(faults)
}

/// Whether the identity provider describes itself, with keys that can be used.
async fn look(settings: &OidcSettings, config: &Config) -> Result<(), String> {
    Oidc::new(settings.clone(), &config.public_url(config.addr))?.look().await
}

/// Whether something listens at a URL; nothing is sent, for a request could be an effect. A mail
/// server speaks first, so it is heard out.
async fn reachable(url: &str) -> Result<(), String> {
    let url = Url::parse(url).map_err(|_| "has no address".to_owned())?;
    let host =
        url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
    let usual = match url.scheme() {
        "nats" => 4222,
        "smtp" => 25,
        "smtps" => 465,
        _ => url.port_or_known_default().unwrap_or(443),
    };
    let port = url.port().unwrap_or(usual);
    let asked = async {
        let mut stream = TcpStream::connect((host.as_str(), port)).await?;
        let mut greeting = [0; 4];
        if url.scheme() == "smtp" {
            stream.read_exact(&mut greeting).await?;
        }
        Ok::<_, std::io::Error>(url.scheme() != "smtp" || greeting.starts_with(b"220"))
    };
    match timeout(PATIENCE, asked).await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err(format!("takes no mail at {host}:{port}")),
        Ok(Err(error)) => Err(format!("does not answer at {host}:{port}: {error}")),
        Err(_) => Err(format!("does not answer at {host}:{port} within 5 seconds")),
    }
}
