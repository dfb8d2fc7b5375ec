//! The form that ends an uncertainty, or puts right what was confirmed. Nothing is preselected, for the
//! choice is the decision; only a form that was held comes back with its sender's own.

use domain::{
    action::{Outcome, Verb},
    ids::OperationId,
    problem::Code,
    view::{EvidenceFile, OperationDetail},
};
use leptos::prelude::*;

use super::{
    amount_field::amount_field,
    evidence_files::{file_field, file_list},
    form_field::{AreaField, LineField, TickField, described, is_wrong},
    icon::{Icon, IconName},
};
use crate::{
    api::{
        actions::posted_to,
        refused::{Kept, ids},
    },
    error::{Field, RefusalView},
    islands::Submit,
    text,
};

/// The form.
#[component]
pub fn ConfirmForm<'a>(
    /// Confirm or correct.
    verb: Verb,
    /// The operation.
    detail: &'a OperationDetail,
    /// What was typed before a refusal.
    kept: Kept,
    /// The files that were attached for this decision.
    files: &'a [EvidenceFile],
    /// Why it was refused, where it was.
    refusal: Option<&'a RefusalView>,
    /// Whether the reader may send it.
    enabled: bool,
    /// What follows, for the line above the button.
    consequence: AnyView,
) -> impl IntoView {
    let row = &detail.row;
    let correct = verb == Verb::Correct;
    let amount = row.amount.as_ref().filter(|_| !correct);
    let amount = amount.map(|record| amount_field(verb, record, &kept, refusal));
    let chosen = kept.outcome;
    let choices =
        if correct { corrections(chosen, refusal) } else { choices(detail, chosen, refusal) };
    let against = verb == Verb::Confirm
        && (kept.overrides
            || refusal.is_some_and(|refusal| refusal.code == Code::ProviderContradicts));
    let (title, label, busy, labels) = if correct {
        ("Correct the outcome", "Ask for the chosen correction", "Sending", Vec::new())
    } else {
        (
            "Confirm the outcome",
            // Whether it confirms or asks is for the box below, which the button does not follow.
            if against { "Send the chosen outcome" } else { "Confirm the chosen outcome" },
            if detail.kind.lookup { "Asking the provider, then deciding" } else { "Deciding" },
            if against { Vec::new() } else { labels(detail) },
        )
    };
    let without = without_evidence(&kept, files);
    let overriding = against.then(|| overriding(kept.overrides));
    let reference = view! {
        <LineField
            field=Field::ExternalReference
            help="Required if it happened: the reference under which the provider keeps it."
            value=kept.external_reference
            refusal
            note="if it happened"
            mono=true
        />
    }
    .into_any();
    let reason = view! {
        <LineField
            field=Field::Reason
            help="How you know, in a sentence. It stays on the record under your name."
            value=kept.reason
            refusal
        />
    }
    .into_any();
    let evidence = view! {
        <AreaField
            field=Field::Evidence
            help="A text or a link that others can check: the provider\u{2019}s page, a ticket, what was said by whom."
            note="expected"
            kept=kept.evidence
            cut=kept.cut
            refusal
        />
    }
    .into_any();
    let attached = attached(row.id, verb, files, refusal, enabled);
    // Enter in a line sends the form by its first button, and that one must be the decision's.
    let first = enabled.then(|| {
        view! { <button class="visually-hidden" type="submit" tabindex="-1" aria-hidden="true">{label}</button> }
    });
    let (id, version) = (row.id.to_string(), row.version.to_string());
    let back = format!("/operations/{id}");
    view! {
        <form class="form" method="post" action=posted_to(verb) aria-label=title>
            <input type="hidden" name="id" value=id/>
            <input type="hidden" name="version" value=version/>
            {first}
            {choices} {reference} {amount} {reason} {evidence} {attached} {overriding}
            {consequence}
            {without}
            <div class="form-actions">
                <Submit
                    label
                    choices=labels
                    busy
                    enabled
                />
                <a class="button" href=back>
                    "Back without deciding"
                </a>
            </div>
        </form>
    }
    .into_any()
}

/// The way on where the contrary is said: only a form that was refused for it has one, so that nobody
/// overrides what they have not read.
fn overriding(ticked: bool) -> AnyView {
    view! {
        <TickField
            field=Field::Override
            help="The provider or the record says the contrary of what you chose. Ticked, this asks a second \
                  person, and nothing is decided until they agree. Then what says the contrary stays on the \
                  record beside both names, and an incident keeps the outcome disputed. Left empty, it is \
                  refused again for as long as the contrary is said."
            ticked
        />
    }
    .into_any()
}

/// Whether an outcome takes two people, as far as the record tells: money that did not move, and amounts
/// from the kind's threshold on (A5). What contradicts it may ask for a second person besides.
pub(crate) fn takes_two(detail: &OperationDetail, outcome: Outcome) -> bool {
    match outcome {
        Outcome::Happened => detail.kind.approval_threshold_minor.is_some_and(|threshold| {
            detail.row.amount.as_ref().is_none_or(|money| money.amount_minor >= threshold)
        }),
        Outcome::NotHappenedRetry | Outcome::NotHappenedStop => detail.kind.money,
    }
}

