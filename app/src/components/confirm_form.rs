//! The form that ends an uncertainty. Nothing is preselected, for the choice is the decision.

use domain::{action::Outcome, money::Money, view::OperationDetail};
use leptos::{form::ActionForm, prelude::*};

use super::{
    compare::difference_words,
    form_field::{AreaField, LineField, Written, described, is_wrong},
    icon::{Icon, IconName},
};
use crate::{
    api::{actions::Confirm, refused::Kept},
    error::{Field, RefusalView},
    text,
};

/// The choice, the amount and whether there is evidence, as they are typed; made by the page, so that they outlive a refresh.
#[derive(Debug, Clone, Copy)]
pub struct Draft {
    /// The chosen outcome.
    pub chosen: RwSignal<Option<Outcome>>,
    /// The amount, as typed.
    pub amount: RwSignal<String>,
    /// Its currency, as typed.
    pub currency: RwSignal<String>,
    /// Whether evidence is given.
    pub evidence: Written,
}

impl Draft {
    /// A draft that holds what was typed before a refusal, and no choice.
    #[must_use]
    pub fn new(kept: &Kept) -> Self {
        Self {
            chosen: RwSignal::new(None),
            amount: RwSignal::new(kept.amount_minor.clone()),
            currency: RwSignal::new(kept.currency.clone()),
            evidence: Written::new(&kept.evidence),
        }
    }
}

/// The form.
#[component]
pub fn ConfirmForm<'a>(
    /// Posts it.
    action: ServerAction<Confirm>,
    /// The operation.
    detail: &'a OperationDetail,
    /// What was typed before a refusal.
    kept: Kept,
    /// Why it was refused, where it was.
    refusal: Option<&'a RefusalView>,
    /// The choice as it is made.
    draft: Draft,
    /// Whether the reader may send it.
    enabled: bool,
    /// What follows, for the line above the button.
    consequence: AnyView,
) -> impl IntoView {
    let pending = action.pending();
    let label = move || match (pending.get(), draft.chosen.get()) {
        (true, _) => "Asking the provider, then deciding",
        (false, None) => "Confirm the chosen outcome",
        (false, Some(Outcome::Happened)) => "Confirm: it happened",
        (false, Some(Outcome::NotHappenedRetry)) => "Confirm: it did not happen, try again",
        (false, Some(Outcome::NotHappenedStop)) => "Confirm: it did not happen, stop",
    };
    let row = &detail.row;
    let amount = row.amount.as_ref().map(|record| evidence_amount(record, &kept, draft, refusal));
    let choices = choices(detail, draft, refusal);
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
            written=draft.evidence
            refusal
        />
    }
    .into_any();
    let without = move || draft.evidence.is_empty().then(without_evidence);
    let (id, version) = (row.id.to_string(), row.version.to_string());
    let back = format!("/operations/{id}");
    view! {
        <ActionForm action=action attr:class="form" attr:aria-label="Confirm the outcome">
            <input type="hidden" name="id" value=id/>
            <input type="hidden" name="version" value=version/>
            {choices} {reference} {amount} {reason} {evidence}
            {consequence}
            {without}
            <div class="form-actions">
                <button
                    class="button button--primary"
                    type="submit"
                    disabled=move || !enabled || pending.get()
                >
                    {label}
                </button>
                <a class="button" href=back>
                    "Back without deciding"
                </a>
            </div>
        </ActionForm>
    }
    .into_any()
}

/// What the receipt will lack; it stands there from the start, for nothing is written yet.
fn without_evidence() -> impl IntoView {
    view! {
        <div class="consequence" data-missing="evidence">
            <Icon name=IconName::Warning/>
            <p>
                "If the evidence stays empty, the receipt shows your reason and your name alone: no \
                 page, ticket or statement by which somebody else can check the decision."
            </p>
        </div>
    }
}

