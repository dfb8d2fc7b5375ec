//! An amount that is typed as a statement has it, beside the one on record: what the evidence of a
//! confirmation names, and what part of an operation is undone.

use domain::{action::Verb, money::Money};
use leptos::prelude::*;

use super::form_field::{described, is_wrong};
use crate::{
    api::refused::Kept,
    error::{Field, RefusalView},
    islands::AmountDifference,
};

/// What the amount of a form is called.
struct AmountWords {
    label: &'static str,
    note: &'static str,
    currency: &'static str,
    help: &'static str,
    mend: &'static str,
    difference: &'static str,
}

impl AmountWords {
    const fn of(verb: Verb) -> Self {
        if matches!(verb, Verb::Compensate) {
            return Self {
                label: "Amount to undo",
                note: " (empty: all of it)",
                currency: "Currency of the amount to undo",
                help: "It is undone once: a further part is an operation of its own, by the service.",
                mend: "More than nothing and at most the amount on record, in its currency, as 129.00 or as a whole number of the smallest unit; leave it empty to undo all of it.",
                difference: "Difference to all of it",
            };
        }
        Self {
            label: Field::AmountMinor.label(),
            note: " (may stay empty)",
            currency: Field::Currency.label(),
            help: "Another amount than the one on record is refused.",
            mend: Field::AmountMinor.mend(),
            difference: "Difference to your evidence",
        }
    }
}

/// What to mend in the amount of a form, as a link to it.
#[must_use]
pub fn amount_to_mend(verb: Verb) -> AnyView {
    let AmountWords { label, mend, .. } = AmountWords::of(verb);
    let words = format!("{label}: {mend}");
    view! { <p><a href="#amount_minor">{words}</a></p> }.into_any()
}

/// The two inputs, and what they differ by from the amount on record.
#[must_use]
pub fn amount_field(
    verb: Verb,
    record: &Money,
    kept: &Kept,
    refusal: Option<&RefusalView>,
) -> AnyView {
    let words = AmountWords::of(verb);
    let field = Field::AmountMinor;
    let wrong = is_wrong(field, refusal) || is_wrong(Field::Currency, refusal);
    let error = wrong.then(|| {
        view! {
            <p class="field-error" id="amount_minor-error">
                {format!("{} {}", words.mend, Field::Currency.mend())}
            </p>
        }
    });
    // The record's own currency is no decision; it counts only beside an amount.
    let currency =
        if kept.currency.is_empty() { record.currency.clone() } else { kept.currency.clone() };
    let fields = (Field::AmountMinor.as_str().to_owned(), Field::Currency.as_str().to_owned());
    let values = (kept.amount_minor.clone(), currency.clone());
    let help = format!(
        "As the statement has it, with its decimals, or as a whole number of the smallest unit: {} is \
         {record}. {}",
        record.amount_minor, words.help
    );
    let difference = view! {
        <AmountDifference
            record_minor=record.amount_minor
            record_currency=record.currency.clone()
            fields
            values
        />
    };
    view! {
        <div class="field" data-invalid=wrong.then_some("true")>
            <label class="field-label" for="amount_minor">
                {words.label}
                <span class="field-optional">{words.note}</span>
            </label>
            <div class="input-pair">
                <input
                    class="input"
                    type="text"
                    inputmode="decimal"
                    id="amount_minor"
                    name="amount_minor"
                    value=kept.amount_minor.clone()
                    maxlength="20"
                    autocomplete="off"
                    aria-describedby=described(field, wrong)
                />
                <input
                    class="input"
                    type="text"
                    id="currency"
                    name="currency"
                    value=currency
                    maxlength="3"
                    autocomplete="off"
                    aria-label=words.currency
                />
            </div>
            {error}
            <p class="field-help" id="amount_minor-help">
                {help}
            </p>
            <dl class="compare">
                <div>
                    <dt>"On record"</dt>
                    <dd>{record.to_string()}</dd>
                </div>
                <div class="compare-difference compare-follows">
                    <dt>{words.difference}</dt>
                    <dd aria-live="polite">{difference}</dd>
                </div>
            </dl>
        </div>
    }
    .into_any()
}
