//! The one place where routes and layers are put together.
//!
//! The order of the layers is a promise (docs/security.md): security headers stand outermost, so
//! that a refusal, a panic and a page that does not exist carry them too; nothing reaches a
//! handler before host, origin and session have been looked at.

use std::time::Duration;

use app::shell;
use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRef},
    middleware::{from_fn, from_fn_with_state},
    routing::{get, post},
};
use engine::Engine;
use leptos::config::LeptosOptions;
use leptos_axum::LeptosRoutes as _;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;

use crate::{
    artifacts,
    auth::{
        account,
        oidc::{self, Oidc},
        password::Passwords,
        preferences, second_factor, session, sign_in, sign_in_code, step_up,
    },
    bodies, context, evidence, exports, files, health,
    live::{self, Live},
    report,
    security::{
        body, client, detach, headers, host,
        limiter::{self, Limiter},
        origin,
        origin::Site,
        request,
    },
    tokens, v1, views,
};

/// What handlers share.
#[derive(Clone)]
pub struct AppState {
    /// The engine.
    pub engine: Engine,
    /// Where the site lies and how its files are named.
    pub leptos: LeptosOptions,
    /// Hashes passwords.
    pub passwords: Passwords,
    /// The names that the console answers to.
    pub site: Site,
    /// The identity provider that people may sign in with.
    pub oidc: Option<Oidc>,
    /// Open pages that are told what changes.
    pub live: Live,
    /// How long a whole body may take to come.
    pub body_patience: Duration,
    /// How much each may ask.
    pub limiter: Limiter,
    /// Proxies in front whose word about the client is taken.
    pub trusted_hops: usize,
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.leptos.clone()
    }
}

/// The whole application.
pub fn router(state: AppState) -> Router {
    let routes = Router::new()
        .merge(pages(&state))
        .merge(files::router(&state))
        .merge(health::router())
        .merge(live::router())
        .nest("/api/v1", api(&state));
    behind_the_outer_layers(routes, state)
}

/// Puts the layers that stand in front of everything around routes.
pub fn behind_the_outer_layers(routes: Router<AppState>, state: AppState) -> Router {
    let bodies = (state.engine.settings().limits, state.body_patience);
    let outer = ServiceBuilder::new()
        .layer(from_fn(headers::secure))
        .layer(from_fn_with_state(state.trusted_hops, client::find))
        .layer(from_fn(request::trace))
        .layer(CatchPanicLayer::custom(request::after_panic))
        .layer(from_fn_with_state(bodies, body::limit))
        .layer(from_fn_with_state(state.site.clone(), host::only_ours));
    routes.layer(outer).with_state(state)
}

/// Pages, their forms and their server functions: by session, from our own origin.
fn pages(state: &AppState) -> Router<AppState> {
    let provide = context::provider(state);
    let guarded = ServiceBuilder::new()
        .layer(from_fn_with_state(state.site.clone(), origin::guard))
        .layer(from_fn_with_state(state.clone(), session::read))
        .layer(from_fn_with_state(state.limiter.clone(), limiter::pages))
        .layer(from_fn(session::require));
    let options = state.leptos.clone();
    let whole = bodies::PARTS.into_iter().fold(Router::new(), |router, part| {
        let handler = move |state, by, path, which| bodies::download(part, state, by, path, which);
        let (records, name) = part.split_once('/').unwrap_or((part, ""));
        router.route(&format!("/{records}/{{id}}/{name}"), get(handler))
    });
    let pages = Router::new()
        .leptos_routes_with_context(state, context::routes(), provide.clone(), move || {
            shell(options.clone())
        })
        .route("/sign-in", post(sign_in::sign_in))
        .route("/sign-in/code", post(sign_in_code::finish))
        .route(oidc::BEGIN, get(oidc::begin))
        .route(oidc::AGAIN, get(oidc::again))
        .route(oidc::FINISH, get(oidc::finish))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/step-up", post(step_up::step_up))
        .route("/me/second-factor/begin", post(second_factor::begin))
        .route("/me/second-factor/confirm", post(second_factor::confirm))
        .route("/me/second-factor/off", post(second_factor::turn_off))
        .route("/me/password", post(account::change_password))
        .route("/me/sessions/end", post(account::end_session))
        .route("/session/tenant", post(sign_in::switch_tenant))
        .route("/workflows/{id}/artifact", get(artifacts::download))
        .route(context::REPORT, get(report::page_or_file))
        .route("/preferences", post(preferences::set))
        .route(tokens::POSTED_TO, post(tokens::issue))
        .route("/views", post(views::save))
        .route("/views/{id}", post(views::change))
        .route("/export/{list}", get(exports::download))
        .route("/reveals/{id}/artifact", get(artifacts::download_revealed))
        .route("/operations/{id}/evidence", post(evidence::upload))
        .route("/operations/{id}/evidence/{evidence_id}", get(evidence::download))
        .merge(whole)
        .route("/preferences/keys", post(preferences::set_keys))
        .fallback(leptos_axum::file_and_error_handler_with_context::<AppState, _>(provide, shell));
    let pages = pages.layer(from_fn_with_state(state.clone(), step_up::keep_the_form));
    innermost(pages).layer(guarded)
}

/// The JSON API: by bearer token, so without the origin guard; webhooks by signature alone. A program is
/// counted once its token is known, and a guess by the address that it came from.
fn api(state: &AppState) -> Router<AppState> {
    innermost(v1::by_token()).layer(from_fn_with_state(state.clone(), v1::auth::require)).merge(
        innermost(v1::by_signature())
            .layer(from_fn_with_state(state.limiter.clone(), limiter::guesses)),
    )
}

/// Stands right before the handlers: the body is there in full, and what has begun is finished.
pub fn innermost(routes: Router<AppState>) -> Router<AppState> {
    routes.layer(
        ServiceBuilder::new()
            .layer(from_fn(body::read))
            .layer(from_fn(detach::detach))
            .layer(DefaultBodyLimit::disable()),
    )
}
