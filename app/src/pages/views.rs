//! `/views`: why a view of a list was not kept or changed, with what was typed and the way back to the list.

use domain::{access::Permission, listing::List, problem::Code};
use leptos::prelude::*;
use leptos_meta::Title;

use super::address::{own_page, query};
use crate::{
    api::{refused::RefusedForm, session, views::Typed},
    components::{
        empty_state::EmptyState, list_views::keep_form, notice::right,
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
    let form = list.map(|list| keep_form(list, &query, &name, may_share, shared));
    let list = list.map(|list| location::here(list.path(), &query)).or(back);
    let back = list.map(|href| view! { <p><a href=href>"Back to the list"</a></p> });
    view! {
        <div class="stack prose">
            {refusal_frame(refusal.code, particulars(refusal, form.is_some()))}
            {form}
            {back}
        </div>
    }
    .into_any()
}

/// What is to be mended: the name is that of a view, and only its own form has it.
fn particulars(refusal: &RefusalView, has_form: bool) -> AnyView {
    // What these say of themselves is about a list that is read.
    let about_reading = matches!(refusal.code, Code::FilterInvalid | Code::NotFound);
    let unchanged = about_reading.then(|| view! { <p>"Nothing was kept or changed."</p> });
    let mend = match (refusal.missing, refusal.field) {
        (Some(missing), _) => right(missing),
        (None, Some(Field::Name)) => {
            let words = "Name: 1 to 80 characters on one line, not that of another view of yours. A person \
                         keeps at most 50 views of a list.";
            if has_form {
                view! { <p><a href="#view-name">{words}</a></p> }.into_any()
            } else {
                view! { <p>{words}</p> }.into_any()
            }
        }
        (None, Some(field)) => {
            view! { <p>{format!("{}: {}", field.label(), field.mend())}</p> }.into_any()
        }
        (None, None) => ().into_any(),
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
