//! A remark in the place where something is the matter: what happened, what did not, what is safe.

use domain::{access::Permission, problem::Code};
use leptos::prelude::*;

use super::icon::{Icon, IconName};
use crate::error::ConsoleError;

/// How a notice is tinted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// A fact.
    Neutral,
    /// Done.
    Good,
    /// Look before you go on.
    Caution,
    /// Refused, or broken.
    Bad,
}

impl Tone {
    const fn word(self) -> &'static str {
        match self {
            Self::Neutral => "neutral",
            Self::Good => "good",
            Self::Caution => "caution",
            Self::Bad => "bad",
        }
    }

    const fn icon(self) -> IconName {
        match self {
            Self::Neutral => IconName::Info,
            Self::Good => IconName::Check,
            Self::Caution => IconName::Warning,
            Self::Bad => IconName::Cross,
        }
    }
}

/// A notice: a sentence, and below it whatever explains it.
#[component]
pub fn Notice(
    /// How it is tinted.
    tone: Tone,
    /// The sentence.
    #[prop(into)]
    title: String,
    /// The refusal that it explains, for `data-code`.
    #[prop(optional)]
    code: Option<Code>,
    /// More words, links, buttons.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    let role = if tone == Tone::Bad { "alert" } else { "note" };
    view! {
        <div class="notice" data-tone=tone.word() data-code=code.map(Code::as_str) role=role>
            <Icon name=tone.icon()/>
            <div class="notice-body">
                <p class="notice-title">{title}</p>
                {children.map(|children| view! { <div class="notice-more">{children()}</div> })}
            </div>
        </div>
    }
    .into_any()
}

/// A part of a page whose data did not come. The link asks again; the rest of the page lives.
#[component]
pub fn FailedPart(
    /// Why.
    error: ConsoleError,
    /// The page itself, to ask again.
    #[prop(into)]
    again: String,
) -> impl IntoView {
    let code = error.code();
    let way_out = if code == Code::Unauthenticated {
        view! { <a href="/sign-in">"Sign in"</a> }.into_any()
    } else if code.status() >= 500 {
        view! { <a href=again>"Try again"</a> }.into_any()
    } else {
        error.0.missing.map_or_else(|| ().into_any(), right)
    };
    view! {
        <Notice tone=Tone::Bad title=error.title() code=code>
            <p>{error.advice()}</p>
            {way_out}
        </Notice>
    }
    .into_any()
}

/// Which right is missing, and who holds it.
#[must_use]
pub fn right(missing: Permission) -> AnyView {
    let words = format!("It takes the right to {}. {}", missing.label(), held_by(missing));
    view! { <p>{words}</p> }.into_any()
}

/// The same beside a button that does nothing for the reader.
#[must_use]
pub fn lacks(missing: Permission) -> String {
    format!("Your role lacks the right to {}. {}", missing.label(), held_by(missing))
}

/// The roles that hold a right: whom to ask.
#[must_use]
pub fn held_by(right: Permission) -> String {
    let holders: Vec<_> = right.holders().iter().map(ToString::to_string).collect();
    format!("Held by: {}.", holders.join(", "))
}

/// Why an action would be refused now, before anybody tries; `more` is said after the advice.
#[must_use]
pub fn would_be_refused(code: Code, missing: Option<Permission>, more: Option<String>) -> AnyView {
    view! {
        <Notice tone=Tone::Caution title=code.title()>
            <p>{code.advice()} " " {more}</p>
            {missing.map(right)}
        </Notice>
    }
    .into_any()
}

/// The record has changed since its form was opened: the command will say what that means. `what` is
/// the record in a word, `state` where it stands.
#[must_use]
pub fn moved_on(what: &str, opened_at: i64, state: &str, version: i64) -> AnyView {
    let words = format!(
        "This form was opened at version {opened_at}; the {what} is {state} at version {version} now. \
         Sending the decision that was taken shows its receipt again; any other is refused."
    );
    view! {
        <Notice tone=Tone::Caution title="The record has changed since.">
            <p>{words}</p>
        </Notice>
    }
    .into_any()
}
