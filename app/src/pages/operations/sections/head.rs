//! An operation's header: where it stands, its key, the one sensible action and the others.

use domain::{
    action::Verb,
    operation::Status,
    problem::Code,
    view::{ActionOffer, ApprovalView, EvidenceView, OperationDetail, OperationRow},
};
use leptos::prelude::*;

use super::super::words::{self, has_form};
use crate::{
    components::{
        amount::Amount,
        gather_link::gather_link,
        icon::{Icon, IconName},
        key::Key,
        notice::{Notice, Tone, lacks},
        state_badge::{StateBadge, flags},
        timestamp::Timestamp,
    },
    islands::CopyButton,
    text,
};

/// State, key, version and actions.
#[component]
pub fn Head<'a>(
    /// The operation.
    detail: &'a OperationDetail,
) -> impl IntoView {
    let row = &detail.row;
    let amount = row.amount.clone().map(|amount| {
        view! { <Amount amount=Some(amount)/> " · " }
    });
    let (main, rest) = words::arrange(&detail.actions, row.status, row.needs_manual);
    let main = main.map(|offer| main_action(detail, &offer));
    let menu = rest.iter().any(linked).then(|| {
        view! {
            <details class="menu">
                <summary class="button">"Other actions"</summary>
                <ul class="menu-list">
                    {rest.iter().filter(|offer| linked(offer)).map(|offer| menu_item(detail, offer)).collect_view()}
                </ul>
            </details>
        }
    });
    view! {
        <header class="detail-head">
            <div class="detail-name">
                <p class="detail-kind">
                    <StateBadge status=row.status tombstoned=row.tombstoned/>
                    <span>{row.operation.clone()}</span>
                    {flags(row)}
                </p>
                <div class="detail-title">
                    <h1 class="detail-key">
                        <Key text=row.key.clone() whole=true/>
                    </h1>
                    <CopyButton text=row.key.clone() what="the key" link=false>
                        <Icon name=IconName::Copy/>
                    </CopyButton>
                </div>
                <p class="detail-sub">
                    {amount}
                    {format!("version {} as of ", row.version)}
                    <Timestamp at=detail.as_of/>
                    " "
                    <CopyButton text=format!("/operations/{}", row.id) what="link" link=true>
                        <Icon name=IconName::Copy/>
                    </CopyButton>
                </p>
            </div>
            <div class="detail-actions">{main} {menu} {gather_link(row.id.into())}</div>
        </header>
    }
    .into_any()
}

fn href(detail: &OperationDetail, offer: &ActionOffer) -> String {
    // The version that was read when the decision began: after Back it is still the one decided on.
    format!("/operations/{}/{}?version={}", detail.row.id, offer.verb, detail.row.version)
}

/// Whether the page has a form for it; what has none is left to the JSON API.
fn linked(offer: &ActionOffer) -> bool {
    has_form(offer.verb)
}

fn main_action(detail: &OperationDetail, offer: &ActionOffer) -> AnyView {
    let label = words::offer(offer.verb, detail.row.status);
    match why_not(detail, offer) {
        None => view! {
            <a class="button button--primary" href=href(detail, offer)>
                {label}
            </a>
        }
        .into_any(),
        Some(why) => view! {
            <div>
                <span class="button button--primary" role="link" aria-disabled="true">
                    {label}
                </span>
                <p class="menu-why">{why} " " {forced(detail, offer)}</p>
            </div>
        }
        .into_any(),
    }
}

fn menu_item(detail: &OperationDetail, offer: &ActionOffer) -> AnyView {
    let label = words::offer(offer.verb, detail.row.status);
    match why_not(detail, offer) {
        None => view! {
            <li>
                <a class="menu-item" href=href(detail, offer)>
                    {label}
                </a>
            </li>
        }
        .into_any(),
        Some(why) => view! {
            <li>
                <span class="menu-item" role="link" aria-disabled="true">
                    {label}
                    <span class="menu-why">{why}</span>
                </span>
                {forced(detail, offer)}
            </li>
        }
        .into_any(),
    }
}

/// The way to the form that takes a lease from a worker that beats: never the button itself, for a look at
/// a call that goes well is no reason to end it.
fn forced(detail: &OperationDetail, offer: &ActionOffer) -> Option<AnyView> {
    words::by_force(offer, detail).then(|| {
        view! { <a href=href(detail, offer)>"Release it all the same, with a second person"</a> }
            .into_any()
    })
}

/// Why an action cannot be taken. What a person could still look into keeps its link: its page says
/// more, and the server decides.
fn why_not(detail: &OperationDetail, offer: &ActionOffer) -> Option<String> {
    if let Some(missing) = offer.missing {
        return Some(lacks(missing));
    }
    match offer.refusal? {
        Code::NotAllowedInState if offer.verb == Verb::Release => {
            Some(match detail.row.lease.beat_at {
                Some(beat) => {
                    format!("The worker still beats: last {}.", text::ago(beat, detail.as_of))
                }
                None => "Nobody holds it.".to_owned(),
            })
        }
        Code::TooEarly | Code::SecondPersonRequired | Code::ApprovalPending => None,
        code => Some(code.title().to_owned()),
    }
}

