//! `/admin/staff/{id}`: one person, what the role allows, and the form that gives another.

use domain::{
    access::{Permission, Role, permits},
    action::{Subject, TargetType, Verb},
    operation::Status,
    view::ActionOffer,
};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::admin::{MemberInForce, is_reader, member},
    components::{
        icon::IconName,
        mark::Mark,
        part::Part,
        record_head::{Offered, RecordHead},
    },
    pages::record::{About, Words, decision_page, record_page},
};

/// The page of a person.
#[component]
pub fn MemberPage() -> impl IntoView {
    view! {
        <Title text="Person · Onceover"/>
        {record_page(member, |member: MemberInForce| shown(&member))}
    }
}

/// The form that gives another role.
#[component]
pub fn GrantPage() -> impl IntoView {
    let about = |member: &MemberInForce, _: Verb| About {
        version: member.version,
        mark: standing_of(member),
        kind: member.role.to_string(),
        key: member.email.clone(),
        actions: offers(),
        known: view! { <p class="prose">{standing(member)}</p> }.into_any(),
        moves: Vec::new(),
        fields: Some(roles(member.role)),
        words: None,
    };
    decision_page(TargetType::Staff, member, about, words)
}

/// Whether the account can sign in.
#[must_use]
pub const fn standing_of(member: &MemberInForce) -> Mark {
    let (word, icon) =
        if member.disabled { ("closed", IconName::Tombstone) } else { ("open", IconName::Check) };
    Mark { word, icon, like: Status::Reserved, person: false }
}

/// Whoever reads this page looks after staff; the command checks again.
fn offers() -> Vec<ActionOffer> {
    vec![ActionOffer { verb: Verb::Grant, refusal: None, missing: None }]
}

fn standing(member: &MemberInForce) -> String {
    let closed = if member.disabled { " The account is closed: it cannot sign in." } else { "" };
    format!("{} is {} in this tenant.{closed}", member.name, member.role)
}

fn shown(member: &MemberInForce) -> AnyView {
    let subject = Subject::new(TargetType::Staff, member.id.to_string());
    let actions = offers().into_iter().map(|offer| Offered {
        label: if is_reader(member.id) { "Change your own role" } else { "Give another role" }
            .to_owned(),
        why: None,
        offer,
    });
    let rights = allowed(member.role).into_iter().map(|right| view! { <li>{right}</li> });
    view! {
        <article class="detail">
            <RecordHead
                subject=&subject
                mark=standing_of(member)
                kind=member.role.to_string()
                key=member.email.clone()
                sub=format!("version {}", member.version).into_any()
                version=member.version
                actions=actions.collect()
            />
            <p class="prose">{standing(member)}</p>
            <Part id="rights" title="What the role allows">
                <ul class="receipt-followed">{rights.collect_view()}</ul>
            </Part>
        </article>
    }
    .into_any()
}

fn allowed(role: Role) -> Vec<&'static str> {
    let held = Permission::ALL.into_iter().filter(|right| permits(role, *right));
    held.map(right).collect()
}

/// A right of somebody else in words.
const fn right(right: Permission) -> &'static str {
    match right {
        Permission::OwnTokens => "make and revoke tokens of their own",
        right => right.label(),
    }
}

/// What a role changes against another, a line each.
fn changes(now: Role, role: Role) -> Vec<String> {
    let without = |held: Role, other: Role| -> Vec<_> {
        let other = allowed(other);
        allowed(held).into_iter().filter(|right| !other.contains(right)).collect()
    };
    let mut lines = Vec::new();
    for (head, rights) in
        [("May also:", without(role, now)), ("May no longer:", without(now, role))]
    {
        if !rights.is_empty() {
            lines.push(head.to_owned());
            lines.extend(rights.into_iter().map(|right| format!("\u{2013} {right}")));
        }
    }
    lines
}

/// The other roles, none of them chosen: it is a decision.
fn roles(now: Role) -> AnyView {
    let others = Role::ALL.into_iter().filter(|role| *role != now).map(|role| {
        let second = permits(role, Permission::Approve)
            .then_some("It takes a second person: the role approves what others ask for.");
        let changes = changes(now, role)
            .into_iter()
            .map(|change| view! { <span class="choice-help">{change}</span> });
        let second = second.map(|second| view! { <span class="choice-help">{second}</span> });
        view! {
            <label class="choice">
                <input type="radio" name="role" value=role.as_str()/>
                <span class="choice-body">
                    <span class="choice-title">{role.as_str()}</span>
                    {second}
                    {changes.collect_view()}
                </span>
            </label>
        }
    });
    view! {
        <fieldset class="choices" id="role">
            <legend class="field-label">"The new role"</legend>
            {others.collect_view()}
        </fieldset>
    }
    .into_any()
}

fn words(verb: Verb) -> Option<Words> {
    (verb == Verb::Grant).then(|| {
        Words::new(
            "Give another role",
            "Give the role",
            "It holds from the person\u{2019}s next request on. A role that approves what others ask for is \
             not given before a second person agrees.",
        )
    })
}
