//! The form of a decision about a record that is no operation: what it is about, what follows, why an
//! earlier try was refused, the reason, the button that names what happens.
//!
//! The record's page gives the words; the fields, the version that was decided on (D41) and the refusal
//! are the same everywhere.

use domain::{
    action::{Subject, TargetType, Verb},
    problem::Code,
    view::{ActionOffer, Receipt},
};
use leptos::prelude::*;

use super::{
    form_field::LineField,
    given_back::given_back,
    icon::{Icon, IconName},
    moves::Told,
    notice::{moved_on, right, would_be_refused},
    receipt_view::decided,
    refusal_summary::{refusal_frame, to_mend},
    timestamp::Timestamp,
};
use crate::{
    api::{actions::RECORDS, refused::RefusedForm},
    error::{Field, RefusalView},
    held::HeldForm,
    islands::Submit,
};

/// What a form page says about its decision.
#[derive(Debug, Clone)]
pub struct Decision {
    /// About which record.
    pub target: Subject,
    /// What.
    pub verb: Verb,
    /// The record's version now.
    pub version: i64,
    /// The version that the form was opened at, where the record has moved on since.
    pub opened_at: Option<i64>,
    /// Where the record stands now, in a word.
    pub state: String,
    /// The record's moves, by which a stale form is told what changed.
    pub moves: Vec<Told>,
    /// Whether it can be done, and by whom; `None` where the record does not offer it at all.
    pub offer: Option<ActionOffer>,
    /// The heading, such as *Requeue the event*.
    pub title: String,
    /// What follows, in a sentence or two.
    pub consequence: String,
    /// The button: what happens.
    pub button: String,
}

/// The form and what stands above it.
#[component]
pub fn RecordForm<'a>(
    /// What is decided.
    decision: Decision,
    /// Why it was refused, where it was, and what had been typed.
    refused: Option<RefusedForm>,
    /// The decision that stands instead of a refused one.
    #[prop(optional_no_strip)]
    other: Option<&'a Receipt>,
    /// Fields that this decision has beside the reason.
    #[prop(optional_no_strip)]
    fields: Option<AnyView>,
) -> impl IntoView {
    let Decision { target, verb, version, opened_at, state, offer, consequence, .. } =
        decision.clone();
    let (refusal, kept) = refused.map(|refused| (refused.refusal, refused.kept)).unzip();
    let held = HeldForm::of_request();
    let kept = kept.or_else(|| held.as_ref().map(HeldForm::kept)).unwrap_or_default();
    let summary = refusal.as_ref().map(|refusal| summary(refusal, &decision, other));
    let hint = refusal.is_none().then(|| hint(offer.as_ref(), &state)).flatten();
    let moved_on = opened_at.map(|at| moved_on(target.kind.label(), at, &state, version));
    // Elsewhere a second person is asked by sending the form; one's own request takes somebody else.
    let own = target.kind == TargetType::Approval
        && offer.as_ref().is_some_and(|offer| offer.refusal == Some(Code::SecondPersonRequired));
    let enabled = !own
        && (opened_at.is_some()
            || offer.is_some_and(|offer| {
                offer.missing.is_none() && offer.refusal != Some(Code::NotAllowedInState)
            }));
    let back = format!("{}/{}", target.kind.pages(), target.id);
    view! {
        {summary}
        {given_back()}
        {hint}
        {moved_on}
        <form class="form" method="post" action=RECORDS aria-label=decision.title>
            <input type="hidden" name="target_type" value=target.kind.as_str()/>
            <input type="hidden" name="id" value=target.id/>
            <input type="hidden" name="verb" value=verb.as_str()/>
            <input type="hidden" name="version" value=opened_at.unwrap_or(version).to_string()/>
            {fields}
            <LineField
                field=Field::Reason
                help="Why, in a sentence. It stays on the record under your name."
                value=kept.reason
                refusal=refusal.as_ref()
            />
            <div class="consequence">
                <Icon name=IconName::Info/>
                <p>{consequence}</p>
            </div>
            <div class="form-actions">
                <Submit label=decision.button choices=Vec::new() busy="Sending" enabled/>
                <a class="button" href=back>"Back without doing it"</a>
            </div>
        </form>
    }
    .into_any()
}

/// Why the action was refused; it takes the focus as the page comes.
fn summary(refusal: &RefusalView, decision: &Decision, other: Option<&Receipt>) -> AnyView {
    let code = refusal.code;
    let particulars = match code {
        Code::Unprocessable => refusal.field.map(to_mend),
        Code::Stale | Code::NotAllowedInState => {
            let shown = refusal.shown.filter(|shown| *shown != decision.version);
            let shown = shown.map(|shown| format!("Your page showed version {shown}. "));
            let words = format!(
                "{}It is {} now, at version {}.",
                shown.unwrap_or_default(),
                decision.state,
                decision.version
            );
            let since = refusal.shown.map(|shown| since(shown, &decision.moves));
            Some(view! { <p>{words}</p> {since} }.into_any())
        }
        Code::PermissionMissing => Some(right(
            refusal.missing.unwrap_or(decision.verb.permission_on(decision.target.kind)),
        )),
        Code::TooEarly => {
            refusal.at.map(|at| view! { <p>"Possible from " <Timestamp at/> "."</p> }.into_any())
        }
        Code::DecidedOtherwise => {
            other.filter(|other| other.target == decision.target.id).map(|other| {
                view! {
                    <p>
                        {format!("{}: {}, ", other.actor, decided(other))} <Timestamp at=other.at/>
                        ". " <a href=format!("/receipts/{}", other.id)>"Read its receipt"</a>
                    </p>
                }
                .into_any()
            })
        }
        _ => None,
    };
    refusal_frame(code, particulars.into_any())
}

/// Who did what since the page was shown, as far as its moves are read.
fn since(shown: i64, moves: &[Told]) -> Option<AnyView> {
    let moved = moves.iter().filter(|told| told.step.version > shown);
    let items: Vec<_> = moved
        .map(|told| {
            let what =
                format!(", {}: {} Version {}.", told.step.actor, told.sentence, told.step.version);
            view! {
                <li>
                    <Timestamp at=told.step.at/>
                    {what}
                </li>
            }
        })
        .collect();
    (!items.is_empty()).then(|| view! { <ul>{items}</ul> }.into_any())
}

/// Why the action would be refused now, before anybody tries.
fn hint(offer: Option<&ActionOffer>, state: &str) -> Option<AnyView> {
    let (code, missing) = match offer {
        None => (Code::NotAllowedInState, None),
        Some(offer) => {
            let code = offer.refusal.or_else(|| offer.missing.map(|_| Code::PermissionMissing))?;
            (code, offer.missing)
        }
    };
    let stands = (code == Code::NotAllowedInState).then(|| format!("It is {state} now."));
    Some(would_be_refused(code, missing, stands))
}