/// What somebody must know before they read on.
#[component]
pub fn Banners<'a>(
    /// The operation.
    detail: &'a OperationDetail,
) -> impl IntoView {
    let row = &detail.row;
    let conflict = row.conflict.then(|| {
        view! {
            <Notice
                tone=Tone::Caution
                title="The same key came with another payload; it was refused."
            >
                <a href="#conflicts">
                    "Compare the two"
                </a>
            </Notice>
        }
    });
    let incident = row.open_incident.then(|| {
        let facts = row.status.is_final().then(|| both_facts(detail));
        let title = if row.status.is_final() {
            "Disputed: evidence contradicts the recorded outcome."
        } else {
            "An incident about this operation is open."
        };
        view! {
            <Notice tone=Tone::Caution title>
                {facts}
                <a href="#incidents">
                    "Read the incident"
                </a>
            </Notice>
        }
    });
    let waiting: Vec<_> = detail.approvals.iter().map(waits).collect();
    let corrected = detail.corrections.first().map(|latest| {
        let word = if latest.happened { "it happened" } else { "it did not happen" };
        let title = format!(
            "Corrected to: {word}, by {}, approved by {}.",
            latest.corrected_by, latest.approved_by
        );
        let reason = latest.reason.clone();
        view! {
            <Notice tone=Tone::Caution title>
                <p>{reason}</p>
            </Notice>
        }
    });
    let tombstone = detail.tombstoned_at.map(|at| {
        let title = format!("Its contents expired on {}; the key stays closed.", text::instant(at));
        view! { <Notice tone=Tone::Neutral title/> }
    });
    let taken = row.taken_by.clone().map(|who| {
        view! { <Notice tone=Tone::Neutral title=format!("{who} has taken it.")/> }
    });
    let nothing = waiting.is_empty()
        && corrected.is_none()
        && conflict.is_none()
        && incident.is_none()
        && tombstone.is_none()
        && taken.is_none();
    if nothing {
        return ().into_any();
    }
    view! {
        <div class="banners">
            {waiting} {corrected} {incident} {conflict} {tombstone} {taken}
        </div>
    }
    .into_any()
}

/// What is recorded beside what contradicts it: neither alone is what is known.
fn both_facts(detail: &OperationDetail) -> AnyView {
    let row = &detail.row;
    let happened = row.status == Status::Succeeded;
    let recorded = match (happened, row.external_reference.as_deref()) {
        (true, Some(reference)) => format!("Recorded: it happened, under {reference}."),
        (true, None) => "Recorded: it happened.".to_owned(),
        (false, _) => "Recorded: it did not happen.".to_owned(),
    };
    let against = detail.evidence.iter().filter(|evidence| contradicts(row, evidence)).map(said);
    let against: Vec<_> = against.collect();
    let said = match against.is_empty() {
        true => view! { <li>"Against it: what the incident says."</li> }.into_any(),
        false => against
            .into_iter()
            .map(|said| view! { <li>{format!("Against it: {said}")}</li> })
            .collect_view()
            .into_any(),
    };
    view! { <ul class="disputed"><li>{recorded}</li> {said}</ul> }.into_any()
}

/// Whether a piece of evidence says otherwise than the record, refuted or not: both stay on it.
fn contradicts(row: &OperationRow, evidence: &EvidenceView) -> bool {
    let other = evidence.external_reference.is_some()
        && row.external_reference.is_some()
        && evidence.external_reference != row.external_reference;
    match (row.status, evidence.says.as_str()) {
        (Status::Succeeded, "rejected" | "absent" | "not_done") => true,
        (Status::Succeeded, "done") => other,
        (_, says) => says == "done",
    }
}

fn said(evidence: &EvidenceView) -> String {
    let source = match evidence.source.as_str() {
        "worker" => "a worker",
        "webhook" => "the provider\u{2019}s webhook",
        "lookup" => "a lookup at the provider",
        _ => "a person",
    };
    let what = match evidence.says.as_str() {
        "done" => "it happened",
        "rejected" => "it was rejected",
        "absent" => "it is not there",
        _ => "it was not taken",
    };
    let under =
        evidence.external_reference.as_ref().map(|reference| format!(", under {reference}"));
    format!("{source} says {what}{}.", under.unwrap_or_default())
}

/// A request for a second person: what was asked, why it takes two, and who may approve it.
fn waits(asked: &ApprovalView) -> AnyView {
    let what = match asked.outcome {
        Some(outcome) => format!("{}: {}", asked.verb, outcome.label()),
        None => asked.verb.to_string(),
    };
    let title = format!("Waits for a second person: {what}.");
    let may = if asked.may_approve.is_empty() {
        "Nobody in this tenant may approve it now.".to_owned()
    } else {
        format!("Who may approve it: {}.", asked.may_approve.join(", "))
    };
    let (why, expires_at, id) = (asked.why.clone(), asked.expires_at, asked.id.to_string());
    let place = format!("/approvals/{id}");
    let who = format!("{} asked for it: \u{201c}{}\u{201d}", asked.requester, asked.reason);
    view! {
        <div id="approvals">
            <Notice tone=Tone::Caution title code=Code::ApprovalPending>
                <p>{who}</p>
                <p>{why} " Nothing has been done yet. " {may}</p>
                <p>
                    "It expires " <Timestamp at=expires_at/> ". "
                    <a href=place>"The request"</a> " " <Key text=id whole=true/>
                </p>
            </Notice>
        </div>
    }
    .into_any()
}
