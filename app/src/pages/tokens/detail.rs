//! `/admin/tokens/{id}`: one token, and the form that takes it back.

use domain::{
    action::{Subject, TargetType, Verb},
    operation::Status,
    token::{TokenState, TokenVerb},
    view::TokenView,
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::list::{UNTIL_REVOKED, instant};
use crate::{
    api::tokens::token,
    components::{
        facts::{fact, fact_at},
        icon::IconName,
        mark::Mark,
        part::Part,
        record_head::{Offered, RecordHead},
    },
    pages::record::{About, Words, decision_page, record_page},
};

/// The page of a token.
#[component]
pub fn TokenPage() -> impl IntoView {
    view! {
        <Title text="Token · Onceover"/>
        {record_page(token, |token: TokenView| shown(&token))}
    }
}

/// The form that takes a token back.
#[component]
pub fn RevokePage() -> impl IntoView {
    let about = |token: &TokenView, _: Verb| About {
        version: token.version,
        mark: mark(token.state),
        kind: kind(token),
        key: token.name.clone(),
        actions: token.actions.clone(),
        known: view! { <dl class="facts prose">{facts(token)}</dl> }.into_any(),
        moves: Vec::new(),
        fields: None,
        words: None,
    };
    decision_page(TargetType::Token, token, about, words)
}

fn words(verb: Verb) -> Option<Words> {
    (verb == Verb::Revoke).then(|| {
        Words::new(
            "Revoke the token",
            "Revoke: it is refused from now on",
            "Whatever uses it is refused from its next request on. It does not come back: make another one \
             for what still needs one.",
        )
    })
}

/// A token's state.
#[must_use]
pub(super) const fn mark(state: TokenState) -> Mark {
    let (icon, like) = match state {
        TokenState::Active => (IconName::Check, Status::Succeeded),
        TokenState::Expired => (IconName::Clock, Status::Reserved),
        TokenState::Revoked => (IconName::Tombstone, Status::Reserved),
    };
    Mark { word: state.as_str(), icon, like, person: false }
}

fn kind(token: &TokenView) -> String {
    match &token.person {
        Some(email) => format!("token of {email}"),
        None => "token of a service".to_owned(),
    }
}

fn shown(token: &TokenView) -> AnyView {
    let subject = Subject::new(TargetType::Token, token.id.to_string());
    let actions = token.actions.iter().map(|offer| Offered {
        label: "Revoke the token".to_owned(),
        why: None,
        offer: offer.clone(),
    });
    let facts = facts(token);
    view! {
        <article class="detail">
            <RecordHead
                subject=&subject
                mark=mark(token.state)
                kind=kind(token)
                key=token.name.clone()
                sub=format!("version {}", token.version).into_any()
                version=token.version
                actions=actions.collect()
            />
            <Part id="covers" title="What it is for">
                <dl class="facts">{facts}</dl>
            </Part>
        </article>
    }
    .into_any()
}

fn facts(token: &TokenView) -> AnyView {
    let may = match token.verbs.as_slice() {
        [] => "make every call that its bearer may".to_owned(),
        verbs => verbs.iter().copied().map(TokenVerb::label).collect::<Vec<_>>().join("; "),
    };
    let kinds = match (&token.person, token.kinds.as_slice()) {
        (Some(_), _) => None,
        (None, []) => Some("all of the tenant".to_owned()),
        (None, kinds) => Some(kinds.join(", ")),
    };
    let revoked_by = token.revoked_by.clone();
    view! {
        {fact("May", may)}
        {kinds.map(|kinds| fact("Kinds", kinds))}
        {fact("Made by", token.made_by.clone())}
        {fact_at("Made", Some(token.made_at))}
        {fact("Expires", instant(token.expires_at, UNTIL_REVOKED))}
        {fact("Last used", instant(token.last_used_at, "not yet"))}
        {fact_at("Revoked", token.revoked_at)}
        {revoked_by.map(|by| fact("Revoked by", by))}
    }
    .into_any()
}
