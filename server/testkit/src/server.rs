//! The server that tests use, and the names of what may be made on it.

use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use url::Url;

/// What every database of the tests is called, so that nothing else is ever dropped.
pub(crate) const PREFIX: &str = "onceover_test_";

/// Serialises making and dropping over all test processes of a server ("onceover", as
/// a number). It keeps a template from being cloned while it is built.
const LOCK: i64 = 0x6f6e_6365_6f76_6572;

/// Where tests connect to.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    url: Url,
    owner_url: Url,
}

impl Server {
    /// Reads `DATABASE_URL`, and `ONCEOVER_MIGRATE_URL` for the owner's role, by
    /// default the same.
    pub(crate) fn from_environment() -> Self {
        let read = |name: &str| std::env::var(name).ok().filter(|url| !url.is_empty());
        let url = read("DATABASE_URL").expect(
            "DATABASE_URL is not set: run the tests through `make test`, or one crate's through \
             `cargo run -p cluster -- run -- cargo test -p <crate>`",
        );
        let owner = read("ONCEOVER_MIGRATE_URL").unwrap_or_else(|| url.clone());
        let parse = |text: &str| Url::parse(text).expect("the database address must be a URL");
        Self { url: parse(&url), owner_url: parse(&owner) }
    }

    /// A server of the test's own, under one role.
    pub(crate) fn at(url: &str) -> Self {
        let url = Url::parse(url).expect("the database address must be a URL");
        Self { owner_url: url.clone(), url }
    }

    /// The address of a database for the services' role.
    pub(crate) fn url(&self, database: &str) -> String {
        with_database(&self.url, database)
    }

    /// How to connect to a database as the owner.
    pub(crate) fn owner_options(&self, database: &str) -> PgConnectOptions {
        options(&with_database(&self.owner_url, database))
    }

    /// A connection to the database that the address itself names, with no time limit
    /// from the role's settings.
    pub(crate) async fn maintenance(&self) -> Result<PgConnection, sqlx::Error> {
        let options = options(self.owner_url.as_str()).options([("statement_timeout", "0")]);
        PgConnection::connect_with(&options).await
    }
}

/// Takes the lock; it goes with the connection.
pub(crate) async fn lock(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query("set lock_timeout = '5min'").execute(&mut *connection).await?;
    sqlx::query("select pg_advisory_lock($1)").bind(LOCK).execute(connection).await?;
    Ok(())
}

/// Drops one of the tests' databases, whoever is connected.
pub(crate) async fn drop_database(
    connection: &mut PgConnection,
    name: &str,
) -> Result<(), sqlx::Error> {
    assert!(name.starts_with(PREFIX), "{name} is no test's database");
    let statement = format!("drop database if exists {name} with (force)");
    sqlx::query(AssertSqlSafe(statement)).execute(connection).await?;
    Ok(())
}

fn options(url: &str) -> PgConnectOptions {
    PgConnectOptions::from_str(url).expect("the database address must be understood")
}

/// The same server and role, another database.
#[must_use]
pub fn with_database(url: &Url, database: &str) -> String {
    let mut url = url.clone();
    // `?dbname=` would win over the path.
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| name != "dbname")
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    url.set_query(None);
    if !kept.is_empty() {
        url.query_pairs_mut().extend_pairs(kept);
    }
    url.set_path(database);
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_database_of_an_address_changes() {
        for (before, after) in [
            (
                "postgres://u:p%40@127.0.0.1:5433/postgres",
                "postgres://u:p%40@127.0.0.1:5433/onceover_test_x",
            ),
            (
                "postgresql://u@localhost/a?host=%2Frun%2Fpg&dbname=b",
                "postgresql://u@localhost/onceover_test_x?host=%2Frun%2Fpg",
            ),
            ("postgres:///a", "postgres:///onceover_test_x"),
        ] {
            let url = Url::parse(before).expect("a URL");
            assert_eq!(with_database(&url, "onceover_test_x"), after);
        }
    }
}