/// The button's words by the choice.
fn labels(detail: &OperationDetail) -> Vec<(String, String)> {
    Outcome::ALL
        .into_iter()
        .map(|outcome| {
            let words = match outcome {
                Outcome::Happened => "it happened",
                Outcome::NotHappenedRetry => "it did not happen, try again",
                Outcome::NotHappenedStop => "it did not happen, stop",
            };
            let does =
                if takes_two(detail, outcome) { "Ask for a second person" } else { "Confirm" };
            (outcome.as_str().to_owned(), format!("{does}: {words}"))
        })
        .collect()
}

/// What the receipt will lack. It stands there while nothing is written, which the style sheet sees;
/// where words came back after a refusal, once they are unticked.
fn without_evidence(kept: &Kept, files: &[EvidenceFile]) -> Option<AnyView> {
    if !files.is_empty() {
        return None;
    }
    let (missing, unticked) = match kept.evidence.is_empty() {
        true => (Some("evidence"), None),
        false => (None, Some("evidence")),
    };
    Some(
        view! {
            <div class="consequence" data-missing=missing data-unticked=unticked>
                <Icon name=IconName::Warning/>
                <p>
                    "If the evidence stays empty, the receipt shows your reason and your name alone: no \
                     page, ticket or statement by which somebody else can check the decision."
                </p>
            </div>
        }
        .into_any(),
    )
}

/// The files that the decision rests on, and the button that adds one: it sends the form as it is to
/// the one address that takes files, which leads back here.
fn attached(
    id: OperationId,
    verb: Verb,
    files: &[EvidenceFile],
    refusal: Option<&RefusalView>,
    enabled: bool,
) -> AnyView {
    let carried: Vec<_> = files.iter().map(|file| file.id).collect();
    view! {
        <div class="field-group">
            {file_list(id, files)}
            <input type="hidden" name=Field::EvidenceFiles.as_str() value=ids(&carried)/>
            {file_field(refusal, false)}
            <p>
                <button
                    class="button"
                    type="submit"
                    name="back"
                    value=verb.as_str()
                    formaction=format!("/operations/{id}/evidence")
                    formmethod="post"
                    formenctype="multipart/form-data"
                    disabled=!enabled
                >
                    "Attach the file"
                </button>
            </p>
        </div>
    }
    .into_any()
}

fn choices(
    detail: &OperationDetail,
    chosen: Option<Outcome>,
    refusal: Option<&RefusalView>,
) -> AnyView {
    let wrong = is_wrong(Field::Outcome, refusal);
    let early = detail
        .not_before
        .filter(|at| *at > detail.as_of)
        .map(|at| format!(" Possible from {}.", text::instant(at)))
        .unwrap_or_default();
    let second = |outcome, why| if takes_two(detail, outcome) { why } else { "" };
    let large = match &detail.row.amount {
        Some(_) => " An amount as large as this takes a second person.",
        None => " Its amount is not known: a second person decides.",
    };
    let large = second(Outcome::Happened, large);
    let unmoved = second(
        Outcome::NotHappenedStop,
        " It says of money that it did not move: a second person decides.",
    );
    let options = vec![
        (
            Outcome::Happened,
            "It happened",
            format!("The provider\u{2019}s reference is required.{large}"),
        ),
        (
            Outcome::NotHappenedRetry,
            "It did not happen: try again",
            format!("The same operation gets one attempt more.{unmoved}{early}"),
        ),
        (
            Outcome::NotHappenedStop,
            "It did not happen: stop",
            format!("It ends as failed; the key stays closed.{unmoved}{early}"),
        ),
    ];
    choose("What happened?", options, chosen, wrong)
}

/// What a correction can say: it starts no attempt.
fn corrections(chosen: Option<Outcome>, refusal: Option<&RefusalView>) -> AnyView {
    let options = vec![
        (
            Outcome::Happened,
            "It did happen",
            "The provider\u{2019}s reference is required.".to_owned(),
        ),
        (
            Outcome::NotHappenedStop,
            "It did not happen",
            "The key stays closed; nothing is tried again.".to_owned(),
        ),
    ];
    choose("What is true?", options, chosen, is_wrong(Field::Outcome, refusal))
}

fn choose(
    question: &'static str,
    options: Vec<(Outcome, &'static str, String)>,
    chosen: Option<Outcome>,
    wrong: bool,
) -> AnyView {
    let error = wrong.then(|| {
        view! {
            <p class="field-error" id="outcome-error">
                {Field::Outcome.mend()}
            </p>
        }
    });
    view! {
        <fieldset
            class="choices"
            id=Field::Outcome.as_str()
            aria-describedby=described(Field::Outcome, wrong)
        >
            <legend class="field-label">{question}</legend>
            <p class="field-help" id="outcome-help">
                "Choose only what you know. If you do not know, go back: unknown is an honest state."
            </p>
            {error}
            {options
                .into_iter()
                .map(|(outcome, title, help)| choice(outcome, title, help, chosen == Some(outcome)))
                .collect_view()}
        </fieldset>
    }
    .into_any()
}

fn choice(outcome: Outcome, title: &'static str, help: String, chosen: bool) -> impl IntoView {
    view! {
        <label class="choice">
            <input
                type="radio"
                name="outcome"
                value=outcome.as_str()
                checked=chosen
            />
            <span class="choice-body">
                <span class="choice-title">{title}</span>
                <span class="choice-help">{help}</span>
            </span>
        </label>
    }
}
