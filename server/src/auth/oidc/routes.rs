//! The three addresses of a sign-in with the provider: leaving, leaving to prove oneself again, and
//! coming back.
//!
//! Leaving is a link and no form: `form-action 'self'` also judges where a form's answer leads, in some
//! browsers. It keeps a row and sets a cookie for ten minutes, and is begun by this console's own pages
//! alone.

use axum::{
    Extension,
    extract::{RawQuery, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::DateTime;
use domain::problem::Code;
use engine::{
    RequestOrigin,
    identity::{Arrival, Departure, NewSession, Origin, ProvenPerson, Subject},
};
use rand::Rng as _;
use sha2::{Digest as _, Sha256};
use url::{Url, form_urlencoded};

use super::{
    Oidc,
    fault::Fault,
    metadata::Metadata,
    person,
    provider::{Exchange, plain_word},
    token::{Claims, Question, Token},
};
use crate::{
    auth::{
        cookie::{self, SessionToken, cookies},
        origin::CameFrom,
    },
    context,
    refusal::{Refused, chain},
    router::AppState,
    security::{location, nonce::Nonce, request::Asking},
};

const COOKIE: &str = "__Host-sso";
const ATTRIBUTES: &str = "Secure; HttpOnly; SameSite=Lax; Path=/";
/// Ten minutes, as long as the row behind it counts.
const COOKIE_S: u32 = 600;
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// `GET /sign-in/oidc`: leaves for the provider, to come back with a session.
pub async fn begin(
    State(state): State<AppState>,
    Extension(nonce): Extension<Nonce>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let next = next(query.as_deref());
    leave(&state, nonce, &headers, next, None).await
}

/// `GET /sign-in/oidc/again`: leaves for the provider to prove anew who the session's person is.
pub async fn again(
    State(state): State<AppState>,
    Extension(token): Extension<SessionToken>,
    Extension(nonce): Extension<Nonce>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let next = next(query.as_deref());
    leave(&state, nonce, &headers, next, Some(token.as_str().to_owned())).await
}

/// `GET /sign-in/oidc/callback`: back from the provider.
pub async fn finish(
    State(state): State<AppState>,
    Asking(request): Asking,
    Extension(nonce): Extension<Nonce>,
    RawQuery(query): RawQuery,
    CameFrom(origin): CameFrom,
    headers: HeaderMap,
) -> Response {
    let Some(oidc) = &state.oidc else { return Refused::code(Code::NotFound).into_response() };
    let answer = Answer::read(query.as_deref().unwrap_or_default());
    let mut next = "/".to_owned();
    let came = come_back(&state, oidc, (&headers, origin), &answer, request, &mut next).await;
    let mut response = match came {
        Ok(session) => {
            let mut response = location::see_other(&next);
            response.headers_mut().append(header::SET_COOKIE, cookie::begin(&session.token));
            response
        }
        Err(fault) => refuse(&state, nonce, &headers, &next, &fault).await,
    };
    response.headers_mut().append(header::SET_COOKIE, cookie("", 0));
    response
}

/// Where the address asks to go on to, if it is ours.
fn next(query: Option<&str>) -> String {
    let asked = single(query.unwrap_or_default(), "next").unwrap_or_default();
    location::local(&asked).to_owned()
}

/// A part of a query that stands there once.
fn single(query: &str, name: &str) -> Option<String> {
    let mut found = form_urlencoded::parse(query.as_bytes()).filter(|(known, _)| known == name);
    match (found.next(), found.next()) {
        (Some((_, value)), None) => Some(value.into_owned()),
        _ => None,
    }
}

async fn leave(
    state: &AppState,
    nonce: Nonce,
    headers: &HeaderMap,
    next: String,
    session: Option<String>,
) -> Response {
    let Some(oidc) = &state.oidc else { return Refused::code(Code::NotFound).into_response() };
    let from = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    if from.is_some_and(|site| site != b"same-origin" && site != b"none") {
        // Another site may lead people here, and no further.
        return location::see_other(&location::sign_in(&next, None));
    }
    let again = session.is_some();
    let back = next.clone();
    let left = async {
        let metadata = oidc.0.provider.metadata().await?;
        let leaving =
            Departure { state: secret(), verifier: secret(), nonce: secret(), next, session };
        let place = authorization(oidc, &metadata, &leaving, again);
        let verifier = leaving.verifier.clone();
        state.engine.depart_to_provider(leaving).await?;
        Ok::<_, Fault>((place, verifier))
    };
    match left.await {
        Ok((place, verifier)) => {
            let place = HeaderValue::from_str(place.as_str()).expect("a URL is visible ASCII");
            let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response();
            response.headers_mut().append(header::SET_COOKIE, cookie(&verifier, COOKIE_S));
            response
        }
        Err(fault) => refuse(state, nonce, headers, &back, &fault).await,
    }
}

/// The provider's address with this console's question.
fn authorization(oidc: &Oidc, metadata: &Metadata, leaving: &Departure, again: bool) -> Url {
    let settings = &oidc.0.settings;
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(leaving.verifier.as_bytes()));
    let mut place = metadata.authorization.clone();
    let mut query = place.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", &settings.client_id)
        .append_pair("redirect_uri", &oidc.0.redirect_uri)
        .append_pair("scope", &settings.scopes.join(" "))
        .append_pair("state", &leaving.state)
        .append_pair("nonce", &leaving.nonce)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256");
    if again {
        query.append_pair("prompt", "login").append_pair("max_age", "0");
    } else if settings.max_age_min > 0 {
        query.append_pair("max_age", &(u64::from(settings.max_age_min) * 60).to_string());
    }
    drop(query);
    place
}

/// What the provider's answer says in its address.
struct Answer {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
    issuer: Option<String>,
}

impl Answer {
    fn read(query: &str) -> Self {
        let part = |name: &str| single(query, name).filter(|value| !value.is_empty());
        Self { state: part("state"), code: part("code"), error: part("error"), issuer: part("iss") }
    }
}

async fn come_back(
    state: &AppState,
    oidc: &Oidc,
    (headers, origin): (&HeaderMap, Origin),
    answer: &Answer,
    request: RequestOrigin,
    next: &mut String,
) -> Result<NewSession, Fault> {
    let verifier = verifier(headers).ok_or(Fault::NotBegun)?;
    let asked = answer.state.as_deref().ok_or(Fault::NotBegun)?;
    let arrival = state.engine.arrive_from_provider(asked, verifier).await?;
    let arrival = arrival.ok_or(Fault::NotBegun)?;
    next.clone_from(&arrival.next);
    let claims = ask(oidc, answer, &arrival, verifier).await?;
    let subject = claims.get("sub").and_then(|subject| subject.as_str()).unwrap_or_default();
    let who = Subject { issuer: oidc.0.settings.issuer.clone(), subject: subject.to_owned() };
    let former = SessionToken::of(headers);
    if arrival.is_again() {
        let token = former.as_ref().map(SessionToken::as_str).unwrap_or_default();
        return Ok(state.engine.prove_again(&arrival, who, token, request).await?);
    }
    let email = person::email(&claims, &oidc.0.settings)?;
    let proven = ProvenPerson {
        who,
        name: person::name(&claims, &email),
        email,
        roles: person::roles(&claims, &oidc.0.settings),
        proven_at: claims
            .get("auth_time")
            .and_then(serde_json::Value::as_i64)
            .and_then(|at| DateTime::from_timestamp(at, 0)),
        origin,
    };
    let session = state.engine.sign_in_proven(proven, request.clone()).await?;
    if let Some(former) = former {
        // Best effort: the new session stands either way, and the old one runs out.
        if let Err(error) = state.engine.sign_out(former.as_str(), request).await {
            tracing::warn!(%error, "the former session was not ended");
        }
    }
    Ok(session)
}

/// What the provider says of the person, once all of it holds.
async fn ask(
    oidc: &Oidc,
    answer: &Answer,
    arrival: &Arrival,
    verifier: &str,
) -> Result<Claims, Fault> {
    let (settings, provider) = (&oidc.0.settings, &oidc.0.provider);
    let metadata = provider.metadata().await?;
    match &answer.issuer {
        Some(named) if *named != settings.issuer => return Err(Fault::OtherIssuer),
        None if metadata.names_issuer => return Err(Fault::OtherIssuer),
        _ => {}
    }
    if let Some(error) = &answer.error {
        return Err(Fault::Declined(plain_word(error)));
    }
    let exchange = Exchange {
        client_id: &settings.client_id,
        client_secret: settings.client_secret.expose(),
        redirect_uri: &oidc.0.redirect_uri,
        code: answer.code.as_deref().ok_or(Fault::NoCode)?,
        verifier,
    };
    let tokens = provider.exchange(&metadata, &exchange).await?;
    let token = Token::read(&tokens.id_token)?;
    provider.verify(&token).await?;
    let (begun_at, now) = (arrival.begun_at.timestamp(), arrival.now.timestamp());
    let max_age_s = i64::from(settings.max_age_min) * 60;
    let question = Question {
        issuer: &settings.issuer,
        client_id: &settings.client_id,
        nonce: &arrival.nonce,
        begun_at,
        now,
        proven_since: if arrival.is_again() {
            Some(begun_at)
        } else {
            (max_age_s > 0).then_some(now - max_age_s)
        },
    };
    let mut claims = token.claims(&question)?;
    if !arrival.is_again()
        && !person::is_whole(&claims, settings)
        && let Some(access_token) = &tokens.access_token
        && let Some(more) = provider.userinfo(&metadata, access_token).await?
    {
        if more.get("sub") != claims.get("sub") {
            return Err(Fault::Token("and the claims beside it are about two people"));
        }
        person::complete(&mut claims, more);
    }
    Ok(claims)
}

/// The sign-in page under the refusal's status, so that programs see the one and people the other.
async fn refuse(
    state: &AppState,
    nonce: Nonce,
    headers: &HeaderMap,
    next: &str,
    fault: &Fault,
) -> Response {
    tell(fault);
    let code = fault.code();
    if !matches!(code, Code::SsoFailed | Code::SsoRefused | Code::SsoUnavailable) {
        return Refused::code(code).into_response();
    }
    let mut request = Request::new(axum::body::Body::empty());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = location::sign_in(next, Some(code.as_str()))
        .parse()
        .expect("a place made of escaped parts is a URI");
    for name in [header::ACCEPT, header::COOKIE] {
        if let Some(value) = headers.get(&name) {
            request.headers_mut().insert(name, value.clone());
        }
    }
    request.extensions_mut().insert(nonce);
    let mut response = context::render_page(state, request).await;
    *response.status_mut() =
        StatusCode::from_u16(code.status()).expect("every code of the closed list has a status");
    response
}

/// One line in the log for each sign-in that did not come to be, and nothing about the person.
fn tell(fault: &Fault) {
    tracing::warn!(
        code = fault.code().as_str(),
        reason = chain(fault),
        "a sign-in with the identity provider was refused"
    );
}

fn verifier(headers: &HeaderMap) -> Option<&str> {
    let mut found = cookies(headers).filter(|(name, _)| *name == COOKIE);
    match (found.next(), found.next()) {
        (Some((_, value)), None) if !value.is_empty() => Some(value),
        _ => None,
    }
}

fn cookie(verifier: &str, seconds: u32) -> HeaderValue {
    let text = format!("{COOKIE}={verifier}; Max-Age={seconds}; {ATTRIBUTES}");
    let mut value = HeaderValue::try_from(text).expect("a secret is base64url");
    value.set_sensitive(true);
    value
}

/// 256 bits by the operating system's chance.
fn secret() -> String {
    let mut bytes = [0_u8; 32];
    rand::rng().fill_bytes(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}
