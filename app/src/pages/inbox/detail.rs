//! `/inbox/{id}`: one message, what it asks for, what may have been done already; and the forms of what
//! can be decided about it.

use domain::{
    action::{Subject, TargetType, Verb},
    inbox::InboxState,
    view::{MessageConflict, MessageDetail, MessageRow},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::words::{self, sentence, standing};
use crate::{
    api::{
        notes::{Noted, message_page},
        records::message,
        refused::RefusedForm,
    },
    components::{
        audit::Audit,
        body_view::Body,
        facts::{fact, fact_at, fact_key, times},
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
    location::href,
    pages::{
        address::query,
        record::{About, decision_page_of, record_page},
    },
    text,
};

/// Other contents under the same id that one page shows: each is a body of its own.
const OTHERS: usize = 4;

/// The page of a message.
#[component]
pub fn DetailPage() -> impl IntoView {
    let query = query();
    view! {
        <Title text="Message · Onceover"/>
        {record_page(message_page, move |page| shown(page, &query))}
    }
}

/// The form of a decision about a message.
#[component]
pub fn FormPage() -> impl IntoView {
    let about = |detail: &MessageDetail, _: Verb| About {
        version: detail.row.version,
        mark: detail.row.status.into(),
        kind: detail.row.consumer.clone(),
        key: detail.row.message_id.clone(),
        actions: detail.actions.clone(),
        known: view! {
            <VerdictBand verdict=standing(detail)/>
            {amount(detail)}
            {already(detail)}
            {effect(detail)}
            {said(detail)}
        }
        .into_any(),
        moves: told::<InboxState>(&detail.timeline, sentence),
        fields: None,
        words: None,
    };
    decision_page_of(TargetType::Inbox, message, about, words::decides, words::decision)
}

/// What would be moved, for whoever decides.
fn amount(detail: &MessageDetail) -> Option<AnyView> {
    let amount = detail.amount.as_ref()?.to_string();
    Some(view! { <dl class="facts">{fact("Amount", amount)}</dl> }.into_any())
}

/// What is said of the instant until which a message is remembered in full: it may lie before the receipt
/// of one that came too late.
fn window(row: &MessageRow) -> &'static str {
    if row.window_until < row.received_at { "Its window ended" } else { "Remembered in full until" }
}

/// What it asks to start, where it asks for anything.
fn effect(detail: &MessageDetail) -> Option<AnyView> {
    let whole = format!("/inbox/{}/effect", detail.row.id);
    let body = detail.effect.clone()?;
    Some(
        view! {
            <Part id="effect" title="What it asks to start">
                <Body body label="What it asks to start, as text" whole/>
            </Part>
        }
        .into_any(),
    )
}

/// The part about its contents, for whoever decides.
fn said(detail: &MessageDetail) -> AnyView {
    let payload = payload(detail);
    view! { <Part id="payload" title="What it says">{payload}</Part> }.into_any()
}

/// Its contents, as long as they are kept.
fn payload(detail: &MessageDetail) -> AnyView {
    let whole = format!("/inbox/{}/payload", detail.row.id);
    match detail.payload.clone() {
        Some(body) => view! { <Body body label="Message as text" whole/> }.into_any(),
        None => view! { <p class="prose">"Its contents have been removed."</p> }.into_any(),
    }
}

fn already(detail: &MessageDetail) -> Option<AnyView> {
    let title = if detail.row.status.needs_person() {
        "May have been done already"
    } else {
        "Operations beside it"
    };
    let operations = detail.related.clone();
    (!operations.is_empty()).then(|| related("related", title, operations))
}

fn shown(page: Noted<MessageDetail>, query: &str) -> AnyView {
    let refused = RefusedForm::from_query(query);
    let Noted { record: detail, notes } = page;
    let row = &detail.row;
    let place = format!("/inbox/{}", row.id);
    let sub = view! {
        {format!("from {} \u{b7} version {} as of ", row.source, row.version)}
        <Timestamp at=detail.as_of/>
    }
    .into_any();
    let actions = detail
        .actions
        .iter()
        .map(|offer| Offered {
            offer: offer.clone(),
            label: words::offer(offer.verb, row.status).to_owned(),
            why: None,
        })
        .collect();
    let (moves, older) = (detail.timeline.len(), detail.timeline_older);
    let piece = Slice::asked((&place, query), "timeline", MOVES, moves);
    let told = piece.of(&told::<InboxState>(&detail.timeline, sentence)).to_vec();
    let subject = Subject::new(TargetType::Inbox, row.id.to_string());
    let (mark, kind, key, version) =
        (row.status, row.consumer.clone(), row.message_id.clone(), row.version);
    let verdict = standing(&detail);
    let (facts, already) = (facts(&detail), already(&detail));
    let masked = [&detail.payload, &detail.effect].into_iter().flatten().map(|body| body.masked);
    let reveal = reveal_link(masked.sum(), &subject, None);
    let (effect, payload) = (effect(&detail), payload(&detail));
    let others = others(&detail.conflicts, &place, query);
    let audit = view! { <Audit audit=&detail.audit place=&place query/> }.into_any();
    let story = view! { <Moves told piece=&piece/> }.into_any();
    view! {
        <article class="detail">
            <RecordHead subject=&subject mark kind key sub version actions/>
            <VerdictBand verdict/>
            <div class="detail-columns">
                <div class="detail-story">
                    {already}
                    {effect}
                    <Part id="payload" title="What it says">
                        {payload}
                        {reveal}
                    </Part>
                    {others}
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

/// The same id with other contents: each was refused.
fn others(conflicts: &[MessageConflict], place: &str, query: &str) -> Option<AnyView> {
    if conflicts.is_empty() {
        return None;
    }
    let count = conflicts.len();
    let piece = Slice::asked((place, query), "conflicts", OTHERS, count);
    let items = piece
        .of(conflicts)
        .to_vec()
        .into_iter()
        .map(|conflict| {
            let since = text::machine_micros(conflict.first_at);
            let whole = href(&format!("{place}/other"), [("since", since.as_str())]);
            let times = match conflict.count {
                1 => "Refused once, ".to_owned(),
                many => format!("Refused {many} times, last "),
            };
            let body = match conflict.payload {
                Some(body) => {
                    view! { <Body body label="The other content as text" whole/> }.into_any()
                }
                None => view! { <p class="prose">"This content was counted and not kept."</p> }
                    .into_any(),
            };
            view! {
                <div>
                    <p class="body-view-caption">{times} <Timestamp at=conflict.last_at/></p>
                    {body}
                </div>
            }
        })
        .collect_view();
    Some(
        view! {
            <Part id="conflicts" title="Same id, other content" count>
                <div class="stack">{items}</div>
                {piece.ways()}
            </Part>
        }
        .into_any(),
    )
}

fn facts(detail: &MessageDetail) -> AnyView {
    let row = &detail.row;
    let workflow = row.workflow_id.map(|id| {
        fact("Workflow", view! { <a href=format!("/workflows/{id}")>{id.to_string()}</a> })
    });
    let facts = [
        detail.amount.as_ref().map(|amount| fact("Amount", amount.to_string())),
        Some(fact_key("Id here", row.id.to_string())),
        Some(fact_key("Id at its source", row.message_id.clone())),
        Some(fact_key("Source", row.source.clone())),
        Some(fact_key("Consumer", row.consumer.clone())),
        row.operation_id.map(|id| fact("Operation", operation_link(id))),
        workflow,
        Some(fact("Came", times(row.deliveries.into()))),
        Some(fact("Failed", times(row.failures.into()))),
        fact_at("Produced", Some(row.produced_at)),
        fact_at("First received", Some(row.received_at)),
        fact_at("Last received", Some(row.last_delivery_at)),
        fact_at(window(row), Some(row.window_until)),
        fact_at("Settled", row.settled_at),
        fact_at("Contents removed", row.shrunk_at),
    ];
    view! {
        <div class="detail-facts" role="region" aria-label="Facts" tabindex="0">
            <h2 class="facts-title">"Message"</h2>
            <dl class="facts">{facts.into_iter().flatten().collect_view()}</dl>
        </div>
    }
    .into_any()
}