fn choices(detail: &OperationDetail, draft: Draft, refusal: Option<&RefusalView>) -> AnyView {
    let wrong = is_wrong(Field::Outcome, refusal);
    let early = detail
        .not_before
        .filter(|at| *at > detail.as_of)
        .map(|at| format!(" Possible from {}.", text::instant(at)))
        .unwrap_or_default();
    let second =
        if detail.kind.money { " It moves money: this needs a second person." } else { "" };
    let options = [
        (
            Outcome::Happened,
            "It happened",
            "The provider\u{2019}s reference is required.".to_owned(),
        ),
        (
            Outcome::NotHappenedRetry,
            "It did not happen: try again",
            format!("The same operation gets one attempt more.{second}{early}"),
        ),
        (
            Outcome::NotHappenedStop,
            "It did not happen: stop",
            format!("It ends as failed; the key stays closed.{second}{early}"),
        ),
    ];
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
            <legend class="field-label">"What happened?"</legend>
            <p class="field-help" id="outcome-help">
                "Choose only what you know. If you do not know, go back: unknown is an honest state."
            </p>
            {error}
            {options
                .into_iter()
                .map(|(outcome, title, help)| choice(outcome, title, help, draft))
                .collect_view()}
        </fieldset>
    }
    .into_any()
}

fn choice(outcome: Outcome, title: &'static str, help: String, draft: Draft) -> impl IntoView {
    view! {
        <label class="choice">
            <input
                type="radio"
                name="outcome"
                value=outcome.as_str()
                on:change=move |_| draft.chosen.set(Some(outcome))
            />
            <span class="choice-body">
                <span class="choice-title">{title}</span>
                <span class="choice-help">{help}</span>
            </span>
        </label>
    }
}

fn evidence_amount(
    record: &Money,
    kept: &Kept,
    draft: Draft,
    refusal: Option<&RefusalView>,
) -> AnyView {
    let field = Field::AmountMinor;
    let wrong = is_wrong(field, refusal) || is_wrong(Field::Currency, refusal);
    let error = wrong.then(|| {
        view! {
            <p class="field-error" id="amount_minor-error">
                {format!("{} {}", field.mend(), Field::Currency.mend())}
            </p>
        }
    });
    let on_record = record.clone();
    // The record's own currency is no decision; it counts only beside an amount.
    let currency =
        if kept.currency.is_empty() { record.currency.clone() } else { kept.currency.clone() };
    let difference = move || {
        let amount_minor = draft.amount.with(|amount| amount.trim().parse().ok());
        let currency = draft.currency.with(|currency| currency.trim().to_ascii_uppercase());
        match amount_minor {
            None => "–".to_owned(),
            Some(amount_minor) => {
                let currency =
                    if currency.is_empty() { on_record.currency.clone() } else { currency };
                difference_words(Some(&on_record), &Money { amount_minor, currency })
            }
        }
    };
    view! {
        <div class="field" data-invalid=wrong.then_some("true")>
            <label class="field-label" for="amount_minor">
                {field.label()}
                <span class="field-optional">" (may stay empty)"</span>
            </label>
            <div class="input-pair">
                <input
                    class="input"
                    type="text"
                    inputmode="numeric"
                    id="amount_minor"
                    name="amount_minor"
                    value=kept.amount_minor.clone()
                    maxlength="20"
                    autocomplete="off"
                    aria-describedby=described(field, wrong)
                    on:input=move |event| draft.amount.set(event_target_value(&event))
                />
                <input
                    class="input"
                    type="text"
                    id="currency"
                    name="currency"
                    value=currency
                    maxlength="3"
                    autocomplete="off"
                    aria-label="Currency in the evidence"
                    on:input=move |event| draft.currency.set(event_target_value(&event))
                />
            </div>
            {error}
            <p class="field-help" id="amount_minor-help">
                "In the currency\u{2019}s smallest unit, as your evidence names it."
            </p>
            <dl class="compare">
                <div>
                    <dt>"On record"</dt>
                    <dd>{record.to_string()}</dd>
                </div>
                <div class="compare-difference">
                    <dt>"Difference to your evidence"</dt>
                    <dd aria-live="polite">{difference}</dd>
                </div>
            </dl>
        </div>
    }
    .into_any()
}
