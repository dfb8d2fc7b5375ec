//! Operations beside another record: enough to recognise each, and the way to it.

use domain::{
    ids::OperationId,
    view::{FlowRef, RelatedOperation},
};
use leptos::prelude::*;

use super::{
    amount::Amount, key::Key, mark::MarkBadge, part::Part, state_badge::StateBadge,
    timestamp::Timestamp,
};

/// A link to an operation by its id.
#[must_use]
pub fn operation_link(id: OperationId) -> AnyView {
    view! { <a href=format!("/operations/{id}")><Key text=id.to_string() whole=true/></a> }
        .into_any()
}

/// The workflow that a record belongs to, and which of its steps it is about.
#[must_use]
pub fn its_workflow(flow: FlowRef) -> AnyView {
    let words = format!("step {} of {}", flow.step_key, flow.kind);
    view! {
        <Part id="workflow" title="Its workflow">
            <ul class="relations">
                <li class="related">
                    <MarkBadge mark=flow.status/>
                    <a href=format!("/workflows/{}", flow.id)><Key text=flow.key/></a>
                    <span class="cell-sub">{words}</span>
                </li>
            </ul>
        </Part>
    }
    .into_any()
}

/// The operations, each with state, kind, key and amount.
#[must_use]
pub fn related(
    id: &'static str,
    title: &'static str,
    operations: Vec<RelatedOperation>,
) -> AnyView {
    let items = operations
        .into_iter()
        .map(|operation| {
            let amount = operation.amount.map(|amount| {
                view! { <Amount amount=Some(amount)/> " · " }
            });
            view! {
                <li class="related">
                    <StateBadge status=operation.status/>
                    <a href=format!("/operations/{}", operation.id)><Key text=operation.key/></a>
                    <span class="cell-sub">
                        {operation.operation} " · " {amount} "reserved "
                        <Timestamp at=operation.created_at/>
                    </span>
                </li>
            }
        })
        .collect_view();
    view! {
        <Part id title>
            <ul class="relations">{items}</ul>
        </Part>
    }
    .into_any()
}
