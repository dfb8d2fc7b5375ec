//! What people leave beside an operation, notes and *taken by*: it moves no version and needs no
//! receipt.

use std::future::Future;

use domain::{ids::OperationId, problem::Code};
use engine::{Engine, EngineError, StaffCaller};

use super::{
    context::{caller, carry_out, engine},
    decision::refuse_unless_plain,
    redirect::{Target, go, plain_form},
    refused::{Kept, RefusedForm},
};
use crate::error::ConsoleError;

/// Runs a command beside the record. A plain form returns to the notes, after a refusal with what
/// was written; WASM stays where it is.
pub(super) async fn beside<C, F>(id: &str, kept: Kept, command: C) -> Result<(), ConsoleError>
where
    C: FnOnce(Engine, StaffCaller, OperationId) -> F + Send + 'static,
    F: Future<Output = Result<(), EngineError>> + Send + 'static,
{
    let Ok(id) = id.trim().parse::<OperationId>() else {
        if plain_form() {
            go(&Target::missing());
        }
        return Err(refuse_unless_plain(ConsoleError::code_only(Code::NotFound)));
    };
    let (engine, caller) = (engine()?, caller()?);
    let by = caller.clone();
    let done = carry_out(&caller, async move { command(engine, by, id).await }).await;
    if plain_form() {
        let refused = match &done {
            Err(ConsoleError::Refused(refusal)) => {
                Some(RefusedForm { refusal: refusal.clone(), kept })
            }
            Err(ConsoleError::Unreachable) | Ok(()) => None,
        };
        go(&Target::notes(id, refused.as_ref()));
        return done;
    }
    done.map_err(refuse_unless_plain)
}
