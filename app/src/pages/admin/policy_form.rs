//! `/admin/kinds/{name}/put_kind` and `/admin/new-kind`: a kind's policy as a form, what would change
//! beside what is in force, and the button that writes it.
//!
//! Guards against the rule that is loosened in passing: the changes are looked at before they can be
//! sent, and those that loosen say that they wait for a second person.

use domain::access::Permission;
use leptos::prelude::*;
use leptos_meta::Title;

use super::{
    policy::{in_money, place, threshold},
    policy_fields::{GROUPS, Shape, all},
};
use crate::{
    api::{
        admin::{KindInForce, kind},
        policy::{POSTED_TO, TYPED, Typed, fresh, input_name, preview},
        reading::Reading,
        records::permits,
        refused::RefusedForm,
    },
    components::{
        form_field::{LineField, is_wrong},
        icon::{Icon, IconName},
        notice::{Notice, Tone, right},
        refusal_summary::refusal_summary,
    },
    error::{ConsoleError, Field, RefusalView},
    islands::Submit,
    location::value,
    pages::{
        address::{name, query},
        failed::{Failed, no_such_record},
    },
};

/// The form of a kind that is there.
#[component]
pub fn PolicyFormPage() -> impl IntoView {
    let name = name();
    let in_force = Reading::new(move || {
        let name = name.clone();
        async move {
            match name {
                Some(name) => kind(&name).await.map(Some),
                None => Err(no_such_record()),
            }
        }
    });
    view! {
        <Title text="Change a kind · Onceover"/>
        {page(in_force)}
    }
}

/// The form of a new kind.
#[component]
pub fn NewKindPage() -> impl IntoView {
    let in_force = Reading::new(|| async { Ok(None) });
    view! {
        <Title text="Add a kind · Onceover"/>
        {page(in_force)}
    }
}

/// What the page shows.
struct Shown {
    in_force: Option<KindInForce>,
    typed: Option<Typed>,
    looked_at: Option<Result<Vec<String>, RefusalView>>,
    refused: Option<RefusedForm>,
    opened_at: Option<i64>,
}

fn page(in_force: Reading<Result<Option<KindInForce>, ConsoleError>>) -> AnyView {
    let query = query();
    let refused = RefusedForm::from_query(&query);
    let typed = Typed::from_query(&query);
    let opened_at = value(&query, "version").and_then(|version| version.parse().ok());
    let may = permits(Permission::ManageKinds).unwrap_or_default();
    let looked = typed.clone().filter(|_| may);
    let looked_at = Reading::new(move || {
        let looked = looked.clone();
        async move {
            match looked {
                Some(typed) => Some(preview(&typed).await),
                None => None,
            }
        }
    });
    Suspend::new(async move {
        match in_force.await {
            Ok(in_force) => {
                let looked_at = looked_at.await;
                shown(&Shown { in_force, typed, looked_at, refused, opened_at }, may)
            }
            Err(error) => view! { <Failed error/> }.into_any(),
        }
    })
    .into_any()
}

