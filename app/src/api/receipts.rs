//! One decision, as it stands on the record.

use domain::{ids::OperationId, view::Receipt};
use leptos::prelude::*;

use super::found::Found;
use crate::error::ConsoleError;

/// The receipt of a decision, or which other tenant of the person has it.
///
/// # Errors
/// `not_found` for an unknown id and for one of a tenant that is not the person's alike.
#[server(name = ReadReceipt, endpoint = "receipts/show")]
pub async fn receipt(id: OperationId) -> Result<Found<Receipt>, ConsoleError> {
    use super::{
        context::{caller, engine},
        found::find,
    };

    let (engine, caller) = (engine()?, caller()?);
    find(&engine, &caller, id, engine.receipt(&caller, id)).await
}
