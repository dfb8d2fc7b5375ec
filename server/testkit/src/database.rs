//! A test's own database: made, moved in time, dropped.

use std::thread;
use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::{PgPool, PgPoolOptions, types::PgInterval};

use crate::server::{self, Server};
use crate::template;

/// A database that one test has to itself, migrated, empty, with a clock that can be
/// moved. Dropped with this value, whoever is still connected.
#[derive(Debug)]
pub struct TestDatabase {
    server: Server,
    name: String,
    owner_pool: PgPool,
    dropped: bool,
}

impl TestDatabase {
    /// Makes a database on the server of `DATABASE_URL`.
    ///
    /// # Panics
    /// With a sentence when `DATABASE_URL` is not set, the server cannot be reached, or
    /// a migration fails.
    pub async fn create() -> Self {
        Self::create_on(Server::from_environment()).await
    }

    /// Makes a database on a server of the test's own, which it may restart.
    ///
    /// # Panics
    /// As [`Self::create`].
    pub async fn create_at(url: &str) -> Self {
        Self::create_on(Server::at(url)).await
    }

    async fn create_on(server: Server) -> Self {
        let name = template::make_clone(&server).await.unwrap_or_else(|problem| {
            panic!("no test database on the server that DATABASE_URL names: {problem}")
        });
        let owner_pool = PgPoolOptions::new()
            .max_connections(4)
            .acquire_timeout(Duration::from_secs(10))
            .connect_lazy_with(server.owner_options(&name));
        Self { server, name, owner_pool, dropped: false }
    }

    /// Its address, for the program under test.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url(&self.name)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Connections as the owner, who may do what the program may not: to plant states
    /// and to look at everything.
    #[must_use]
    pub fn owner_pool(&self) -> &PgPool {
        &self.owner_pool
    }

    /// Moves the database clock forward for everybody in this database: what
    /// `onceover_now()` answers from now on (D19).
    ///
    /// # Panics
    /// When the database cannot be reached.
    pub async fn advance_clock(&self, by: Duration) {
        let by = PgInterval {
            months: 0,
            days: 0,
            microseconds: i64::try_from(by.as_micros()).expect("less than 292,000 years"),
        };
        sqlx::query("update public.onceover_clock set shift = shift + $1")
            .bind(by)
            .execute(&self.owner_pool)
            .await
            .expect("the test's clock can be moved");
    }

    /// Marks every waiting event as published, by the moves of a publisher (X2, X3), for tests that
    /// are not about publishing.
    ///
    /// # Panics
    /// When the database cannot be reached or refuses.
    pub async fn settle_outbox(&self) {
        for sql in [
            "update outbox set status = 'publishing', version = version + 1, fence = fence + 1, owner = 'test',
               lease_until = onceover_now(), move = 'X2' where status = 'pending'",
            "update outbox set status = 'published', settled_at = onceover_now(), version = version + 1,
               owner = null, lease_until = null, move = 'X3' where status = 'publishing'",
            "update aggregates set head_seq = next_seq",
        ] {
            sqlx::query(sql)
                .execute(&self.owner_pool)
                .await
                .expect("events can be marked as published");
        }
    }

    /// Drops the database now, and says when that fails.
    ///
    /// # Panics
    /// When it cannot be dropped.
    pub async fn close(mut self) {
        self.owner_pool.close().await;
        self.dropped = true;
        remove(&self.server, &self.name)
            .await
            .unwrap_or_else(|problem| panic!("could not drop {}: {problem}", self.name));
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if self.dropped {
            return;
        }
        let (server, name) = (self.server.clone(), self.name.clone());
        // In a thread with a runtime of its own: the test's may be single-threaded, or
        // on its way out. Best effort; the next day's run sweeps what is left.
        let dropping = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(remove(&server, &name)).ok()
        });
        let _ = dropping.join();
    }
}

async fn remove(server: &Server, name: &str) -> Result<(), sqlx::Error> {
    let mut connection = server.maintenance().await?;
    server::drop_database(&mut connection, name).await?;
    connection.close().await
}
