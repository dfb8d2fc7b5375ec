//! Every row that is not final is matched by exactly one sweep or staff view (I5): tests over
//! generated rows of each machine, NULLs included.
//!
//! Guards against the row that no query sees: a NULL in a comparison is neither before nor after
//! anything, and such a row waits for ever. What nothing would find cannot be written: rows are
//! planted with the triggers off, and whatever the checks let pass must be found.

mod events;
mod guards;
mod messages;
mod operations;
mod requests;
mod undos;
mod workflows;

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use crate::fixture::Fixture;

/// More than are planted.
pub const MANY: i64 = 1_000;
/// No instant, one that is over, one that is to come.
pub const INSTANTS: [&str; 3] =
    ["null", "onceover_now() - interval '1 hour'", "onceover_now() + interval '1 hour'"];

/// Rows that were planted, and who found which.
#[derive(Default)]
pub struct Found {
    planted: BTreeMap<Uuid, String>,
    refused: usize,
    seen: BTreeMap<Uuid, Vec<&'static str>>,
}

impl Found {
    /// Plants a row, unless a check refuses it.
    pub async fn plant(&mut self, db: &mut PgConnection, what: &str, sql: String) -> Option<Uuid> {
        sqlx::query("savepoint row").execute(&mut *db).await.unwrap();
        match sqlx::query_scalar::<_, Uuid>(AssertSqlSafe(sql)).fetch_one(&mut *db).await {
            Ok(id) => {
                self.planted.insert(id, what.to_owned());
                Some(id)
            }
            Err(error) => {
                let code = error.as_database_error().and_then(|error| error.code());
                assert_eq!(code.as_deref(), Some("23514"), "{what}: {error}");
                sqlx::query("rollback to savepoint row").execute(db).await.unwrap();
                self.refused += 1;
                None
            }
        }
    }

    /// Notes that `looker` found a row.
    pub fn look(&mut self, looker: &'static str, id: Uuid) {
        self.seen.entry(id).or_default().push(looker);
    }

    /// Every planted row was found once, and what nothing would have found was refused.
    pub fn judge(&self, planted: usize, refused: usize) {
        let wrong: Vec<String> = self
            .planted
            .iter()
            .filter(|(id, _)| self.seen.get(id).is_none_or(|lookers| lookers.len() != 1))
            .map(|(id, what)| format!("{what}: {:?}", self.seen.get(id)))
            .collect();
        assert!(wrong.is_empty(), "{} of {} rows: {wrong:#?}", wrong.len(), self.planted.len());
        assert_eq!((self.planted.len(), self.refused), (planted, refused), "planted and refused");
    }
}

/// A connection that plants: no trigger fires, every check holds.
pub async fn planting(fixture: &Fixture) -> sqlx::Transaction<'static, sqlx::Postgres> {
    let mut tx = fixture.pool().begin().await.unwrap();
    sqlx::query("set local session_replication_role = replica").execute(&mut *tx).await.unwrap();
    tx
}
