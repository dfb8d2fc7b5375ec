//! What this browser prefers, as its cookies say: looks alone, nobody else's business, and no right.

use http::{header::COOKIE, request::Parts};
use leptos::prelude::use_context;

/// The value of a cookie of this request.
pub(crate) fn cookie(name: &str) -> Option<String> {
    let parts = use_context::<Parts>()?;
    let headers = parts.headers.get_all(COOKIE);
    headers
        .iter()
        .filter_map(|header| header.to_str().ok())
        .find_map(|cookies| value(cookies, name))
}

/// Whether keys without a modifier are commands: they are, until somebody switches them off.
pub(crate) fn single_keys() -> bool {
    cookie("keys").as_deref() != Some("off")
}

fn value(cookies: &str, name: &str) -> Option<String> {
    let mut pairs = cookies.split(';').filter_map(|cookie| cookie.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        assert_eq!(value("a=b; theme=dark", "theme").as_deref(), Some("dark"));
        assert_eq!(value("theme=light;x=y", "theme").as_deref(), Some("light"));
        assert_eq!(value("xtheme=dark; theme", "theme"), None);
    }
}
