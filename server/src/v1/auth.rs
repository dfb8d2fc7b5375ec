//! Who calls the JSON API: a bearer token of a service or of a person, and nothing else.
//!
//! A cookie means nothing here, which is why this door needs no origin guard (T03).

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderName, Method, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use engine::{Caller, ServiceCaller, StaffCaller};

use super::{bearer::bearer, verbs};
use crate::{
    refusal::Refused,
    router::AppState,
    security::{client::Client, request},
};

const TOTP: HeaderName = HeaderName::from_static("onceover-totp");
/// Puts the [`Caller`] into the request, or refuses: 401 without one, 429 beyond a limit, 403 where the
/// token does not cover the call.
pub async fn require(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let found = match bearer(request.headers()) {
        Some(token) => {
            let origin = request::origin(request.extensions());
            state.engine.caller_by_bearer(token, origin).await
        }
        None => Ok(None),
    };
    let found = match (found, code(&request)) {
        (Ok(Some(Caller::Staff(by))), Some(code)) => {
            state.engine.with_code(by, &code).await.map(|by| Some(Caller::Staff(by)))
        }
        (found, _) => found,
    };
    match found {
        Ok(Some(caller)) => {
            let may = state.limiter.program(&caller).and_then(|()| verbs::check(&caller, &request));
            if let Err(refused) = may {
                return refused.into_response();
            }
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Ok(None) => {
            let client = request.extensions().get::<Client>().copied();
            let unknown = Refused::code(Code::Unauthenticated);
            state.limiter.stranger(client).err().unwrap_or(unknown).into_response()
        }
        Err(error) => Refused::from(error).into_response(),
    }
}

/// A code of a person's second factor, which a program may send along with what moves money (T12).
fn code(request: &Request) -> Option<String> {
    let code = request.headers().get(TOTP).filter(|_| request.method() == Method::POST);
    code.and_then(|code| code.to_str().ok()).map(str::to_owned)
}

fn caller(parts: &Parts) -> Result<Caller, Refused> {
    parts.extensions.get::<Caller>().cloned().ok_or_else(|| Refused::code(Code::Unauthenticated))
}

/// A service's token: the engine's calls.
#[derive(Debug)]
pub struct Service(pub ServiceCaller);

impl<S: Sync> FromRequestParts<S> for Service {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        match caller(parts)? {
            Caller::Service(service) => Ok(Self(service)),
            Caller::Staff(_) => {
                Err(Refused::code(Code::TokenScope).detail("This call takes a service token."))
            }
        }
    }
}

/// A person's token: the console's calls.
#[derive(Debug)]
pub struct Staff(pub StaffCaller);

impl<S: Sync> FromRequestParts<S> for Staff {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        match caller(parts)? {
            Caller::Staff(staff) => Ok(Self(staff)),
            Caller::Service(_) => {
                Err(Refused::code(Code::TokenScope).detail("This call takes a person's token."))
            }
        }
    }
}

/// Either token.
#[derive(Debug)]
pub struct Anyone(pub Caller);

impl<S: Sync> FromRequestParts<S> for Anyone {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        caller(parts).map(Self)
    }
}
