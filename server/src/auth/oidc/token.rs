//! The ID token (OIDC Core, 3.1.3.7): signed by the provider, for this console, now, in answer
//! to this question.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    fault::Fault,
    keys::{Algorithm, Keys, Unsigned},
};

/// How far two clocks may be apart, in seconds.
const LEEWAY_S: i64 = 60;
/// The longest subject that the standard allows.
const MAX_SUBJECT: usize = 255;

/// What claims say, by name.
pub(super) type Claims = Map<String, Value>;

/// What a token must answer. Instants are seconds since 1970, by the database's clock.
#[derive(Debug)]
pub(super) struct Question<'a> {
    /// Who was asked.
    pub(super) issuer: &'a str,
    /// Who asked.
    pub(super) client_id: &'a str,
    /// What is to be repeated.
    pub(super) nonce: &'a str,
    /// When it was asked.
    pub(super) begun_at: i64,
    /// Now.
    pub(super) now: i64,
    /// Not before when the person must have proven who they are, where that was asked.
    pub(super) proven_since: Option<i64>,
}

/// A token whose parts have been taken apart, and nothing more.
#[derive(Debug)]
pub(super) struct Token<'a> {
    algorithm: Algorithm,
    key: Option<String>,
    message: &'a [u8],
    payload: &'a str,
    signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

impl<'a> Token<'a> {
    /// Takes a token apart; refuses one that no key could vouch for.
    pub(super) fn read(text: &'a str) -> Result<Self, Fault> {
        let broken = || Fault::Token("cannot be read");
        let (signed, signature) = text.rsplit_once('.').ok_or_else(broken)?;
        let (header, payload) = signed.split_once('.').ok_or_else(broken)?;
        if payload.contains('.') {
            return Err(Fault::Token("is encrypted"));
        }
        let header = URL_SAFE_NO_PAD.decode(header).map_err(|_| broken())?;
        let header: Header = serde_json::from_slice(&header).map_err(|_| broken())?;
        let algorithm = Algorithm::named(&header.alg)
            .ok_or(Fault::Token("is not signed by RS256, PS256 or ES256"))?;
        // RFC 7515, 4.1.11: what must be understood and is not makes it void.
        if header.crit.is_some() {
            return Err(Fault::Token("needs an extension"));
        }
        Ok(Self {
            algorithm,
            key: header.kid,
            message: signed.as_bytes(),
            payload,
            signature: URL_SAFE_NO_PAD.decode(signature).map_err(|_| broken())?,
        })
    }

    /// Whether one of the keys signed it.
    pub(super) fn verify(&self, keys: &Keys) -> Result<(), Unsigned> {
        keys.verify(self.algorithm, self.key.as_deref(), self.message, &self.signature)
    }

    /// Its claims, where they answer the question. Call it once [`Token::verify`] said yes.
    pub(super) fn claims(&self, question: &Question<'_>) -> Result<Claims, Fault> {
        let payload =
            URL_SAFE_NO_PAD.decode(self.payload).map_err(|_| Fault::Token("cannot be read"))?;
        let claims: Claims =
            serde_json::from_slice(&payload).map_err(|_| Fault::Token("has no claims"))?;
        answers(&claims, question).map_err(Fault::Token)?;
        Ok(claims)
    }
}

/// Checks one claim after another; says of the first that is wrong what it is.
fn answers(claims: &Claims, question: &Question<'_>) -> Result<(), &'static str> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("iss") != Some(question.issuer) {
        return Err("is another issuer's");
    }
    for_us(claims, question.client_id)?;
    let at = |name: &'static str| claims.get(name).map(seconds).transpose();
    let expires = at("exp").map_err(|()| "has no readable exp")?.ok_or("has no exp")?;
    let issued = at("iat").map_err(|()| "has no readable iat")?.ok_or("has no iat")?;
    let begins = at("nbf").map_err(|()| "has no readable nbf")?;
    if expires <= question.now - LEEWAY_S {
        return Err("has expired");
    }
    if issued > question.now + LEEWAY_S || begins.is_some_and(|at| at > question.now + LEEWAY_S) {
        return Err("is from the future");
    }
    if issued < question.begun_at - LEEWAY_S {
        return Err("is older than the question");
    }
    if text("nonce") != Some(question.nonce) {
        return Err("answers another question: its nonce differs");
    }
    if let Some(since) = question.proven_since {
        let proven = at("auth_time").map_err(|()| "has no readable auth_time")?;
        let proven = proven.ok_or("does not say when the person proved who they are")?;
        if proven < since - LEEWAY_S {
            return Err("rests on a proof that is too old");
        }
        if proven > question.now + LEEWAY_S {
            return Err("is from the future");
        }
    }
    match text("sub") {
        Some(subject) if !subject.is_empty() && subject.len() <= MAX_SUBJECT => Ok(()),
        _ => Err("names nobody"),
    }
}

/// Whether this console is whom the token is for: alone, or among others as the one that asked.
fn for_us(claims: &Claims, client_id: &str) -> Result<(), &'static str> {
    let other = "is for another client";
    let asked_by = claims.get("azp");
    if asked_by.is_some_and(|party| party.as_str() != Some(client_id)) {
        return Err(other);
    }
    match claims.get("aud") {
        Some(Value::String(one)) if one == client_id => Ok(()),
        Some(Value::Array(many)) if many.iter().any(|one| one.as_str() == Some(client_id)) => {
            if many.len() == 1 || asked_by.is_some() {
                Ok(())
            } else {
                Err(other)
            }
        }
        _ => Err(other),
    }
}

/// A `NumericDate`, which may have a fraction.
fn seconds(value: &Value) -> Result<i64, ()> {
    if let Some(whole) = value.as_i64() {
        return Ok(whole);
    }
    match value.as_f64() {
        Some(number) if value.is_number() && number.abs() < 1e15 => Ok(number.floor() as i64),
        _ => Err(()),
    }
}
