//! `/views`: why a view of a list was not kept or changed, with what was typed and the way back to the list.

use domain::{access::Permission, listing::List, problem::Code};
use leptos::prelude::*;
use leptos_meta::Title;

use super::address::{own_page, query};
use crate::{
    api::{refused::RefusedForm, session, views::Typed},
    components::{
        empty_state::EmptyState,
        list_views::{KEEP_AS, keep_form},
        notice::right,
        refusal_summary::refusal_frame,
    },
    error::{Field, RefusalView},
    location, text,
};

/// The page.
#[component]
pub fn ViewsPage() -> impl IntoView {
    let query = query();
    let refused = RefusedForm::from_query(&query).map(|refused| refused.refusal);
    let typed = Typed::from_query(&query);
    let back = own_page(&query, "back");
    view! {
        <Title text="Views of lists · Onceover"/>
        <header class="page-head"><h1 class="page-title">"Views of lists"</h1></header>
        {Suspend::new(async move {
            let may_share = session::me()
                .await
                .is_ok_and(|me| domain::access::permits(me.role, Permission::ShareViews));
            match refused {
                Some(refusal) => explained(&refusal, typed, back, may_share),
                None => nothing(),
            }
        })}
    }
    .into_any()
}

fn explained(
    refusal: &RefusalView,
    typed: Typed,
    back: Option<String>,
    may_share: bool,
) -> AnyView {
    let Typed { list, query, name, shared } = typed;
    let wrong = (refusal.field == Some(Field::Name)).then(|| name_to_mend(list.map(|_| &*name)));
    let form = list.map(|list| keep_form(list, &query, &name, may_share, shared, wrong));
    let list = list.map(|list| location::here(list.path(), &query)).or(back);
    let back = list.map(|href| view! { <p><a href=href>"Back to the list"</a></p> });
    view! {
        <div class="stack prose">
            {refusal_frame(refusal.code, particulars(refusal, wrong, form.is_some()))}
            {form}
            {back}
        </div>
    }
    .into_any()
}

/// Why a name does not do, as far as what was typed to keep a view tells; of an own view that was to be
/// changed nothing comes back.
fn name_to_mend(kept: Option<&str>) -> &'static str {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let fits = |name: &str| {
        let name = name.trim();
        (1..=80).contains(&name.chars().count())
            && !name.chars().any(|c| c.is_control() || turns(c))
    };
    match kept {
        Some(name) if fits(name) => {
            "You keep 50 views of this list, which is the most: delete one, or give the name of one to replace it."
        }
        Some(_) => "1 to 80 characters on one line.",
        None => "1 to 80 characters on one line, and not the name of another view of yours.",
    }
}

/// What is to be mended: the name is that of a view, called as the form calls it.
fn particulars(refusal: &RefusalView, wrong_name: Option<&'static str>, has_form: bool) -> AnyView {
    // What these say of themselves is about a list that is read.
    let about_reading = matches!(refusal.code, Code::FilterInvalid | Code::NotFound);
    let unchanged = about_reading.then(|| view! { <p>"Nothing was kept or changed."</p> });
    let mend = match (refusal.missing, wrong_name, refusal.field) {
        (Some(missing), ..) => right(missing),
        (None, Some(wrong), _) if has_form => {
            view! { <p><a href="#view-name">{format!("{KEEP_AS}: {wrong}")}</a></p> }.into_any()
        }
        (None, Some(wrong), _) => view! { <p>{format!("The name: {wrong}")}</p> }.into_any(),
        (None, None, Some(field)) => {
            view! { <p>{format!("{}: {}", field.label(), field.mend())}</p> }.into_any()
        }
        (None, None, None) => ().into_any(),
    };
    view! { {unchanged} {mend} }.into_any()
}

fn nothing() -> AnyView {
    let lists = List::ALL.iter().map(|list| {
        view! { <li><a href=list.path()>{text::capitalised(list.as_str())}</a></li> }
    });
    view! {
        <EmptyState title="Views stand above their lists.">
            <p>"Each list has its views, and in its menu the form that keeps what is shown."</p>
            <ul>{lists.collect_view()}</ul>
        </EmptyState>
    }
    .into_any()
}
