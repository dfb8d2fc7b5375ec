//! `/outbox/{id}`: one event, with its place in the order, its deliveries and what it tells; and the
//! forms of what can be decided about it.

use domain::{
    action::{Subject, TargetType, Verb},
    outbox::EventStatus,
    told::delivery,
    view::{EventAttempt, EventDetail},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::{
    order::order,
    words::{self, sentence, standing},
};
use crate::{
    api::{
        notes::{Noted, event_page},
        records::event,
        refused::RefusedForm,
    },
    components::{
        audit::Audit,
        body_view::Body,
        facts::{fact, fact_at, fact_key},
        moves::{MOVES, Moves, told},
        notes::Notes,
        part::Part,
        record_head::{Offered, RecordHead},
        related::{operation_link, related},
        reveal_link::reveal_link,
        slice::Slice,
        timestamp::Timestamp,
        verdict_band::VerdictBand,
    },
    pages::{
        address::query,
        record::{About, decision_page, record_page},
    },
    text,
};

/// Deliveries that one page shows, and the most of what one of them said, in bytes of the page.
const DELIVERIES: usize = 30;
const MAX_ERROR: usize = 1_000;

/// The page of an event.
#[component]
pub fn DetailPage() -> impl IntoView {
    let query = query();
    view! {
        <Title text="Event · Onceover"/>
        {record_page(event_page, move |page| shown(page, &query))}
    }
}

/// The form of a decision about an event.
#[component]
pub fn FormPage() -> impl IntoView {
    let about = |detail: &EventDetail, _: Verb| About {
        version: detail.row.version,
        mark: detail.row.status.into(),
        kind: detail.row.topic.clone(),
        key: format!("{} #{}", detail.row.aggregate, detail.row.seq),
        actions: detail.actions.clone(),
        known: view! {
            <VerdictBand verdict=standing(detail)/>
            {order(&detail.order, &detail.row)}
        }
        .into_any(),
        moves: told::<EventStatus>(&detail.timeline, sentence),
        fields: None,
        words: None,
    };
    decision_page(TargetType::Outbox, event, about, words::decision)
}

fn shown(page: Noted<EventDetail>, query: &str) -> AnyView {
    let refused = RefusedForm::from_query(query);
    let Noted { record: detail, notes } = page;
    let row = &detail.row;
    let place = format!("/outbox/{}", row.id);
    let sub = view! {
        {format!("number {} of its aggregate · version {} as of ", row.seq, row.version)}
        <Timestamp at=detail.as_of/>
    }
    .into_any();
    let actions = detail
        .actions
        .iter()
        .map(|offer| Offered {
            offer: offer.clone(),
            label: words::offer(offer.verb).to_owned(),
            why: None,
        })
        .collect();
    let (moves, deliveries) = (detail.timeline.len(), detail.deliveries.len());
    let older = detail.timeline_older;
    let piece = Slice::asked((&place, query), "timeline", MOVES, moves);
    let told = piece.of(&told::<EventStatus>(&detail.timeline, sentence)).to_vec();
    // Only the last piece of one that is not settled reaches to now.
    let last = piece.from() + told.len() >= moves;
    let now = (last && row.settled_at.is_none()).then_some(detail.as_of);
    let tries = Slice::asked((&place, query), "deliveries", DELIVERIES, deliveries);
    let subject = Subject::new(TargetType::Outbox, row.id.to_string());
    let (mark, kind, key, version) =
        (row.status, row.topic.clone(), row.aggregate.clone(), row.version);
    let verdict = standing(&detail);
    let (lane, tried) = (order(&detail.order, row), attempts(&detail.deliveries, &tries));
    let facts = facts(&detail);
    let operation = detail
        .operation
        .clone()
        .map(|operation| related("operation", "The operation that it tells of", vec![operation]));
    let payload = detail.payload;
    let reveal = reveal_link(payload.masked, &subject, None);
    let whole = format!("{place}/payload");
    let audit = view! { <Audit audit=&detail.audit place=&place query/> }.into_any();
    let story = view! { <Moves told piece=&piece now/> }.into_any();
    view! {
        <article class="detail">
            <RecordHead subject=&subject mark kind key sub version actions/>
            <VerdictBand verdict/>
            <div class="detail-columns">
                <div class="detail-story">
                    <Part id="order" title="Order within its aggregate">
                        {lane}
                    </Part>
                    <Part id="deliveries" title="Deliveries" count=deliveries>
                        {tried}
                    </Part>
                    <Part id="payload" title="What it tells">
                        <Body body=payload label="Payload as text" whole/>
                        {reveal}
                    </Part>
                    {operation}
                    <Part id="timeline" title="Timeline" count=moves older>
                        {story}
                    </Part>
                    <Notes notes refused place=(&place, query)/>
                    {audit}
                </div>
                {facts}
            </div>
        </article>
    }
    .into_any()
}

fn attempts(deliveries: &[EventAttempt], piece: &Slice) -> AnyView {
    if deliveries.is_empty() {
        return view! { <p class="prose">"It has not been delivered yet."</p> }.into_any();
    }
    let rows = piece
        .of(deliveries)
        .iter()
        .map(|attempt| {
            let took = attempt.took_ms.map(|ms| format!(" after {}", text::length(i64::from(ms))));
            let error = attempt.error.as_deref().map(|error| {
                view! { <p class="timeline-who">{text::cut_end(error, MAX_ERROR)}</p> }
            });
            let to = attempt.destination.clone().unwrap_or_else(|| "no destination".to_owned());
            view! {
                <li>
                    <strong>{delivery(&attempt.outcome)}</strong>
                    {took}
                    " · "
                    <Timestamp at=attempt.at/>
                    {format!(" · to {to}, by {}, fence {}", attempt.owner, attempt.fence)}
                    {error}
                </li>
            }
        })
        .collect_view();
    view! { <ul class="receipt-also">{rows}</ul> {piece.ways()} }.into_any()
}

fn facts(detail: &EventDetail) -> AnyView {
    let (row, envelope) = (&detail.row, &detail.envelope);
    let event = [
        Some(fact_key("Id", row.id.to_string())),
        Some(fact_key("Topic", row.topic.clone())),
        Some(fact_key("Aggregate", row.aggregate.clone())),
        row.destination.clone().map(|name| fact_key("Destination", name)),
        row.operation_id.map(|id| fact("Operation", operation_link(id))),
        Some(fact("Refused", row.attempts.to_string())),
        Some(fact("Fence", detail.fence.to_string())),
        row.owner.clone().map(|owner| fact("Publisher", owner)),
        fact_at("Held until", row.lease_until),
        Some(fact("Written", view! { <Timestamp at=row.created_at/> })),
        fact_at("Next try", row.next_at),
        fact_at("Settled", row.settled_at),
    ];
    let envelope = vec![
        fact("CloudEvents", envelope.spec_version.clone()),
        fact_key("Source", envelope.source.clone()),
        fact_key("Sequence", envelope.sequence.clone()),
        fact_key("Partition key", envelope.partition_key.clone()),
        fact("Content type", envelope.content_type.clone()),
    ];
    view! {
        <div class="detail-facts" role="region" aria-label="Facts" tabindex="0">
            <h2 class="facts-title">"Event"</h2>
            <dl class="facts">{event.into_iter().flatten().collect_view()}</dl>
            <h2 class="facts-title">"Envelope"</h2>
            <dl class="facts">{envelope}</dl>
        </div>
    }
    .into_any()
}
