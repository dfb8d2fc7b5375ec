//! An aggregate's order around one event, as a lane that reads from left to right: what is told, what
//! is next, what waits. A head that stands far away is named and linked, for it is what the rest waits for.

use domain::view::{AggregateView, EventRow};
use leptos::prelude::*;

use crate::components::mark::MarkBadge;

/// The neighbours, this one marked, the head named.
#[must_use]
pub fn order(order: &AggregateView, this: &EventRow) -> AnyView {
    let waiting = match order.waiting {
        0 => "Nothing waits.".to_owned(),
        1 => "One event waits".to_owned(),
        many => format!("{many} events wait"),
    };
    let head = (order.waiting > 0).then(|| format!(", number {} is next", order.head_seq));
    let blocked = order.blocked.then_some("; it is dead and stops the rest");
    let end = if order.waiting > 0 { "." } else { "" };
    let far = order
        .head
        .as_ref()
        .filter(|head| order.neighbours.iter().all(|event| event.id != head.id))
        .map(|head| {
            view! {
                " " <a href=format!("/outbox/{}", head.id)>{format!("Go to number {}", head.seq)}</a>
            }
        });
    let neighbours = order
        .neighbours
        .iter()
        .map(|event| {
            let here = event.id == this.id;
            let next = (event.seq == order.head_seq && event.settled_at.is_none())
                .then(|| view! { <span class="order-next">"next"</span> });
            let name = if here {
                view! { <strong>{format!("{} {}", event.seq, event.topic)}</strong> }.into_any()
            } else {
                view! { <a href=format!("/outbox/{}", event.id)>{format!("{} {}", event.seq, event.topic)}</a> }
                    .into_any()
            };
            view! {
                <li class="order-event" aria-current=here.then_some("true")>
                    <MarkBadge mark=event.status/>
                    <span class="order-name">{name} {next}</span>
                </li>
            }
        })
        .collect_view();
    view! {
        <div>
            <p class="body-view-caption">{waiting} {head} {blocked} {end} {far}</p>
            <ol class="order">{neighbours}</ol>
        </div>
    }
    .into_any()
}