fn shown(page: &Shown, may: bool) -> AnyView {
    let is_new = page.in_force.is_none();
    let own = page.in_force.as_ref().map(|kind| kind.policy.name.clone());
    let path = own
        .as_deref()
        .map_or("/admin/new-kind".to_owned(), |name| format!("{}/put_kind", place(name)));
    let back = own.as_deref().map_or("/admin/kinds".to_owned(), place);
    let now = page.in_force.as_ref().map(|kind| kind.version).unwrap_or_default();
    let in_force = page.in_force.as_ref().map_or_else(fresh, |kind| kind.policy.clone());
    let in_force = Typed::of(&in_force);
    let typed = page.typed.clone().unwrap_or_else(|| in_force.clone());
    // A refusal asks for a new look, and carries the version that is there now.
    let opened_at = page.opened_at.filter(|_| page.refused.is_none()).unwrap_or(now);
    let refusal = page.refused.as_ref().map(|refused| refused.refusal.clone());
    let refusal = refusal.or_else(|| page.looked_at.clone().and_then(Result::err));
    let summary = refusal.as_ref().map(|refusal| refusal_summary(refusal, Permission::ManageKinds));
    let lacks = (!may && refusal.is_none()).then(|| {
        view! {
            <Notice tone=Tone::Caution title="Your role does not have this right.">
                {right(Permission::ManageKinds)}
            </Notice>
        }
    });
    let moved = (opened_at != now).then(|| {
        let words = format!(
            "This form was opened at version {opened_at}; the kind is at version {now} now. Sending it is \
             refused: look at what is in force, then change it."
        );
        view! { <Notice tone=Tone::Caution title="The kind has changed since."><p>{words}</p></Notice> }
    });
    let reason = page.refused.as_ref().map(|refused| refused.kept.reason.clone());
    let send = match &page.looked_at {
        Some(Ok(loosened)) => {
            let before = (!is_new).then_some(&in_force);
            Some(decision(
                before,
                &typed,
                loosened,
                opened_at,
                reason.unwrap_or_default(),
                refusal.as_ref(),
            ))
        }
        _ => None,
    };
    let title = if is_new { "Add a kind" } else { "Change the policy" };
    let kind_name = own.clone().map(|name| view! { <a href=back.clone()>{name}</a> });
    let name_field = match own {
        Some(name) => view! {
            <input type="hidden" name=input_name(Field::Name) value=name/>
        }
        .into_any(),
        None => {
            let name = field((Field::Name, Shape::Mono, NAME_HELP), &typed, refusal.as_ref());
            view! { <fieldset class="policy-group" disabled=!may>{name}</fieldset> }.into_any()
        }
    };
    let groups = GROUPS.iter().map(|(title, fields)| {
        let fields = fields.iter().map(|described| field(*described, &typed, refusal.as_ref()));
        view! {
            <fieldset class="policy-group" disabled=!may>
                <legend class="section-title">{*title}</legend>
                {fields.collect_view()}
            </fieldset>
        }
    });
    view! {
        <article class="detail">
            <header class="detail-head">
                <div class="detail-name">
                    <p class="detail-kind"><span>"Kind"</span> {kind_name}</p>
                    <h1 class="detail-key">{title}</h1>
                    <p class="detail-sub">{format!("version {now}")}</p>
                </div>
            </header>
            {summary} {lacks} {moved}
            {send}
            <form class="form" method="get" action=path aria-label="The policy">
                <input type="hidden" name=TYPED value="1"/>
                <input type="hidden" name="version" value=opened_at.to_string()/>
                {name_field}
                {groups.collect_view()}
                <div class="form-actions">
                    <button class="button button--primary" type="submit" disabled=!may>
                        "Look at what would change"
                    </button>
                    <a class="button" href=back>"Back without changing it"</a>
                </div>
            </form>
        </article>
    }
    .into_any()
}

const NAME_HELP: &str = "What services call it when they reserve; it cannot be changed later.";

