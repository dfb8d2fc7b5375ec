//! `doctor`: what would go wrong, asked before it does; a sentence per fault.

use std::time::Duration;

use engine::{Engine, EngineError, Settings};
use sqlx::{Connection as _, Row as _, postgres::PgConnection};
use tokio::{net::TcpStream, time::timeout};
use url::Url;

use super::Failure;
use crate::{config::Config, refusal::chain};

/// The oldest PostgreSQL that is supported, as the server numbers itself.
const OLDEST: i32 = 150_000;
const PATIENCE: Duration = Duration::from_secs(5);

/// `onceover doctor`. The configuration has been read by then, so its faults have been told.
///
/// # Errors
/// [`Failure`] with every fault found.
pub async fn run(config: &Config) -> Result<(), Failure> {
    let mut faults = Vec::new();
    match config.database() {
        Err(error) => faults.push(error.to_string()),
        Ok(url) => match timeout(PATIENCE, database(url.expose())).await {
            Ok(Ok(found)) => faults.extend(found),
            Ok(Err(error)) => {
                faults.push(format!("the database cannot be asked: {}", chain(&error)))
            }
            Err(_) => faults.push("the database does not answer within 5 seconds".into()),
        },
    }
    match config.engine() {
        Err(error) if faults.is_empty() => faults.push(error.to_string()),
        Ok(settings) if faults.is_empty() => {
            if let Err(error) = Engine::check_migrated(&settings.database_url).await {
                faults.push(format!(
                    "the schema is not this build's; has `onceover migrate` run? {}",
                    chain(&error)
                ));
            } else {
                match connects(settings).await {
                    // Nothing is wrong with them: they wait for a destination to be named.
                    Ok(unrouted) if !unrouted.is_empty() => println!(
                        "events wait that no destination takes (ONCEOVER_DESTINATION_TOPICS): {}",
                        unrouted.join(", ")
                    ),
                    Ok(_) => {}
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
    }
    for destination in &config.destinations {
        if let Err(fault) = reachable(&destination.url).await {
            faults.push(format!("the destination {} {fault}", destination.name));
        }
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

/// Topics of events that no destination takes, once both pools have answered.
async fn connects(settings: Settings) -> Result<Vec<String>, EngineError> {
    let engine = Engine::connect(settings).await?;
    engine.ping().await?;
    engine.unrouted_topics().await
}

async fn database(url: &str) -> Result<Vec<String>, sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    let row = sqlx::query(
        "select current_setting('server_version_num')::int as version,
           current_setting('server_version') as version_text,
           current_setting('fsync') as fsync,
           current_setting('synchronous_commit') as synchronous_commit,
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
    if row.try_get::<String, _>("fsync")? != "on" {
        faults.push("the database runs with fsync off: what it acknowledged can be lost".into());
    }
    if row.try_get::<String, _>("synchronous_commit")? == "off" {
        faults.push(
            "the database runs with synchronous_commit off: what it acknowledged can be lost"
                .into(),
        );
    }
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

/// Whether something listens at a URL; nothing is sent, for a request could be an effect.
async fn reachable(url: &str) -> Result<(), String> {
    let url = Url::parse(url).map_err(|_| "has no address".to_owned())?;
    let host =
        url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
    let port =
        url.port_or_known_default().unwrap_or(if url.scheme() == "nats" { 4222 } else { 443 });
    match timeout(PATIENCE, TcpStream::connect((host.as_str(), port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(format!("does not answer at {host}:{port}: {error}")),
        Err(_) => Err(format!("does not answer at {host}:{port} within 5 seconds")),
    }
}
