//! A form's field: label above, help below, the error beside it.
//!
//! Data never stands inside a `<textarea>`: Leptos 0.8 writes its dynamic children unescaped into
//! the page (F3). What comes back after a refusal is the `value` of an input; a text area is empty,
//! and its words stand above it in a ticked box that sends them again.

use leptos::prelude::*;

use super::facts::fact_text;
use crate::error::{Field, RefusalView};

/// One line.
#[component]
pub fn LineField<'a>(
    /// Which; its name is the posted one.
    field: Field,
    /// What to write, and what becomes of it.
    help: &'static str,
    /// What was typed before a refusal.
    #[prop(optional, into)]
    value: String,
    /// Why the form was refused, where it was.
    #[prop(optional_no_strip)]
    refusal: Option<&'a RefusalView>,
    /// When it may stay empty, where it may.
    #[prop(optional)]
    note: Option<&'static str>,
    /// Whether it holds a key or reference.
    #[prop(optional)]
    mono: bool,
) -> impl IntoView {
    let name = field.as_str();
    let wrong = is_wrong(field, refusal);
    let class = if mono { "input input--mono" } else { "input" };
    view! {
        <div class="field" data-invalid=wrong.then_some("true")>
            {label(field, note)}
            <input
                class=class
                type="text"
                id=name
                name=name
                value=value
                maxlength=domain::action::MAX_REASON_CHARS
                autocomplete="off"
                aria-describedby=described(field, wrong)
                aria-invalid=wrong.then_some("true")
            />
            {below(field, help, wrong)}
        </div>
    }
    .into_any()
}

/// Several lines; always empty when the page comes.
#[component]
pub fn AreaField<'a>(
    /// Which; its name is the posted one.
    field: Field,
    /// What to write, and what becomes of it.
    help: &'static str,
    /// What was written before a refusal.
    #[prop(into)]
    kept: String,
    /// Whether that is only its beginning.
    cut: bool,
    /// Why the form was refused, where it was.
    #[prop(optional_no_strip)]
    refusal: Option<&'a RefusalView>,
    /// When it may stay empty, where it may.
    #[prop(optional)]
    note: Option<&'static str>,
) -> impl IntoView {
    let name = field.as_str();
    let wrong = is_wrong(field, refusal);
    let kept = (!kept.is_empty()).then(|| kept_box(name, kept, cut));
    view! {
        <div class="field" data-invalid=wrong.then_some("true")>
            {label(field, note)}
            {kept}
            <textarea
                class="input"
                id=name
                name=name
                maxlength="4000"
                placeholder=" "
                aria-describedby=described(field, wrong)
                aria-invalid=wrong.then_some("true")
            ></textarea>
            {below(field, help, wrong)}
        </div>
    }
    .into_any()
}

/// A box that changes what the form asks for; only its sender ticks it.
#[component]
pub fn TickField(
    /// Which; its name is the posted one.
    field: Field,
    /// What it means.
    help: &'static str,
    /// Whether it was ticked, in a form that was held.
    ticked: bool,
) -> impl IntoView {
    let name = field.as_str();
    view! {
        <label class="choice">
            <input type="checkbox" id=name name=name value="true" checked=ticked/>
            <span class="choice-body">
                <span class="choice-title">{field.label()}</span>
                <span class="choice-help">{help}</span>
            </span>
        </label>
    }
    .into_any()
}

/// The words of a refused form, ticked: what is ticked is sent again, and what is written below is
/// added to it.
fn kept_box(name: &'static str, kept: String, cut: bool) -> AnyView {
    let text = kept_text(&kept, cut);
    view! {
        <label class="choice">
            <input
                type="checkbox"
                name=format!("{name}_kept")
                value=kept
                checked=true
            />
            <span class="choice-body">
                <span class="choice-title">"Send again what you wrote"</span>
                <span class="choice-help">
                    "What you write below is added to it. Untick it to begin anew."
                </span>
            </span>
        </label>
        {text}
    }
    .into_any()
}

/// The words of a refused form, to be read and copied; `cut` where they are only the beginning.
#[must_use]
pub fn kept_text(text: &str, cut: bool) -> AnyView {
    let cut = cut.then(|| {
        view! { <p class="field-error">"It was too long to come back whole; this is its beginning."</p> }
    });
    // A browser drops U+0000 from a page, and the text with it where there is no more of it.
    let text = fact_text("You wrote", text.replace('\0', "\u{fffd}"));
    view! {
        <dl class="facts">{text}</dl>
        {cut}
    }
    .into_any()
}

/// Whether a refusal is about this field.
#[must_use]
pub fn is_wrong(field: Field, refusal: Option<&RefusalView>) -> bool {
    refusal.is_some_and(|refusal| refusal.field == Some(field))
}

/// The ids that a field's description stands under.
#[must_use]
pub fn described(field: Field, wrong: bool) -> String {
    let name = field.as_str();
    if wrong { format!("{name}-error {name}-help") } else { format!("{name}-help") }
}

fn label(field: Field, note: Option<&'static str>) -> impl IntoView {
    let optional =
        note.map(|note| view! { <span class="field-optional">{format!(" ({note})")}</span> });
    view! {
        <label class="field-label" for=field.as_str()>
            {field.label()}
            {optional}
        </label>
    }
}

fn below(field: Field, help: &'static str, wrong: bool) -> impl IntoView {
    let name = field.as_str();
    let error = wrong.then(|| {
        view! {
            <p class="field-error" id=format!("{name}-error")>
                {field.mend()}
            </p>
        }
    });
    view! {
        {error}
        <p class="field-help" id=format!("{name}-help")>
            {help}
        </p>
    }
}
