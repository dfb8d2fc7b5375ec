//! One decision, as it stands on the record.

use domain::{ids::OperationId, view::Receipt};

use super::{
    context::{caller, engine},
    found::{Found, find},
};
use crate::error::ConsoleError;

/// The receipt of a decision, or which other tenant of the person has it.
///
/// # Errors
/// `not_found` for an unknown id and for one of a tenant that is not the person's alike.
pub async fn receipt(id: OperationId) -> Result<Found<Receipt>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    find(&engine, &caller, id.uuid(), engine.receipt(&caller, id)).await
}
