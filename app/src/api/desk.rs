//! What people leave beside a record, notes and *taken by*: it moves no version and needs no receipt.

use std::future::Future;

use domain::{action::TargetType, record::RecordName};
use engine::{Engine, EngineError, StaffCaller};

use super::{
    context::{caller, carry_out, engine},
    redirect::{Target, go},
    refused::{Kept, RefusedForm},
};
use crate::error::ConsoleError;

/// Runs a command beside the record and returns to the notes, after a refusal with what was written.
/// What is no id leads to the answer for a record that nobody has.
pub(super) async fn beside<C, F>(
    kind: TargetType,
    id: &str,
    kept: Kept,
    command: C,
) -> Result<(), ConsoleError>
where
    C: FnOnce(Engine, StaffCaller, RecordName) -> F + Send + 'static,
    F: Future<Output = Result<(), EngineError>> + Send + 'static,
{
    let Some(about) = named(kind, id) else {
        go(&Target::missing(kind));
        return Ok(());
    };
    let (engine, caller) = (engine()?, caller()?);
    let by = caller.clone();
    let refused = match carry_out(&caller, async move { command(engine, by, about).await }).await {
        Ok(()) => None,
        Err(ConsoleError(refusal)) => Some(RefusedForm { refusal, kept }),
    };
    go(&Target::notes(about, refused.as_ref()));
    Ok(())
}

fn named(kind: TargetType, id: &str) -> Option<RecordName> {
    let record = domain::record::RecordType::of_target(kind)?;
    Some(RecordName::new(record, id.trim().parse().ok()?))
}
