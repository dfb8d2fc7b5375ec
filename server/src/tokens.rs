//! `POST /tokens/made`: makes a token and answers with the page that shows its text, this once. There is no
//! redirect on the way: the text stands in no address, no cookie and no table, and the answer is not kept
//! by any cache. The same form sent again is answered by a page that says so, without the text.

pub use app::api::tokens::POSTED_TO;
use app::api::tokens::{JustMade, Typed};
use axum::{
    Extension,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use domain::problem::Code;
use engine::{AskToken, EngineError, Issued, StaffCaller};

use crate::{auth::step_up, context::render_page, refusal::Refused, router::AppState};

/// Makes the token that the form asks for.
pub async fn issue(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    parts: Parts,
    body: Bytes,
) -> Response {
    let Ok(text) = std::str::from_utf8(&body) else {
        return Refused::code(Code::RequestInvalid).into_response();
    };
    let typed = Typed::read(text);
    let issued = match asked(&typed) {
        Ok(ask) => state.engine.issue_token(&by, ask).await,
        Err(error) => Err(error),
    };
    match issued {
        Ok(issued) => shown(&state, parts, typed, issued).await,
        Err(error) if error.is_fault() => Refused::from(error).into_response(),
        Err(error) if error.refusal().code == Code::StepUpRequired => step_up::hold(typed.form()),
        Err(error) => back(&typed, &error),
    }
}

/// Back to the form, with everything typed. The address begins with our own path and holds the rest escaped.
fn back(typed: &Typed, error: &EngineError) -> Response {
    let place = HeaderValue::try_from(typed.refused(error.refusal()))
        .unwrap_or(HeaderValue::from_static("/admin/tokens"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}

fn asked(typed: &Typed) -> Result<AskToken, EngineError> {
    let unfit = |field: &str| EngineError::field(Code::Unprocessable, field, "does not fit");
    Ok(AskToken {
        id: typed.id.clone(),
        name: typed.name.clone(),
        own: typed.own,
        kinds: typed.named_kinds(),
        verbs: typed
            .verbs
            .iter()
            .map(|verb| verb.parse().map_err(|_| unfit("verbs")))
            .collect::<Result<_, _>>()?,
        days: typed.days.trim().parse().map_err(|_| unfit("days"))?,
        reason: typed.reason.clone(),
    })
}

/// The page at the posted address, rendered for whoever posted.
async fn shown(state: &AppState, parts: Parts, typed: Typed, issued: Issued) -> Response {
    let made = JustMade {
        name: typed.name.trim().to_owned(),
        id: issued.receipt.target.clone(),
        secret: issued.secret,
        receipt: issued.receipt.id,
    };
    let mut page = Request::from_parts(parts, Body::empty());
    *page.method_mut() = Method::GET;
    page.headers_mut().remove(header::CONTENT_TYPE);
    page.headers_mut().remove(header::CONTENT_LENGTH);
    page.extensions_mut().insert(made);
    render_page(state, page).await
}
