//! `/approvals/{id}`: one request, what was seen when it was asked for beside what is now, and the forms
//! of the second person and of whoever takes it back.

use domain::{
    access::Permission,
    action::{Subject, TargetType, Verb},
    approval::ApprovalStatus,
    problem::Code,
    view::{ActionOffer, ApprovalView},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::{
    difference::{between, difference},
    list::what,
};
use crate::{
    api::{
        records::{approval, permits},
        weighing::{Weighing, weighing},
    },
    components::{
        facts::{fact, fact_at, fact_key, fact_text, text_or_link},
        part::Part,
        receipt_view::files,
        record_head::{Offered, RecordHead},
        timestamp::Timestamp,
        verdict_band::{Standing, VerdictBand},
    },
    pages::{
        address::verb,
        record::{About, Words, decision_page, record_page},
    },
};

/// The page of a request.
#[component]
pub fn DetailPage() -> impl IntoView {
    view! {
        <Title text="Request · Onceover"/>
        {record_page(approval, |request| shown(&request))}
    }
}

/// The form of a decision about a request.
#[component]
pub fn FormPage() -> impl IntoView {
    // The provider is asked where somebody is about to agree, not for everybody who looks.
    let ask = verb() == Some(Verb::Approve);
    let about = |weighing: &Weighing, _: Verb| {
        let request = &weighing.request;
        About {
            version: request.version,
            mark: request.status.into(),
            kind: "request".to_owned(),
            key: what(request),
            actions: offers(request),
            known: view! {
                <VerdictBand verdict=standing(request)/>
                <dl class="facts">{record(request)} {asked(request)}</dl>
                {difference(request, &weighing.says)}
                {between(request)}
            }
            .into_any(),
            moves: Vec::new(),
            fields: None,
            words: None,
        }
    };
    decision_page(TargetType::Approval, move |id| weighing(id, ask), about, words)
}

/// What the reader may do; the command checks again, the right's age among it.
fn offers(request: &ApprovalView) -> Vec<ActionOffer> {
    if request.status != ApprovalStatus::Pending {
        return Vec::new();
    }
    let may = permits(Permission::Approve).unwrap_or_default();
    let second = |verb| ActionOffer {
        verb,
        refusal: (request.mine).then_some(Code::SecondPersonRequired),
        missing: (!may).then_some(Permission::Approve),
    };
    let mut offers = vec![second(Verb::Approve), second(Verb::Reject)];
    if request.mine {
        offers.insert(0, ActionOffer { verb: Verb::Withdraw, refusal: None, missing: None });
    }
    offers
}

fn standing(request: &ApprovalView) -> Standing {
    let by = request.decided_by.as_deref().unwrap_or("Somebody");
    match request.status {
        ApprovalStatus::Pending => {
            let may = if request.may_approve.is_empty() {
                "Nobody in this tenant may approve it now.".to_owned()
            } else {
                format!("Who may approve it: {}.", request.may_approve.join(", "))
            };
            let moved = request.now.as_ref().filter(|now| now.version != request.seen.version);
            let moved = moved.map(|now| {
                format!(
                    "The record has moved from version {} to {} since: approving it is refused, and the request is void.",
                    request.seen.version, now.version
                )
            });
            Standing::person("It waits for a second person. Nothing has been done yet.")
                .grounds([request.why.clone(), may].into_iter().chain(moved))
        }
        ApprovalStatus::Approved => {
            Standing::over(format!("{by} approved it, and it was carried out once."))
        }
        ApprovalStatus::Rejected => Standing::over(format!("{by} rejected it. Nothing was done.")),
        ApprovalStatus::Withdrawn => {
            Standing::over("Its requester took it back. Nothing was done.")
        }
        ApprovalStatus::Stale => {
            Standing::over("Void: the record moved on before anybody approved. Nothing was done.")
        }
        ApprovalStatus::Expired => Standing::over("Nobody decided in time. Nothing was done."),
    }
}

fn shown(request: &ApprovalView) -> AnyView {
    let sub = view! {
        {format!("{} asked for it, ", request.requester)} <Timestamp at=request.requested_at/>
        ", it expires " <Timestamp at=request.expires_at/>
    }
    .into_any();
    let actions = offers(request)
        .into_iter()
        .map(|offer| {
            let why = (request.mine && offer.verb != Verb::Withdraw)
                .then(|| "You asked for it: somebody else decides, whatever your role.".to_owned());
            Offered { label: label(offer.verb).to_owned(), why, offer }
        })
        .collect();
    let subject = Subject::new(TargetType::Approval, request.id.to_string());
    let asked = asked(request);
    let changes = request.changes.clone();
    let changes = (!changes.is_empty()).then(|| {
        let items = changes.into_iter().map(|change| view! { <li>{change}</li> }).collect_view();
        view! { <Part id="changes" title="What would change"><ul class="receipt-followed">{items}</ul></Part> }
            .into_any()
    });
    let (difference, between) = (difference(request, &None), between(request));
    view! {
        <article class="detail">
            <RecordHead
                subject=&subject
                mark=request.status
                kind="request".to_owned()
                key=request.id.to_string()
                title=what(request)
                sub
                version=request.version
                actions
            />
            <VerdictBand verdict=standing(request)/>
            <div class="detail-columns">
                <div class="detail-story">
                    <Part id="asked" title="What is asked for">
                        <dl class="facts">{asked}</dl>
                    </Part>
                    {changes}
                    <Part id="difference" title="Then and now">
                        {difference}
                    </Part>
                    {between}
                </div>
                {facts(request)}
            </div>
        </article>
    }
    .into_any()
}

fn asked(request: &ApprovalView) -> Vec<AnyView> {
    [
        Some(fact("Decision", what(request))),
        Some(fact_text("Reason", request.reason.clone())),
        request.evidence.clone().map(|evidence| fact("Evidence", text_or_link(evidence))),
        files(&request.target, &request.evidence_files),
        request.external_reference.clone().map(|reference| fact_key("Reference", reference)),
        request.amount.as_ref().map(|amount| fact("Amount at stake", amount.to_string())),
        request.force.then(|| fact("By force", "the worker still beats")),
        request.overrides.then(|| fact("Against the provider\u{2019}s word", "yes")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The record that it is about, as a link.
fn record(request: &ApprovalView) -> AnyView {
    let place = format!("{}/{}", request.target_type.pages(), request.target);
    fact("Record", view! { <a href=place>{request.target_key.clone()}</a> })
}

fn facts(request: &ApprovalView) -> AnyView {
    let words = match request.status {
        ApprovalStatus::Approved => "What was carried out",
        _ => "What was decided",
    };
    let receipt = request
        .receipt
        .map(|id| fact("Receipt", view! { <a href=format!("/receipts/{id}")>{words}</a> }));
    let facts = [
        Some(record(request)),
        Some(fact("Kind", request.target_operation.clone())),
        Some(fact("Asked by", format!("{} ({})", request.requester, request.requester_email))),
        fact_at("Asked", Some(request.requested_at)),
        fact_at("Expires", Some(request.expires_at)),
        request.decided_by.clone().map(|by| fact("Decided by", by)),
        fact_at("Decided", request.decided_at),
        request.decision_reason.clone().map(|reason| fact_text("Said to it", reason)),
        receipt,
        Some(fact_key("Request", request.id.to_string())),
    ];
    view! {
        <div class="detail-facts" role="region" aria-label="Facts" tabindex="0">
            <h2 class="facts-title">"Request"</h2>
            <dl class="facts">{facts.into_iter().flatten().collect_view()}</dl>
        </div>
    }
    .into_any()
}

const fn label(verb: Verb) -> &'static str {
    match verb {
        Verb::Approve => "Approve: it is carried out now",
        Verb::Reject => "Reject: nothing is done",
        _ => "Withdraw: take it back",
    }
}

fn words(verb: Verb) -> Option<Words> {
    match verb {
        Verb::Approve => Some(Words::new(
            "Approve the request",
            label(verb),
            "The decision is carried out at once, under both names, exactly as it was asked for. If the record \
             or the provider\u{2019}s word differs from what was seen, it is refused and the request is void.",
        )),
        Verb::Reject => Some(Words::new(
            "Reject the request",
            label(verb),
            "Nothing is done; your reason stands beside the request. The same can be asked for again.",
        )),
        Verb::Withdraw => Some(Words::new(
            "Withdraw the request",
            label(verb),
            "Nothing is done, and nobody can approve it any more. The same can be asked for again.",
        )),
        _ => None,
    }
}
