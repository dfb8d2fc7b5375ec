//! A form page's content: the verdict, why an earlier try was refused, what is known, the form.

use domain::{
    action::{Outcome, Verb},
    problem::Code,
    reconciliation::ProviderAnswer,
    view::{ActionOffer, CompensationPlan, EvidenceFile, OperationDetail, Receipt},
};
use leptos::prelude::*;

use super::{
    known::WhatIsKnown,
    refusal::RefusalSummary,
    sections::{count_facts, lease_facts},
    words::{self, Lookup, by_force},
};
use crate::{
    api::{
        actions::posted_to,
        refused::{Kept, RefusedForm},
    },
    components::{
        amount_field::amount_field,
        confirm_form::{ConfirmForm, takes_two},
        form_field::{LineField, TickField},
        given_back::given_back,
        icon::{Icon, IconName},
        key::Key,
        notice::{moved_on, would_be_refused},
        plan::plan_list,
        state_badge::StateBadge,
        verdict_band::VerdictBand,
    },
    error::{ConsoleError, Field, RefusalView},
    islands::Submit,
};

/// What the page learnt beside the record.
#[derive(Debug, Clone)]
pub struct Known {
    /// What the provider answers now; only asked for on the confirm page.
    pub answer: Option<Result<ProviderAnswer, ConsoleError>>,
    /// How it would be undone; only asked for on the page of an undo.
    pub plan: Option<CompensationPlan>,
    /// The decision that stands instead of a refused one.
    pub other: Option<Receipt>,
    /// The files that the form carries as evidence.
    pub files: Vec<EvidenceFile>,
    /// What was typed before a file was attached, or before its sender proved who they are.
    pub kept: Option<Kept>,
    /// The version that the form was opened at, where the record has moved on since: the decision is
    /// still about that one, so that sending it again finds its receipt (D41).
    pub opened_at: Option<i64>,
}

/// The content.
#[component]
pub fn FormBody<'a>(
    /// The operation as it is now.
    detail: &'a OperationDetail,
    /// The action.
    verb: Verb,
    /// What else is known.
    known: Known,
    /// Why it was refused, where it was, and what had been typed.
    refused: Option<RefusedForm>,
) -> impl IntoView {
    let row = &detail.row;
    let offer = detail.actions.iter().find(|offer| offer.verb == verb).cloned();
    let (refusal, kept) = refused.map(|refused| (refused.refusal, refused.kept)).unzip();
    let kept = kept.or(known.kept).unwrap_or_default();
    let refused = refusal.as_ref().map(|refusal| {
        let other = known.other.as_ref();
        view! { <RefusalSummary refusal verb detail other/> }.into_any()
    });
    let hint = refusal.is_none().then(|| offer.as_ref().and_then(|offer| hint(offer, detail)));
    let hint = hint.flatten();
    let moved_on =
        known.opened_at.map(|at| moved_on("operation", at, row.status.label(), row.version));
    let enabled = known.opened_at.is_some()
        || verb.fits(row.status)
            && offer.as_ref().is_none_or(|offer| {
                offer.missing.is_none()
                    && (offer.refusal != Some(Code::NotAllowedInState) || by_force(offer, detail))
            });
    let facts = match verb {
        Verb::Confirm => view! { <WhatIsKnown detail answer=known.answer/> }.into_any(),
        Verb::Release => {
            view! { <dl class="facts">{lease_facts(detail)} {count_facts(detail)}</dl> }.into_any()
        }
        Verb::Compensate => match &known.plan {
            Some(plan) => view! {
                <section class="section" aria-labelledby="plan">
                    <h2 class="section-title" id="plan">"What would be undone"</h2>
                    {plan_list(plan)}
                </section>
            }
            .into_any(),
            None => ().into_any(),
        },
        _ => ().into_any(),
    };
    let mut decided_on = detail.clone();
    decided_on.row.version = known.opened_at.unwrap_or(row.version);
    let forced = offer.as_ref().is_some_and(|offer| by_force(offer, detail))
        || verb == Verb::Release && kept.force;
    let force = forced.then(|| force(kept.force));
    let form = form(&decided_on, verb, refusal.as_ref(), (kept, force), &known.files, enabled);
    view! {
        <article class="detail">
            <header class="detail-head">
                <div class="detail-name">
                    <p class="detail-kind">
                        <StateBadge status=row.status tombstoned=row.tombstoned/>
                        <span>{row.operation.clone()}</span>
                        <a href=format!("/operations/{}", row.id)>
                            <Key text=row.key.clone() whole=true/>
                        </a>
                    </p>
                    <h1 class="detail-key">{words::title(verb, row.status)}</h1>
                    <p class="detail-sub">{format!("version {}", row.version)}</p>
                </div>
            </header>
            {refused}
            {given_back()}
            {hint}
            {moved_on}
            <VerdictBand verdict=detail.verdict.clone()/>
            {facts}
            {form}
        </article>
    }
    .into_any()
}

/// Why an action would be refused now, before anybody tries.
fn hint(offer: &ActionOffer, detail: &OperationDetail) -> Option<AnyView> {
    let code = offer.refusal.or_else(|| offer.missing.map(|_| Code::PermissionMissing))?;
    let forced = by_force(offer, detail);
    let more =
        forced.then(|| "The worker still beats: the box below asks a second person.".to_owned());
    Some(would_be_refused(code, offer.missing, more))
}

/// The box that takes the lease all the same.
fn force(ticked: bool) -> AnyView {
    view! {
        <TickField
            field=Field::Force
            help="The worker may be calling the provider at this moment. Ticked, this asks a second person, \
                  and nothing is released until they agree. Left empty, it is refused for as long as the \
                  worker beats."
            ticked
        />
    }
    .into_any()
}

fn form(
    detail: &OperationDetail,
    verb: Verb,
    refusal: Option<&RefusalView>,
    (kept, force): (Kept, Option<AnyView>),
    files: &[EvidenceFile],
    enabled: bool,
) -> AnyView {
    let status = detail.row.status;
    let asks =
        verb == Verb::Confirm && Outcome::ALL.into_iter().any(|outcome| takes_two(detail, outcome));
    let second = asks.then_some(
        "Where your choice takes a second person, nothing is decided until somebody else agrees.",
    );
    let consequence = view! {
        <div class="consequence">
            <Icon name=IconName::Info/>
            <p>{words::consequence(verb, status, Lookup::of(detail))} {second}</p>
        </div>
    }
    .into_any();
    if matches!(verb, Verb::Confirm | Verb::Correct) {
        return view! { <ConfirmForm verb detail kept files refusal enabled consequence/> }
            .into_any();
    }
    let amount = detail.row.amount.as_ref().filter(|_| verb == Verb::Compensate);
    let amount = amount.map(|record| amount_field(verb, record, &kept, refusal));
    let label = words::title(verb, status);
    view! {
        <form class="form" method="post" action=posted_to(verb) aria-label=label>
        <input type="hidden" name="id" value=detail.row.id.to_string()/>
        <input type="hidden" name="version" value=detail.row.version.to_string()/>
        {amount}
        <LineField
            field=Field::Reason
            help="Why, in a sentence. It stays on the record under your name."
            value=kept.reason
            refusal
        />
        {force}
        {consequence}
        <div class="form-actions">
            <Submit
                label=words::button(verb, status)
                choices=Vec::new()
                busy="Sending"
                enabled
            />
            <a class="button" href=format!("/operations/{}", detail.row.id)>
                "Back without doing it"
            </a>
        </div>
        </form>
    }
    .into_any()
}
