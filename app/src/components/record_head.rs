//! The head of a record's page that is no operation: where it stands, what it is called, the one
//! sensible action and the others; what the reader may not do stays visible and says why.

use domain::{
    action::Subject,
    problem::Code,
    record::{RecordName, RecordType},
    view::ActionOffer,
};
use leptos::prelude::*;

use super::{
    gather_link::gather_link,
    icon::{Icon, IconName},
    key::Key,
    mark::{Mark, MarkBadge},
    notice::lacks,
};
use crate::islands::CopyButton;

/// An action that the page offers.
#[derive(Debug, Clone)]
pub struct Offered {
    /// Whether it can be taken, and by whom.
    pub offer: ActionOffer,
    /// What the button says: what happens.
    pub label: String,
    /// Why this reader in particular cannot take it, where the page knows more than the rights say.
    pub why: Option<String>,
}

/// The head.
#[component]
pub fn RecordHead<'a>(
    /// The record.
    subject: &'a Subject,
    /// Where it stands.
    #[prop(into)]
    mark: Mark,
    /// What it is called among its like.
    kind: String,
    /// Its own key.
    key: String,
    /// What people call this one, where they do not know it by its key.
    #[prop(optional, into)]
    title: Option<String>,
    /// What stands below: version and instant.
    sub: AnyView,
    /// Its version, which the forms carry.
    version: i64,
    /// What can be done, the sensible one first.
    actions: Vec<Offered>,
    /// Whether all stand behind the menu: the sensible one has its form on the page itself, or none would
    /// be taken now.
    #[prop(optional)]
    on_page: bool,
) -> impl IntoView {
    let mut actions = actions.into_iter().map(|offered| action(subject, version, offered));
    let main = if on_page { None } else { actions.next() }.map(|(button, _)| button);
    let rest: Vec<_> = actions.map(|(_, item)| item).collect();
    let menu = (!rest.is_empty()).then(|| {
        view! {
            <details class="menu">
                <summary class="button">"Other actions"</summary>
                <ul class="menu-list">{rest}</ul>
            </details>
        }
    });
    let gather = RecordType::of_target(subject.kind)
        .filter(|record| record.can_be_gathered())
        .zip(subject.id.parse().ok())
        .map(|(record, id)| gather_link(RecordName::new(record, id)));
    let place = format!("{}/{}", subject.kind.pages(), subject.id);
    let copy = view! {
        <CopyButton text=key.clone() what="the key" link=false><Icon name=IconName::Copy/></CopyButton>
    }
    .into_any();
    // The button stands beside the key where that is the heading.
    let (heading, beside, below) = match title {
        Some(title) => (title.into_any(), None, Some(copy)),
        None => (view! { <Key text=key whole=true/> }.into_any(), Some(copy), None),
    };
    view! {
        <header class="detail-head">
            <div class="detail-name">
                <p class="detail-kind">
                    <MarkBadge mark/>
                    <span>{kind}</span>
                </p>
                <div class="detail-title"><h1 class="detail-key">{heading}</h1> {beside}</div>
                <p class="detail-sub">
                    {sub} " " {below}
                    <CopyButton text=place what="link" link=true><Icon name=IconName::Copy/></CopyButton>
                </p>
            </div>
            <div class="detail-actions">{main} {menu} {gather}</div>
        </header>
    }
    .into_any()
}

/// An action as the main button and as an item of the menu.
fn action(subject: &Subject, version: i64, offered: Offered) -> (AnyView, AnyView) {
    let Offered { offer, label, why } = offered;
    let href = format!("{}/{}/{}?version={version}", subject.kind.pages(), subject.id, offer.verb);
    match why.or_else(|| why_not(&offer)) {
        None => (
            view! { <a class="button button--primary" href=href.clone()>{label.clone()}</a> }
                .into_any(),
            view! { <li><a class="menu-item" href=href>{label}</a></li> }.into_any(),
        ),
        Some(why) => (
            view! {
                <div>
                    <span class="button button--primary" role="link" aria-disabled="true">
                        {label.clone()}
                    </span>
                    <p class="menu-why">{why.clone()}</p>
                </div>
            }
            .into_any(),
            view! {
                <li>
                    <span class="menu-item" role="link" aria-disabled="true">
                        {label} <span class="menu-why">{why}</span>
                    </span>
                </li>
            }
            .into_any(),
        ),
    }
}

/// Why an action cannot be taken. What a person could still look into keeps its link: its page says
/// more, and the server decides.
#[must_use]
pub fn why_not(offer: &ActionOffer) -> Option<String> {
    if let Some(missing) = offer.missing {
        return Some(lacks(missing));
    }
    match offer.refusal? {
        Code::TooEarly | Code::SecondPersonRequired | Code::ApprovalPending => None,
        code => Some(code.title().to_owned()),
    }
}
