//! What pages and server functions find in their context, whichever door they are reached by.
//!
//! The same closure goes to the routes and to the fallback: a server function runs from the
//! render of a page and from its own POST, and without it one of the two would fail.

use std::sync::OnceLock;

use app::{App, components::single_sign_on::SingleSignOn, shell};
use axum::{body::Body, extract::Request, http::request::Parts, response::Response};
use leptos::prelude::{provide_context, use_context};

use crate::{auth::preferences, router::AppState, security::nonce::Nonce};

/// The context closure. The engine for server functions; the nonce of this response's policy in
/// place of the one that Leptos minted; how the reader wants the page, and its zone; what the sign-in
/// page offers.
pub fn provider(state: &AppState) -> impl Fn() + Clone + Send + Sync + 'static {
    let engine = state.engine.clone();
    let provider = state.oidc.as_ref().map(|oidc| SingleSignOn { name: oidc.name().into() });
    move || {
        provide_context(engine.clone());
        if let Some(provider) = provider.clone() {
            provide_context(provider);
        }
        let Some(parts) = use_context::<Parts>() else { return };
        if let Some(nonce) = parts.extensions.get::<Nonce>() {
            provide_context(leptos::nonce::Nonce::from_value(nonce.text()));
        }
        let look = preferences::in_force(&parts);
        provide_context(look.zone());
        provide_context(look);
    }
}

/// Renders the page at the request's URI, for a handler that answers with one.
pub async fn render_page(state: &AppState, request: Request<Body>) -> Response {
    let options = state.leptos.clone();
    let render =
        leptos_axum::render_app_async_with_context(provider(state), move || shell(options.clone()));
    render(request).await
}

/// The page of an incident's report: one address with its files, so its handler renders it.
pub const REPORT: &str = "/incidents/{id}/report";

/// The pages that the application has and that no handler of its own renders, listed once per process.
///
/// Listing runs the application with every resource of the process suppressed: a page that another
/// thread renders meanwhile would wait for its data for ever (leptos#4773).
#[must_use]
pub fn routes() -> Vec<leptos_axum::AxumRouteListing> {
    static ROUTES: OnceLock<Vec<leptos_axum::AxumRouteListing>> = OnceLock::new();
    let list = || {
        let mut routes = leptos_axum::generate_route_list(App);
        routes.retain(|route| route.path() != REPORT);
        routes
    };
    ROUTES.get_or_init(list).clone()
}
