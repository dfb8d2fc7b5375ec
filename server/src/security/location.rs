//! Where a form may send a person on to: a place on this console, and nowhere else (T07).
//!
//! Also the one redirect helper of the server: Leptos' own panics on control characters (T47).

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

/// The longest place to go on to, in characters.
const MAX_CHARS: usize = 2_000;

/// The place named, where it lies on this console; else the first page.
#[must_use]
pub fn local(place: &str) -> &str {
    if is_local(place) { place } else { "/" }
}

fn is_local(place: &str) -> bool {
    let mut chars = place.chars();
    if chars.next() != Some('/') || matches!(chars.next(), Some('/' | '\\')) {
        return false;
    }
    if place.chars().count() > MAX_CHARS || place.chars().any(|c| c.is_control() || !c.is_ascii()) {
        return false;
    }
    // Browsers resolve more forms than the rules above name; what they make of it decides.
    let here = url::Url::parse("https://console.invalid/sign-in").expect("a fixed URL parses");
    here.join(place).is_ok_and(|url| url.origin() == here.origin())
}

/// `303 See Other`: the browser follows with a GET.
#[must_use]
pub fn see_other(place: &str) -> Response {
    let place = HeaderValue::from_str(local(place)).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}

/// The sign-in page, from which a person comes back to `next`.
#[must_use]
pub fn sign_in(next: &str, refused: Option<&str>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if let Some(code) = refused {
        query.append_pair("refused", code);
    }
    if local(next) != "/" {
        query.append_pair("next", next);
    }
    let query = query.finish();
    if query.is_empty() { "/sign-in".to_owned() } else { format!("/sign-in?{query}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_link_survives_sign_in_with_its_query() {
        let deep = "/operations?status=unknown&q=a%2Fb";
        assert_eq!(local(deep), deep);
        let page = sign_in(deep, None);
        let query = page.strip_prefix("/sign-in?next=").unwrap();
        assert_eq!(query, "%2Foperations%3Fstatus%3Dunknown%26q%3Da%252Fb");
    }

    #[test]
    fn every_other_place_becomes_the_first_page() {
        let long = format!("/{}", "a".repeat(MAX_CHARS));
        for place in [
            "",
            "operations",
            "//evil",
            "/\\evil",
            "/\t/evil",
            "/\r\nX: 1",
            "https://evil/",
            "javascript:alert(1)",
            "\\\\evil",
            "/\u{e9}",
            &long,
        ] {
            assert_eq!(local(place), "/", "{place:?}");
            let response = see_other(place);
            assert_eq!(response.headers()[header::LOCATION], "/");
        }
        assert_eq!(local("/%0d%0aX:"), "/%0d%0aX:");
        assert_eq!(sign_in("//evil", Some("sign_in_failed")), "/sign-in?refused=sign_in_failed");
    }
}
