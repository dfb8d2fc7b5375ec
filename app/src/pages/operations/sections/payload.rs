//! What was asked and what is replayed: bounded, masked and exact.

use domain::{
    action::Subject,
    ids::OperationId,
    operation::Status,
    view::{BodyView, ResponseView},
};
use leptos::prelude::*;

use crate::components::{body_view::Body, part::Part, reveal_link::reveal_link};

/// What was asked.
#[component]
pub fn Payload(
    /// The operation.
    id: OperationId,
    /// The payload; absent once expired.
    payload: Option<BodyView>,
) -> impl IntoView {
    let whole = format!("/operations/{id}/payload");
    let body = match payload {
        Some(body) => {
            let reveal = reveal_link(body.masked, &Subject::from(id), None);
            view! { <Body body label="Payload as text" whole/> {reveal} }.into_any()
        }
        None => view! { <p class="prose">"The payload has expired."</p> }.into_any(),
    };
    view! {
        <Part id="payload" title="Payload">
            {body}
        </Part>
    }
}

/// What the client gets, now and on every repeat.
#[component]
pub fn Response(
    /// The operation.
    id: OperationId,
    /// The stored answer.
    response: Option<ResponseView>,
    /// Where the operation stands: what is over is answered also without a stored answer.
    status: Status,
    /// Whether its contents have expired.
    tombstoned: bool,
) -> impl IntoView {
    let whole = format!("/operations/{id}/answer");
    let without = match (status, tombstoned) {
        (_, true) => "The stored answer has expired; a repeat gets state and reference alone.",
        (Status::Succeeded, _) => {
            "No answer of a service is stored. A repeat gets the success as it is recorded, and the \
             reference."
        }
        (Status::FailedTerminal, _) => {
            "No answer of a service is stored. A repeat gets the failure as it is recorded."
        }
        _ => "No answer is stored; nothing is replayed yet.",
    };
    let body = match response {
        Some(response) => {
            let line = format!("HTTP {} · {}", response.status, response.content_type);
            let cut = response.snapshot_cut.then(|| {
                view! {
                    <p class="body-view-cut">
                        "The stored answer itself was cut at its limit: a replay sends only this much."
                    </p>
                }
            });
            let reveal = reveal_link(response.body.masked, &Subject::from(id), None);
            view! {
                <p class="body-view-caption">{line}</p>
                <Body body=response.body label="Stored answer as text" whole/>
                {reveal}
                {cut}
            }
            .into_any()
        }
        None => view! { <p class="prose">{without}</p> }.into_any(),
    };
    view! {
        <Part id="response" title="Stored answer">
            {body}
        </Part>
    }
}
