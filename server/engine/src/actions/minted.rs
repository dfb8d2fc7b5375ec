//! Ids that a form mints for what it makes: sent again it makes nothing twice, and a day later it is no
//! form any more.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use super::request::unfit;
use crate::{database::Tx, error::EngineError, store::lease};

/// How old such an id may be, and how far ahead of the database's clock.
const MINTED: (TimeDelta, TimeDelta) = (TimeDelta::hours(24), TimeDelta::minutes(5));

/// Refuses an id that was not minted within the last day.
pub(super) async fn check(tx: &mut Tx, id: Uuid) -> Result<(), EngineError> {
    let now = lease::clock(tx).await?;
    let minted = minted_at(id).filter(|at| *at > now - MINTED.0 && *at < now + MINTED.1);
    match minted {
        Some(_) => Ok(()),
        None => Err(unfit("id", "an id of version 7 that was made within the last day")),
    }
}

/// When an id of version 7 was made.
fn minted_at(id: Uuid) -> Option<DateTime<Utc>> {
    let (seconds, nanos) = id.get_timestamp()?.to_unix();
    DateTime::from_timestamp(i64::try_from(seconds).ok()?, nanos)
        .filter(|_| id.get_version_num() == 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_that_tells_its_time_can_be_minted() {
        let id = Uuid::try_parse("0199b2c4-7d1e-7c3a-9f51-0242ac120002").unwrap();
        assert_eq!(minted_at(id).map(|at| at.timestamp_millis()), Some(0x0199_b2c4_7d1e));
        assert_eq!(minted_at(Uuid::from_u128(7)), None);
        assert_eq!(minted_at(Uuid::new_v4()), None);
    }
}
