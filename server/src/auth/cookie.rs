//! The cookie of a session: one random token, tied to this host alone (`__Host-`) and to HTTPS (T05).
//! Browsers count loopback as safe, so the demo's plain HTTP needs no second name.
//!
//! It knows of headers alone: the fuzzer compiles this file by itself.

use axum::http::{HeaderMap, HeaderValue, header};

const NAME: &str = "__Host-sid";
const ATTRIBUTES: &str = "Secure; HttpOnly; SameSite=Lax; Path=/";

/// The token in the browser's cookie.
#[derive(Clone)]
pub struct SessionToken(String);

impl SessionToken {
    /// The token of this request, where it carries exactly one.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut found = cookies(headers).filter(|(name, _)| *name == NAME);
        match (found.next(), found.next()) {
            (Some((_, token)), None) if !token.is_empty() => Some(Self(token.to_owned())),
            _ => None,
        }
    }

    /// The text that the engine looks up.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The cookies of a request, name and value.
pub fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
}

/// The `Set-Cookie` that begins a session; it ends with the browser, or with its row.
#[must_use]
pub fn begin(token: &str) -> HeaderValue {
    let mut value = HeaderValue::try_from(format!("{NAME}={token}; {ATTRIBUTES}"))
        .expect("a session token is base64url");
    value.set_sensitive(true);
    value
}

/// The `Set-Cookie` that ends it.
#[must_use]
pub fn end() -> HeaderValue {
    HeaderValue::try_from(format!("{NAME}=; {ATTRIBUTES}; Max-Age=0")).expect("visible ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_exactly_what_the_threat_table_says() {
        assert_eq!(begin("t0k"), "__Host-sid=t0k; Secure; HttpOnly; SameSite=Lax; Path=/");
        assert_eq!(end(), "__Host-sid=; Secure; HttpOnly; SameSite=Lax; Path=/; Max-Age=0");
    }

    #[test]
    fn one_token_is_read_and_two_are_none() {
        let token = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, HeaderValue::from_static(line));
            }
            SessionToken::of(&headers).map(|token| token.0)
        };
        assert_eq!(token(&["theme=dark; __Host-sid=abc"]).as_deref(), Some("abc"));
        assert_eq!(token(&["sid=abc"]), None);
        assert_eq!(token(&["__Host-sid="]), None);
        assert_eq!(token(&["__Host-sid=a; __Host-sid=b"]), None);
        assert_eq!(token(&["__Host-sid=a", "__Host-sid=b"]), None);
    }
}
