//! `/admin/new-token` and `/me/new-token`: what a token is for, and the button that makes it. Nothing is
//! ticked beforehand: what a token may do is a decision.

use domain::{access::Permission, ids::TokenId, token::TokenVerb};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::{
        reading::Reading,
        records::permits,
        refused::RefusedForm,
        tokens::{NEW_OWN, POSTED_TO, Typed, new_id},
    },
    components::{
        form_field::{LineField, is_wrong},
        icon::{Icon, IconName},
        notice::{Notice, Tone, right},
        refusal_summary::refusal_summary,
    },
    error::{Field, RefusalView},
    held::HeldForm,
    islands::Submit,
    pages::{address::query, failed::Failed},
};

/// The form for a service's token.
#[component]
pub fn NewServicePage() -> impl IntoView {
    view! {
        <Title text="Make a token · Onceover"/>
        {page(false)}
    }
}

/// The form for one's own.
#[component]
pub fn NewOwnPage() -> impl IntoView {
    view! {
        <Title text="Make a token · Onceover"/>
        {page(true)}
    }
}

fn page(own: bool) -> AnyView {
    let query = query();
    let fresh = Reading::new(new_id);
    Suspend::new(async move {
        match fresh.await {
            Ok(fresh) => shown(own, &query, fresh),
            Err(error) => view! { <Failed error/> }.into_any(),
        }
    })
    .into_any()
}

fn shown(own: bool, query: &str, fresh: TokenId) -> AnyView {
    let refusal = RefusedForm::from_query(query).map(|refused| refused.refusal);
    // After the factor the form that was held comes back as it was.
    let mut typed = match HeldForm::of_request() {
        Some(held) => Typed::read(&held.encoded()),
        None => Typed::read(query),
    };
    // Sent again after a refusal the form is the same one; one that is too old is not.
    let over = refusal.as_ref().is_some_and(|refusal| refusal.field == Some(Field::Id));
    if over || typed.id.is_empty() {
        typed.id = fresh.to_string();
    }
    let needed = if own { Permission::OwnTokens } else { Permission::ManageTokens };
    let may = permits(needed).unwrap_or_default();
    let summary = refusal.as_ref().map(|refusal| refusal_summary(refusal, needed));
    let lacks = (!may && refusal.is_none()).then(|| {
        view! {
            <Notice tone=Tone::Caution title="Your role does not have this right.">
                {right(needed)}
            </Notice>
        }
    });
    let (title, about) = if own {
        (
            "Make a token of your own",
            "It calls the JSON API under your name, with the rights of your role in this tenant, and ends \
             with them.",
        )
    } else {
        (
            "Make a token of a service",
            "It calls the JSON API for a program of yours: in this tenant alone, for the calls and kinds \
             that you choose.",
        )
    };
    view! {
        <header class="page-head"><h1 class="page-title">{title}</h1></header>
        {summary} {lacks}
        <p class="prose">{about}</p>
        {form(own, may, &typed, refusal.as_ref())}
    }
    .into_any()
}

fn form(own: bool, may: bool, typed: &Typed, refusal: Option<&RefusalView>) -> AnyView {
    let kinds = (!own).then(|| {
        view! {
            <LineField
                field=Field::Kinds
                help="Names of kinds with commas between them, such as invoice.charge. Left empty, it is for every kind."
                value=typed.kinds.clone()
                refusal
                note="all where it is empty"
                mono=true
            />
        }
    });
    let (days_help, back) = if own {
        ("A whole number from 1 to 90.", "/me#tokens")
    } else {
        ("A whole number from 1 to 365.", "/admin/tokens")
    };
    view! {
        <form class="form" method="post" action=POSTED_TO aria-label="Make a token">
            <input type="hidden" name="id" value=typed.id.clone()/>
            <input type="hidden" name="own" value=own.to_string()/>
            <LineField
                field=Field::TokenName
                help="What uses it, in a line. It stands in the list and in the audit log."
                value=typed.name.clone()
                refusal
            />
            {verbs(own, typed, refusal)}
            {kinds}
            <LineField field=Field::Days help=days_help value=typed.days.clone() refusal/>
            <LineField
                field=Field::Reason
                help="Why, in a sentence. It stays on the record under your name."
                value=typed.reason.clone()
                refusal
            />
            <div class="consequence">
                <Icon name=IconName::Info/>
                <p>"The next page shows the token\u{2019}s text. It is shown this once and kept nowhere."</p>
            </div>
            <div class="form-actions">
                <Submit label="Make the token" choices=Vec::new() busy="Making it" enabled=may/>
                <a class="button" href=back>"Back without making one"</a>
            </div>
        </form>
    }
    .into_any()
}

fn verbs(own: bool, typed: &Typed, refusal: Option<&RefusalView>) -> AnyView {
    let wrong = is_wrong(Field::Verbs, refusal);
    let boxes = TokenVerb::of(own).iter().copied().map(|verb| {
        let ticked = typed.verbs.iter().any(|typed| typed == verb.as_str());
        view! {
            <label class="choice">
                <input type="checkbox" name="verbs" value=verb.as_str() checked=ticked/>
                <span class="choice-body">
                    <span class="choice-title">{verb.as_str()}</span>
                    <span class="choice-help">{verb.label()}</span>
                </span>
            </label>
        }
    });
    let error = wrong.then(|| {
        view! { <p class="field-error" id="verbs-error">{Field::Verbs.mend()}</p> }
    });
    view! {
        <fieldset class="choices" id=Field::Verbs.as_str() aria-describedby=wrong.then_some("verbs-error")>
            <legend class="field-label">{Field::Verbs.label()}</legend>
            {error}
            {boxes.collect_view()}
        </fieldset>
    }
    .into_any()
}

/// The way to the form for one's own token.
pub(super) fn make_own() -> AnyView {
    view! { <p><a class="button" href=NEW_OWN>"Make a token"</a></p> }.into_any()
}
