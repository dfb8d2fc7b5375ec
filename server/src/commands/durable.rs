//! Whether the database keeps what it acknowledges (R03): one that does not is no ground for any promise
//! of this program, so nothing is served on it.

use sqlx::{Connection as _, Row as _, postgres::PgConnection};

use super::Failure;
use crate::refusal::chain;

/// What of the server's settings loses acknowledged writes, a sentence for each.
///
/// # Errors
/// The database's.
pub(super) async fn losses(connection: &mut PgConnection) -> Result<Vec<String>, sqlx::Error> {
    let row = sqlx::query(
        "select current_setting('fsync') as fsync,
           current_setting('synchronous_commit') as synchronous_commit",
    )
    .fetch_one(connection)
    .await?;
    let is_off = |name: &str| row.try_get::<String, _>(name).map(|value| value == "off");
    let mut faults = Vec::new();
    for setting in ["fsync", "synchronous_commit"] {
        if is_off(setting)? {
            faults.push(format!(
                "the database runs with {setting} off: what it acknowledged can be lost"
            ));
        }
    }
    Ok(faults)
}

/// Refuses a database that loses acknowledged writes.
///
/// # Errors
/// [`Failure`] with a sentence for each setting.
pub(super) async fn refuse(url: &str) -> Result<(), Failure> {
    let asked = async {
        let mut connection = PgConnection::connect(url).await?;
        let faults = losses(&mut connection).await?;
        connection.close().await?;
        Ok::<_, sqlx::Error>(faults)
    };
    let faults =
        asked.await.map_err(|error| Failure::new(format!("the database: {}", chain(&error))))?;
    if faults.is_empty() { Ok(()) } else { Err(Failure::all(faults)) }
}
