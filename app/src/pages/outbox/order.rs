//! An aggregate's order around one event, as a lane that reads from left to right: what is told, what
//! is next or blocks the rest, what waits. A head that stands far away is named and linked, for it is what the rest waits for.

use domain::view::{AggregateView, EventRow};
use leptos::prelude::*;

use super::words::behind;
use crate::components::mark::MarkBadge;

/// The neighbours, this one marked, the head named.
#[must_use]
pub fn order(order: &AggregateView, this: &EventRow) -> AnyView {
    let head = order.head_seq;
    // The head is one of those that wait; where it is dead, it is what they wait for.
    let caption = match (order.waiting, order.blocked) {
        (..=0, _) => "Nothing waits.".to_owned(),
        (waiting, true) => {
            format!("Number {head} is dead and blocks its aggregate: {}.", behind(waiting))
        }
        (1, false) => format!("One event waits: number {head} is next."),
        (many, false) => format!("{many} events wait: number {head} is next."),
    };
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
            let word = if order.blocked { "blocks the rest" } else { "next" };
            let next = (event.seq == order.head_seq && event.settled_at.is_none())
                .then(|| view! { <span class="order-next">{word}</span> });
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
            <p class="body-view-caption">{caption} {far}</p>
            <ol class="order">{neighbours}</ol>
        </div>
    }
    .into_any()
}
