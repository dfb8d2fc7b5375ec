//! What the address of a page says, read once: a page is rendered for one address.

use std::str::FromStr;

use domain::action::Verb;
use leptos::prelude::*;
use leptos_router::hooks::{use_location, use_params_map};

use crate::{
    location::{Asked, value},
    text::safe_href,
};

/// The raw query: the router's own map decodes values twice.
pub(super) fn query() -> String {
    use_location().search.get_untracked()
}

/// What the address of the list at a path asks for.
pub(super) fn asked(path: &'static str) -> Asked {
    Asked::read(path, &query())
}

/// The record's id in the path; `None` for what is no id.
pub(super) fn record_id<T: FromStr>() -> Option<T> {
    part("id")?.parse().ok()
}

/// The name of a kind in the path.
pub(super) fn name() -> Option<String> {
    part("name")
}

/// The action in the path; `None` for what is none.
pub(super) fn verb() -> Option<Verb> {
    part("verb")?.parse().ok()
}

/// The page of our own that a part of the query names. The server checks it again; here it only must not
/// lead astray in a form or a link.
pub(super) fn own_page(query: &str, name: &str) -> Option<String> {
    value(query, name).filter(|page| page.starts_with('/') && safe_href(page).is_some())
}

fn part(name: &str) -> Option<String> {
    use_params_map().with_untracked(|params| params.get(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_of_our_own_is_gone_on_to() {
        let next = |page: &str| {
            let query: String = form_urlencoded::byte_serialize(page.as_bytes()).collect();
            own_page(&format!("?refused=x&next={query}"), "next")
        };
        for own in ["/", "/me", "/operations?q=a%2Fb"] {
            assert_eq!(next(own).as_deref(), Some(own));
        }
        for foreign in
            ["", "me", "https://evil.example/", "//evil", "/\\evil", "javascript:alert(1)"]
        {
            assert_eq!(next(foreign), None, "{foreign}");
        }
        assert_eq!(own_page("?refused=x", "next"), None);
    }
}
