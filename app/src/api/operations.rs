//! Reading operations: the list, one in full, and what its provider says now.

use domain::{
    access::Permission,
    ids::OperationId,
    listing::Page,
    reconciliation::ProviderAnswer,
    view::{OperationDetail, OperationRow},
};

use super::{
    context::{caller, carry_out, engine, filter, read},
    found::{Found, find},
};
use crate::{error::ConsoleError, location::Asked};

/// An operation, and the key that the forms beside it carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationPage {
    /// The operation.
    pub detail: OperationDetail,
    /// Minted for this page's note, so that sending it twice writes it once (D41).
    pub form_key: String,
    /// Whether the reader may write notes and take the operation.
    pub may_note: bool,
}

/// One page of the list that the address asks for.
///
/// # Errors
/// `filter_invalid`, naming the part, for an address that no list gives out.
pub async fn list_operations(asked: &Asked) -> Result<Page<OperationRow>, ConsoleError> {
    let (engine, caller, filter) = (engine()?, caller()?, filter(asked)?);
    read(&caller, engine.list_operations(&caller, &filter)).await
}

/// The kinds that the list can be narrowed to.
///
/// # Errors
/// The engine's refusal.
pub async fn kind_names() -> Result<Vec<String>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.kind_names(&caller)).await
}

/// One operation in full, or which other tenant of the person has it.
///
/// # Errors
/// `not_found` for an unknown id and for one of a tenant that is not the person's alike.
pub async fn operation(id: OperationId) -> Result<Found<OperationPage>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    find(&engine, &caller, id.uuid(), async {
        let detail = engine.operation(&caller, id).await?;
        let form_key = uuid::Uuid::new_v4().to_string();
        Ok(OperationPage { detail, form_key, may_note: caller.permits(Permission::Note) })
    })
    .await
}

/// What the provider answers to a lookup now. It decides nothing; a person reads it.
///
/// # Errors
/// The engine's refusal; the page that asks keeps its own status.
pub async fn ask_provider(id: OperationId) -> Result<ProviderAnswer, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    let by = caller.clone();
    carry_out(&caller, async move { engine.ask_provider(&by, id).await }).await
}