/// One field of the policy, filled with what was typed.
fn field(
    (field, shape, help): (Field, Shape, &'static str),
    typed: &Typed,
    refusal: Option<&RefusalView>,
) -> AnyView {
    let id = field.as_str();
    let help = match field {
        Field::ApprovalThresholdMinor => format!("{help} {}", threshold(typed.text(field))),
        _ => help.to_owned(),
    };
    let name = input_name(field);
    let wrong = is_wrong(field, refusal);
    let error = wrong.then(|| {
        view! { <p class="field-error" id=format!("{id}-error")>{field.mend()}</p> }
    });
    let described = if wrong { format!("{id}-error {id}-help") } else { format!("{id}-help") };
    if shape == Shape::Tick {
        return view! {
            <div class="field" data-invalid=wrong.then_some("true")>
                <label class="choice">
                    <input
                        type="checkbox"
                        id=id
                        name=name
                        value="true"
                        checked=typed.yes(field)
                        aria-describedby=described
                    />
                    <span class="choice-body">
                        <span class="choice-title">{field.label()}</span>
                        <span class="choice-help" id=format!("{id}-help")>{help}</span>
                    </span>
                </label>
                {error}
            </div>
        }
        .into_any();
    }
    let class = match shape {
        Shape::Mono => "input input--mono",
        Shape::Short => "input input--short",
        _ => "input",
    };
    view! {
        <div class="field" data-invalid=wrong.then_some("true")>
            <label class="field-label" for=id>{field.label()}</label>
            <input
                class=class
                type="text"
                id=id
                name=name
                value=typed.text(field).to_owned()
                maxlength="2000"
                autocomplete="off"
                aria-describedby=described
                aria-invalid=wrong.then_some("true")
            />
            {error}
            <p class="field-help" id=format!("{id}-help")>{help}</p>
        </div>
    }
    .into_any()
}

/// What would change, what of it loosens, and the form that sends it.
fn decision(
    before: Option<&Typed>,
    typed: &Typed,
    loosened: &[String],
    version: i64,
    reason: String,
    refusal: Option<&RefusalView>,
) -> AnyView {
    let changes = changes(before, typed);
    if changes.is_empty() {
        return view! {
            <Notice tone=Tone::Neutral title="Nothing would change.">
                <p>"The policy below is the one in force."</p>
            </Notice>
        }
        .into_any();
    }
    let rows = changes.into_iter().map(|(field, before, after)| {
        view! {
            <tr>
                <th scope="row">{field.label()}</th>
                <td>{before}</td>
                <td>{after}</td>
            </tr>
        }
    });
    let second = (!loosened.is_empty()).then(|| {
        let items = loosened.iter().map(|what| view! { <li>{what.clone()}</li> }).collect_view();
        view! {
            <Notice tone=Tone::Caution title="It loosens what protects this kind: a second person must agree.">
                <ul>{items}</ul>
            </Notice>
        }
    });
    let (label, consequence) = match (loosened.is_empty(), before) {
        (false, _) => (
            "Ask for a second person",
            "Nothing changes before somebody who may approve agrees, and did not ask for it.",
        ),
        (true, Some(_)) => (
            "Write the policy",
            "It holds for every operation of this kind from now on, those under way among them.",
        ),
        (true, None) => (
            "Add the kind",
            "Services can reserve operations of it from now on, where their token covers it.",
        ),
    };
    let hidden = typed.fields().map(|(name, text)| {
        view! { <input type="hidden" name=format!("policy[{name}]") value=text.to_owned()/> }
    });
    view! {
        <section class="section" aria-labelledby="changes">
            <h2 class="section-title" id="changes">"What would change"</h2>
            {second}
            <div class="figures-scroll" tabindex="0" role="region" aria-label="Table: what would change">
                <table class="figures">
                    <thead>
                        <tr>
                            <th scope="col">"Field"</th>
                            <th scope="col">"In force"</th>
                            <th scope="col">"Then"</th>
                        </tr>
                    </thead>
                    <tbody>{rows.collect_view()}</tbody>
                </table>
            </div>
            <form class="form" method="post" action=POSTED_TO aria-label="Send the policy">
                {hidden.collect_view()}
                <input type="hidden" name="version" value=version.to_string()/>
                <LineField
                    field=Field::Reason
                    help="Why, in a sentence. It stays on the record under your name."
                    value=reason
                    refusal
                />
                <div class="consequence">
                    <Icon name=IconName::Info/>
                    <p>{consequence}</p>
                </div>
                <div class="form-actions">
                    <Submit label choices=Vec::new() busy="Sending" enabled=true/>
                </div>
            </form>
        </section>
    }
    .into_any()
}

/// The fields that differ, each as it reads before and after.
fn changes(before: Option<&Typed>, typed: &Typed) -> Vec<(Field, String, String)> {
    let of = |policy: &Typed, field, shape| match (shape, policy.text(field)) {
        (Shape::Tick, _) if policy.yes(field) => "yes".to_owned(),
        (Shape::Tick, _) => "no".to_owned(),
        (_, "") => "nothing".to_owned(),
        (_, text) => text.to_owned(),
    };
    let of = |policy: &Typed, field, shape| {
        let text = of(policy, field, shape);
        match text.parse::<i64>() {
            Ok(minor) if minor > 0 && field == Field::ApprovalThresholdMinor => {
                format!("{text}: {}", in_money(minor))
            }
            _ => text,
        }
    };
    let own = [(Field::Name, Shape::Mono, NAME_HELP)];
    own.into_iter()
        .chain(all())
        .map(|(field, shape, _)| {
            let before =
                before.map_or_else(|| "\u{2013}".to_owned(), |policy| of(policy, field, shape));
            (field, before, of(typed, field, shape))
        })
        .filter(|(_, before, after)| before != after)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::admin::KindPolicy;

    #[test]
    fn only_what_differs_is_a_change() {
        let policy = KindPolicy { name: "n".into(), money: true, ..fresh() };
        let before = Typed::of(&policy);
        assert!(changes(Some(&before), &before).is_empty());
        let after = Typed::of(&KindPolicy { money: false, retention_ms: Some(60_000), ..policy });
        let found = changes(Some(&before), &after);
        let words: Vec<_> =
            found.iter().map(|(_, then, now)| (then.as_str(), now.as_str())).collect();
        assert_eq!(words, [("yes", "no"), ("nothing", "1 min")]);
    }
}
