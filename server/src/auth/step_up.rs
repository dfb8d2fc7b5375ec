//! Step-up: the factor again, before what takes one that was given lately (T12), by plain forms.
//!
//! Whoever refuses says by a header of the response that the form is held, and nothing else. The layer
//! here, which has seen the form, answers with the page that asks for the factor and carries the fields
//! along; after it the form's own page comes back, filled. No field stands in an address, and nothing is
//! done before the person sends the form again.

use app::held::{FactorField, HOLD, HeldForm, PREFIX};
use axum::{
    Extension,
    body::{Body, Bytes},
    extract::{Form, Request, State, rejection::FormRejection},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use engine::{
    EngineError, StaffCaller,
    identity::{FactorAsked, Proof},
};
use url::form_urlencoded;

use super::{cookie, form::unread, oidc};
use crate::{
    context,
    refusal::Refused,
    router::AppState,
    security::{location, nonce::Nonce, request::RequestId},
};

const FORM: &str = "application/x-www-form-urlencoded";

/// The answer of a handler whose form is held until its sender has proved who they are.
#[must_use]
pub fn hold(page: &str) -> Response {
    let page = HeaderValue::from_str(location::local(page));
    let page = page.unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::FORBIDDEN, [(HOLD, page)]).into_response()
}

/// Keeps the fields of every form until its answer is known, and asks for the factor where that is what
/// the answer says. Stands right before the handlers, which find the body whole.
pub async fn keep_the_form(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::POST || !is_form(request.headers()) {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    // The layer before has read it within its limit.
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
        return Refused::code(Code::RequestInvalid).into_response();
    };
    let page = Rendering::of(&head.headers, &head.extensions);
    let response = next.run(Request::from_parts(head, Body::from(body.clone()))).await;
    let Some(form) = response.headers().get(HOLD).and_then(|page| page.to_str().ok()) else {
        return response;
    };
    let held = HeldForm { page: form.to_owned(), fields: fields(&body), ..HeldForm::default() };
    match page {
        Some(page) => ask(&state, page, held, StatusCode::FORBIDDEN).await,
        None => Refused::code(Code::Unauthenticated).into_response(),
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with(FORM))
}

fn fields(body: &Bytes) -> Vec<(String, String)> {
    form_urlencoded::parse(body).into_owned().collect()
}

/// What a page of this console is rendered with, for the answer to a form.
pub(super) struct Rendering {
    headers: HeaderMap,
    caller: StaffCaller,
    nonce: Nonce,
    request_id: Option<RequestId>,
}

impl Rendering {
    fn of(headers: &HeaderMap, extensions: &axum::http::Extensions) -> Option<Self> {
        Some(Self {
            headers: headers.clone(),
            caller: extensions.get::<StaffCaller>()?.clone(),
            nonce: extensions.get::<Nonce>()?.clone(),
            request_id: extensions.get::<RequestId>().cloned(),
        })
    }

    /// The page at a place of this console, with something that it shows.
    pub(super) async fn page<T>(self, state: &AppState, place: &str, shown: T) -> Response
    where
        T: Clone + Send + Sync + 'static,
    {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = place.parse().unwrap_or(Uri::from_static("/"));
        for name in [header::ACCEPT, header::COOKIE] {
            if let Some(value) = self.headers.get(&name) {
                request.headers_mut().insert(name, value.clone());
            }
        }
        let extensions = request.extensions_mut();
        extensions.insert(self.caller);
        extensions.insert(self.nonce);
        if let Some(id) = self.request_id {
            extensions.insert(id);
        }
        extensions.insert(shown);
        context::render_page(state, request).await
    }
}

