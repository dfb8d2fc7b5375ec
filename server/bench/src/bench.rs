//! Where a run takes place: a server, its databases, and how long each figure may take.
//!
//! Guards against figures of another making: databases are migrated as any other, without the
//! movable clock of the tests, and durability stays on.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use cluster::{Cluster, Options};
use engine::Engine;
use sqlx::{
    AssertSqlSafe, Connection as _, PgConnection,
    postgres::{PgConnectOptions, PgPool, PgPoolOptions},
};
use url::Url;

use crate::{fault::Fault, machine};

/// What every database of a bench is called, so that nothing else is ever dropped.
const PREFIX: &str = "onceover_bench_";

/// How thorough a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A few minutes.
    Short,
    /// As long as the figures are defined for.
    Full,
}

impl Form {
    /// Its name in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Full => "full",
        }
    }
}

/// One run.
#[derive(Debug)]
pub struct Bench {
    url: Url,
    form: Form,
    databases: Mutex<Vec<String>>,
    /// A folder on the disk of the data, where the server is ours.
    disk: Option<PathBuf>,
    /// Ends with this value.
    _cluster: Option<Cluster>,
}

/// A database of one figure's own.
#[derive(Debug)]
pub struct Database {
    /// Its address.
    pub url: String,
    /// Connections of its owner, to plant and to count.
    pub owner: PgPool,
}

impl Bench {
    /// On the server of `DATABASE_URL`, else on a private one that ends with the run. Blocks.
    pub fn open(form: Form) -> Result<Self, Fault> {
        let told = std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty());
        let (url, disk, cluster) = match told {
            Some(url) => (url, None, None),
            None => {
                let folder = std::env::temp_dir();
                let cluster = Cluster::start(&folder, Options::throwaway())?;
                for note in cluster.notes() {
                    println!("{note}");
                }
                // Over TCP, as services connect.
                (cluster.url("postgres"), Some(folder), Some(cluster))
            }
        };
        let url = Url::parse(&url)
            .map_err(|error| Fault::Said(format!("DATABASE_URL is no address: {error}")))?;
        Ok(Self { url, form, databases: Mutex::default(), disk, _cluster: cluster })
    }

    /// How thorough it is.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// One of two, by the form.
    pub fn by_form<T>(&self, short: T, full: T) -> T {
        match self.form {
            Form::Short => short,
            Form::Full => full,
        }
    }

    /// How often each figure is measured: many short rounds, so that a slow moment of the machine is
    /// in one of them and not in the median.
    pub fn rounds(&self) -> usize {
        self.by_form(5, 7)
    }

    /// How long one round of a rate goes on.
    pub fn round(&self) -> Duration {
        Duration::from_secs(self.by_form(2, 10))
    }

    /// How long a flush takes now on the disk of the data, in microseconds.
    pub fn flush_us(&self) -> Option<f64> {
        machine::flush_us(self.disk.as_deref()?).ok()
    }

    /// The server's version.
    pub async fn postgresql(&self) -> Result<String, Fault> {
        let mut db = self.maintenance().await?;
        let version = sqlx::query_scalar("show server_version").fetch_one(&mut db).await?;
        Ok(version)
    }

    /// The time, by the database's clock.
    pub async fn now(&self) -> Result<String, Fault> {
        let mut db = self.maintenance().await?;
        let now = "select to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')";
        Ok(sqlx::query_scalar(now).fetch_one(&mut db).await?)
    }

    /// Makes a database with the whole schema.
    pub async fn database(&self, name: &str) -> Result<Database, Fault> {
        let name = format!("{PREFIX}{name}_{}", hex::encode(rand::random::<[u8; 4]>()));
        let mut db = self.maintenance().await?;
        sqlx::query(AssertSqlSafe(format!("create database {name}"))).execute(&mut db).await?;
        self.databases.lock().unwrap_or_else(PoisonError::into_inner).push(name.clone());
        let url = testkit::with_database(&self.url, &name);
        Engine::migrate(&url).await?;
        let options: PgConnectOptions = url.parse()?;
        let owner = PgPoolOptions::new().max_connections(4).connect_with(options).await?;
        Ok(Database { url, owner })
    }

    /// Drops every database of this run, whoever is still connected.
    pub async fn close(&self) -> Result<(), Fault> {
        let names: Vec<String> =
            self.databases.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect();
        let mut db = self.maintenance().await?;
        for name in names {
            let sql = format!("drop database if exists {name} with (force)");
            sqlx::query(AssertSqlSafe(sql)).execute(&mut db).await?;
        }
        db.close().await?;
        Ok(())
    }

    async fn maintenance(&self) -> Result<PgConnection, Fault> {
        Ok(PgConnection::connect(self.url.as_str()).await?)
    }
}

impl Database {
    /// A number from the database, as its owner reads it.
    pub async fn number(&self, sql: &'static str) -> Result<f64, Fault> {
        Ok(sqlx::query_scalar(sql).fetch_one(&self.owner).await?)
    }
}
