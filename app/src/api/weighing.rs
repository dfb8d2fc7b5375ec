//! A request for a second person as the one who is about to agree sees it, with the provider's word now.

use domain::{
    access::Permission,
    action::{TargetType, Verb},
    approval::ApprovalStatus,
    ids::ApprovalId,
    reconciliation::ProviderAnswer,
    view::ApprovalView,
};

use super::{context::caller, found::Found, operations::ask_provider, records::approval};
use crate::error::ConsoleError;

/// A request, and what the provider says now, where it was asked.
#[derive(Debug, Clone)]
pub struct Weighing {
    /// The request.
    pub request: ApprovalView,
    /// The provider's answer.
    pub says: Option<Result<ProviderAnswer, ConsoleError>>,
}

/// One request. Where the reader is about to agree (`ask`) to an outcome that a provider may know of, and
/// could, the provider is asked: once for each look at the page, and nothing follows from it here.
///
/// # Errors
/// `not_found` for an unknown id and for one of a tenant that is not the person's alike.
pub async fn weighing(id: ApprovalId, ask: bool) -> Result<Found<Weighing>, ConsoleError> {
    let request = match approval(id).await? {
        Found::Here(request) => request,
        Found::Elsewhere(tenant) => return Ok(Found::Elsewhere(tenant)),
    };
    let may = caller()?.permits(Permission::Approve) && !request.mine;
    let open = request.status == ApprovalStatus::Pending && request.verb == Verb::Confirm;
    let about = request.target_type == TargetType::Operation;
    let target = request.target.parse().ok().filter(|_| ask && may && open && about);
    let says = match target {
        Some(target) => Some(ask_provider(target).await),
        None => None,
    };
    Ok(Found::Here(Weighing { request, says }))
}