/// The page that asks for the factor.
async fn ask(state: &AppState, page: Rendering, held: HeldForm, status: StatusCode) -> Response {
    let factor = match state.engine.factor_asked(&page.caller).await {
        Ok(FactorAsked::Code) => FactorField::Code,
        Ok(FactorAsked::Provider) if let Some(oidc) = &state.oidc => {
            FactorField::Provider(oidc.name().to_owned(), format!("{}?next=/me", oidc::AGAIN))
        }
        Ok(_) => FactorField::Password,
        Err(error) => return Refused::from(error).into_response(),
    };
    let mut response = page.page(state, "/step-up", HeldForm { factor, ..held }).await;
    *response.status_mut() = status;
    response
}

/// `POST /step-up`.
pub async fn step_up(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    Extension(nonce): Extension<Nonce>,
    request_id: Option<Extension<RequestId>>,
    headers: HeaderMap,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => return unread(&rejection, FIELDS).field("factor").into_response(),
    };
    let value = |wanted: &str| {
        form.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    };
    let page = location::local(value("page").unwrap_or("/")).to_owned();
    let request_id = request_id.map(|Extension(id)| id);
    let held = form
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?.to_owned(), value.clone())))
        .collect();
    let held = HeldForm { page, fields: held, ..HeldForm::default() };
    let mut rendering = Rendering { headers, caller: by, nonce, request_id };
    let Some(factor) = value("factor") else {
        return proved_elsewhere(&state, rendering, held).await;
    };
    let token = match prove(&state, &rendering.caller, factor).await {
        Ok(token) => token,
        Err(error) => match error.refusal().code {
            code @ (Code::FactorRefused | Code::TooManyAttempts) => {
                let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::FORBIDDEN);
                let held = HeldForm { refused: Some(code), ..held };
                return ask(&state, rendering, held, status).await;
            }
            _ => return Refused::from(error).into_response(),
        },
    };
    let mut response = if held.fields.is_empty() {
        location::see_other(&held.page)
    } else {
        let origin = rendering.caller.origin().clone();
        match state.engine.staff_by_session(&token, origin).await {
            Ok(Some(caller)) => rendering.caller = caller,
            Ok(None) => return Refused::code(Code::Unauthenticated).into_response(),
            Err(error) => return Refused::from(error).into_response(),
        }
        let page = held.page.clone();
        rendering.page(&state, &page, held).await
    };
    response.headers_mut().append(header::SET_COOKIE, cookie::begin(&token));
    response
}

const FIELDS: &str = "The form must have the field factor.";

/// The form back for whoever proved it beside this page, at the identity provider, and has nothing to type.
async fn proved_elsewhere(state: &AppState, page: Rendering, held: HeldForm) -> Response {
    match state.engine.factor_asked(&page.caller).await {
        Ok(FactorAsked::Provider) if page.caller.factor_lasts().is_some() => {
            if held.fields.is_empty() {
                return location::see_other(&held.page);
            }
            let place = held.page.clone();
            page.page(state, &place, held).await
        }
        Ok(FactorAsked::Provider) => {
            let held = HeldForm { refused: Some(Code::StepUpRequired), ..held };
            ask(state, page, held, StatusCode::FORBIDDEN).await
        }
        Ok(_) => {
            let refused = Refused::code(Code::Unprocessable).field("factor");
            refused.detail(FIELDS).into_response()
        }
        Err(error) => Refused::from(error).into_response(),
    }
}

/// Proves the person by what was typed; the answer is the session's new token.
async fn prove(state: &AppState, by: &StaffCaller, factor: &str) -> Result<String, EngineError> {
    let attempt = state.engine.begin_step_up(by).await?;
    let proof = if attempt.takes_code() {
        Proof::Code(factor.to_owned())
    } else {
        Proof::Password(state.passwords.verify(factor, attempt.password_hash()).await)
    };
    state.engine.finish_step_up(by, proof).await
}

/// The page at a place, shown once with what only its asker may see.
pub(super) async fn show_once<T>(
    state: &AppState,
    request: (HeaderMap, StaffCaller, Nonce),
    place: &str,
    shown: T,
) -> Response
where
    T: Clone + Send + Sync + 'static,
{
    let (headers, caller, nonce) = request;
    Rendering { headers, caller, nonce, request_id: None }.page(state, place, shown).await
}
