//! One decision, as it stands on the record.

use domain::{ids::OperationId, view::Receipt};
use leptos::prelude::*;

use crate::error::ConsoleError;

/// The receipt of a decision.
///
/// # Errors
/// `not_found` for an unknown id and for another tenant's alike.
#[server(name = ReadReceipt, endpoint = "receipts/show")]
pub async fn receipt(id: OperationId) -> Result<Receipt, ConsoleError> {
    use super::context::{caller, engine, read};

    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.receipt(&caller, id)).await
}
