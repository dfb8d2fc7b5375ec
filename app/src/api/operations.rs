//! Reading operations: the list, one in full, and what its provider says now.

use domain::{
    ids::OperationId,
    listing::Page,
    reconciliation::ProviderAnswer,
    view::{OperationDetail, OperationRow},
};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::found::Found;
use crate::error::ConsoleError;

/// An operation, and the key that the forms beside it carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationPage {
    /// The operation.
    pub detail: OperationDetail,
    /// Minted for this page's note, so that sending it twice writes it once (D41).
    pub form_key: String,
    /// Whether the reader may write notes and take the operation.
    pub may_note: bool,
}

/// One page of the list that the address describes; `query` is the page's raw query string.
///
/// # Errors
/// `filter_invalid`, naming the part, for an address that no list gives out.
#[server(endpoint = "operations/list")]
pub async fn list_operations(
    #[server(default)] query: String,
) -> Result<Page<OperationRow>, ConsoleError> {
    use domain::problem::Code;

    use super::context::{caller, engine, read, refuse};
    use crate::{
        error::RefusalView,
        location::{FilterProblem, parse_operations},
    };

    let (engine, caller) = (engine()?, caller()?);
    let filter = parse_operations(&query).map_err(|FilterProblem(field)| {
        let refusal = RefusalView { field: Some(field), ..RefusalView::new(Code::FilterInvalid) };
        refuse(ConsoleError::Refused(refusal))
    })?;
    read(&caller, engine.list_operations(&caller, &filter)).await
}

/// The kinds that the list can be narrowed to.
///
/// # Errors
/// The engine's refusal.
#[server(endpoint = "operations/kinds")]
pub async fn kind_names() -> Result<Vec<String>, ConsoleError> {
    use super::context::{caller, engine, read};

    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.kind_names(&caller)).await
}

/// One operation in full, or which other tenant of the person has it.
///
/// # Errors
/// `not_found` for an unknown id and for one of a tenant that is not the person's alike.
#[server(endpoint = "operations/show")]
pub async fn operation(id: OperationId) -> Result<Found<OperationPage>, ConsoleError> {
    use domain::access::Permission;

    use super::{
        context::{caller, engine},
        found::find,
    };

    let (engine, caller) = (engine()?, caller()?);
    find(&engine, &caller, id, async {
        let detail = engine.operation(&caller, id).await?;
        let form_key = uuid::Uuid::new_v4().to_string();
        Ok(OperationPage { detail, form_key, may_note: caller.permits(Permission::Note) })
    })
    .await
}

/// What the provider answers to a lookup now. It decides nothing; a person reads it.
///
/// # Errors
/// The engine's refusal. Asked within a page's render, the page keeps its own status.
#[server(endpoint = "operations/ask-provider")]
pub async fn ask_provider(id: OperationId) -> Result<ProviderAnswer, ConsoleError> {
    use super::{
        context::{caller, carry_out, engine, refuse},
        redirect::plain_form,
    };

    let (engine, caller) = (engine()?, caller()?);
    let by = caller.clone();
    let answer = carry_out(&caller, async move { engine.ask_provider(&by, id).await }).await;
    answer.map_err(|error| if plain_form() { error } else { refuse(error) })
}
