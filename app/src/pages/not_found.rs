//! A page that is not there. A record of another tenant looks exactly like one that does not exist.

use domain::problem::Code;
use leptos::prelude::*;
use leptos_meta::Title;

use crate::components::nav::BrandMark;

/// The head of pages outside the frame.
#[component]
pub fn OutsideHead() -> impl IntoView {
    view! {
        <header class="outside-head">
            <a class="brand" href="/">
                <BrandMark/>
                "Onceover"
            </a>
        </header>
    }
}

/// Whatever no route knows: answers 404, outside the frame.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    view! {
        <div class="outside">
            <OutsideHead/>
            <main class="outside-main" id="main"><NotFound/></main>
        </div>
    }
}

/// The words of a 404, for a page inside or outside the frame; sets the response's status.
#[component]
pub fn NotFound() -> impl IntoView {
    answer_404();
    view! {
        <Title text="Not found · Onceover"/>
        <div class="prose" data-code=Code::NotFound.as_str()>
            <h1 class="outside-title">{Code::NotFound.title()}</h1>
            <p class="outside-words">{Code::NotFound.advice()}</p>
            <p class="outside-words">
                <a href="/">"What needs a person now"</a>
                " · "
                <a href="/operations">"All operations"</a>
            </p>
        </div>
    }
    .into_any()
}

fn answer_404() {
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>() {
        response.set_status(http::StatusCode::NOT_FOUND);
    }
}
