//! The bearer token of a request: one header, one token, or none.
//!
//! It knows of headers alone: the fuzzer compiles this file by itself.

use axum::http::{HeaderMap, header};

/// The longest token looked up, in bytes.
const MAX_TOKEN: usize = 512;

/// The token of this request, where it carries exactly one `Authorization` and that is a bearer's.
#[must_use]
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok()?,
        _ => return None,
    };
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= MAX_TOKEN)
        .then_some(token)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn read(values: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        bearer(&headers).map(str::to_owned)
    }

    #[test]
    fn one_bearer_token_is_read_and_anything_else_is_none() {
        assert_eq!(read(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(read(&["bearer  abc"]).as_deref(), Some("abc"));
        for other in [
            &["Basic abc"][..],
            &["Bearer"],
            &["Bearer "],
            &["abc"],
            &["Bearer a", "Bearer b"],
            &[],
        ] {
            assert_eq!(read(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_token_longer_than_any_of_ours_is_not_looked_up() {
        let longest = "a".repeat(MAX_TOKEN);
        assert_eq!(read(&[&format!("Bearer {longest}")]), Some(longest.clone()));
        assert_eq!(read(&[&format!("Bearer {longest}a")]), None);
    }
}
