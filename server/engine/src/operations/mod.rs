//! The life of an operation as services and workers drive it: reserve, start, beat, finish, claim.

mod answer;
mod claim;
mod classify;
mod enqueue;
mod expire;
mod finish;
mod follow;
mod guards;
mod hold;
mod late;
mod links;
mod moves;
mod payload;
mod purge;
mod replays;
mod reserve;
mod view;
mod walk;

pub use claim::ClaimedWork;
pub use finish::{Finish, FinishOutcome, Finished, NewEvent};
pub use hold::{Beat, Started};
pub use reserve::{Admission, Reserve};

pub(crate) use claim::{claim_for, hand_out};
pub(crate) use enqueue::{Enqueued, OwnRequest, check_own, enqueue, is_refused_for_good};
pub(crate) use finish::{Heard, finish_heard, finish_in};
pub(crate) use follow::catch_up;
pub(crate) use guards::differs;
pub(crate) use hold::start_in;
pub(crate) use late::{Said, keep_evidence};
pub(crate) use links::tell_link;
pub(crate) use moves::Moves;
pub(crate) use payload::{
    amount as amount_of, bounded, hashed_term, masked, parse as parse_payload, terms as terms_of,
};
pub(crate) use replays::Replays;
pub(crate) use walk::Walks;

pub(crate) use crate::{backoff::jittered_backoff_ms, database::retrying};

use domain::{ids::TenantId, problem::Code};
use sqlx::PgConnection;

use crate::{
    database::Tx,
    error::EngineError,
    store::{
        Target, kind,
        kind::KindPolicy,
        operation::{self, Operation},
    },
};

/// A sweep goes on past a row that fails: the fault is logged, its neighbours keep moving (I18). A
/// database that does not answer ends the run.
pub(crate) fn logged(
    target: Target,
    result: Result<bool, EngineError>,
) -> Result<bool, EngineError> {
    match result {
        Err(EngineError::Database(error)) => Err(EngineError::Database(error)),
        Err(error) => {
            tracing::error!(operation.id = %target.id, error = ?error, "a row was passed over");
            Ok(false)
        }
        done => done,
    }
}

/// Commits what a command did, also where it ends in a refusal that must stay on record (evidence
/// that halted it, a conflict that was kept); a fault is rolled back.
pub(crate) async fn commit_unless_fault<T>(
    tx: Tx,
    result: Result<T, EngineError>,
) -> Result<T, EngineError> {
    if matches!(&result, Ok(_) | Err(EngineError::Refused(_))) {
        tx.commit().await?;
    }
    result
}

/// Locks an operation that must be there, with its kind.
pub(crate) async fn lock_with_kind(
    db: &mut PgConnection,
    target: Target,
) -> Result<(Operation, KindPolicy), EngineError> {
    let row = operation::lock(db, target)
        .await?
        .filter(|row| !row.operation.starts_with("console."))
        .ok_or_else(|| EngineError::refused(Code::NotFound))?;
    let kind = kind_of(db, &row).await?;
    Ok((row, kind))
}

/// A kind by its name.
pub(crate) async fn kind_named(
    db: &mut PgConnection,
    tenant: TenantId,
    name: &str,
) -> Result<KindPolicy, EngineError> {
    kind::find(db, tenant, name).await?.ok_or_else(|| EngineError::refused(Code::KindUnknown))
}

pub(crate) async fn kind_of(
    db: &mut PgConnection,
    row: &Operation,
) -> Result<KindPolicy, EngineError> {
    kind::find(db, row.target.tenant, &row.operation)
        .await?
        .ok_or_else(|| EngineError::Unreadable(format!("kind {} is gone", row.operation)))
}
