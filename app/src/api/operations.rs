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

pub use engine::console::Piece;

/// Kinds that a filter offers as a choice.
pub const MAX_OFFERED: usize = 100;

/// Items of the story that a form's page needs: what happened since it was opened.
const MAX_ITEMS: usize = 100;

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

/// The first names of the tenant's kinds: one more than a filter offers, so that it knows of others.
///
/// # Errors
/// The engine's refusal.
pub async fn kind_names() -> Result<Vec<String>, ConsoleError> {
    let more = i64::try_from(MAX_OFFERED + 1).unwrap_or(i64::MAX);
    kinds_from("", "", more).await
}

/// The names of the tenant's kinds that begin so, from one on.
///
/// # Errors
/// `filter_invalid` for what no list would search for; the engine's refusal.
pub async fn kinds_from(prefix: &str, from: &str, limit: i64) -> Result<Vec<String>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.kind_names(&caller, prefix, from, limit)).await
}

/// One operation in full, or which other tenant of the person has it.
///
/// # Errors
/// `not_found` for an unknown id and for one of a tenant that is not the person's alike.
pub async fn operation(id: OperationId) -> Result<Found<OperationPage>, ConsoleError> {
    operation_told(id, Piece::last(MAX_ITEMS)).await
}

/// The same with a piece of its story.
///
/// # Errors
/// As [`operation`].
pub async fn operation_told(
    id: OperationId,
    piece: Piece,
) -> Result<Found<OperationPage>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    find(&engine, &caller, id.uuid(), async {
        let detail = engine.operation_told(&caller, id, piece).await?;
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
