//! What PostgreSQL itself can do: the same rows, written bare.

pub mod publish;

use std::{path::PathBuf, time::Duration};

use domain::ids::TenantId;
use tokio::process::Command;
use url::Url;

use crate::{
    bench::Database,
    fault::{Fault, trying},
};

const SCHEMA: &str = include_str!("schema.sql");
const LIFE: &str = include_str!("life.sql");

/// What pgbench measured.
#[derive(Clone, Copy, Debug)]
pub struct Pgbench {
    /// Lives per second.
    pub per_second: f64,
    /// What one took on average, in milliseconds.
    pub average_ms: f64,
}

/// Makes the bare tables.
pub async fn lay(database: &Database) -> Result<(), Fault> {
    sqlx::raw_sql(SCHEMA).execute(&database.owner).await?;
    Ok(())
}

/// Lives written by pgbench, with so many connections.
pub async fn lives(
    database: &Database,
    tenant: TenantId,
    callers: usize,
    time: Duration,
) -> Result<Pgbench, Fault> {
    let script = Script::write()?;
    let output = Command::new("pgbench")
        .envs(environment(&database.url)?)
        .args(["--no-vacuum", "--protocol=prepared", "--jobs=1"])
        .arg(format!("--client={callers}"))
        .arg(format!("--time={}", time.as_secs()))
        .arg(format!("--define=tenant={tenant}"))
        .arg("--file")
        .arg(&script.path)
        .output()
        .await
        .map_err(trying("run pgbench, which comes with PostgreSQL's server; is it in PATH"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let told = (number_after(&said, "tps = "), number_after(&said, "latency average = "));
    match told {
        (Some(per_second), Some(average_ms)) if output.status.success() => {
            Ok(Pgbench { per_second, average_ms })
        }
        _ => Err(Fault::Said(format!(
            "pgbench failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

/// The script in a file of its own, removed with this value.
struct Script {
    path: PathBuf,
}

impl Script {
    fn write() -> Result<Self, Fault> {
        let name = format!("onceover-life-{}.sql", hex::encode(rand::random::<[u8; 6]>()));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, LIFE).map_err(trying("write pgbench's script"))?;
        Ok(Self { path })
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Where libpq connects: by the environment, for a password in the arguments is everybody's.
fn environment(url: &str) -> Result<Vec<(&'static str, String)>, Fault> {
    let url = Url::parse(url).map_err(|error| Fault::Said(format!("no address: {error}")))?;
    let mut all = vec![("PGDATABASE", url.path().trim_start_matches('/').to_owned())];
    if let Some(host) = url.host_str() {
        all.push(("PGHOST", host.to_owned()));
    }
    if let Some(port) = url.port() {
        all.push(("PGPORT", port.to_string()));
    }
    for (name, text) in [("PGUSER", url.username()), ("PGPASSWORD", url.password().unwrap_or(""))] {
        if !text.is_empty() {
            all.push((name, decoded(text)));
        }
    }
    for (name, value) in url.query_pairs() {
        let known = match &*name {
            "host" => "PGHOST",
            "port" => "PGPORT",
            "user" => "PGUSER",
            "password" => "PGPASSWORD",
            "sslmode" => "PGSSLMODE",
            _ => continue,
        };
        all.push((known, value.into_owned()));
    }
    Ok(all)
}

/// `%40` and the like.
fn decoded(text: &str) -> String {
    let escaped = text.replace('+', "%2B");
    url::form_urlencoded::parse(escaped.as_bytes())
        .next()
        .map(|(name, _)| name.into_owned())
        .unwrap_or_default()
}

fn number_after(text: &str, mark: &str) -> Option<f64> {
    text.split_once(mark)?.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pgbenchs_words_are_understood() {
        let said = "number of clients: 8\nlatency average = 1.843 ms\ninitial connection time = 9 ms\n\
                    tps = 4341.127 (without initial connection time)\n";
        assert_eq!(number_after(said, "tps = "), Some(4341.127));
        assert_eq!(number_after(said, "latency average = "), Some(1.843));
        assert_eq!(number_after("ERROR: no", "tps = "), None);
    }

    #[test]
    fn an_address_becomes_what_libpq_reads() {
        let known = environment("postgres://u:p%40%2B+@127.0.0.1:5433/db?host=%2Frun%2Fpg").ok();
        let value = |name: &str| {
            let all = known.iter().flatten().rev();
            all.clone().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
        };
        assert_eq!(value("PGPASSWORD").as_deref(), Some("p@++"));
        assert_eq!(value("PGHOST").as_deref(), Some("/run/pg"), "the last one set wins");
        assert_eq!(value("PGPORT").as_deref(), Some("5433"));
        assert_eq!(value("PGDATABASE").as_deref(), Some("db"));
    }
}
