//! What people leave beside an operation, notes and *taken by*: it moves no version and needs no
//! receipt.

use std::future::Future;

use domain::{action::TargetType, ids::OperationId};
use engine::{Engine, EngineError, StaffCaller};

use super::{
    context::{caller, carry_out, engine},
    redirect::{Target, go},
    refused::{Kept, RefusedForm},
};
use crate::error::ConsoleError;

/// Runs a command beside the record and returns to the notes, after a refusal with what was written.
pub(super) async fn beside<C, F>(id: &str, kept: Kept, command: C) -> Result<(), ConsoleError>
where
    C: FnOnce(Engine, StaffCaller, OperationId) -> F + Send + 'static,
    F: Future<Output = Result<(), EngineError>> + Send + 'static,
{
    let Ok(id) = id.trim().parse::<OperationId>() else {
        go(&Target::missing(TargetType::Operation));
        return Ok(());
    };
    let (engine, caller) = (engine()?, caller()?);
    let by = caller.clone();
    let refused = match carry_out(&caller, async move { command(engine, by, id).await }).await {
        Ok(()) => None,
        Err(ConsoleError(refusal)) => Some(RefusedForm { refusal, kept }),
    };
    go(&Target::notes(id, refused.as_ref()));
    Ok(())
}
