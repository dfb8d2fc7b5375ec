//! What the address of a page says, read once: a page is rendered for one address.

use std::str::FromStr;

use domain::action::Verb;
use leptos::prelude::*;
use leptos_router::hooks::{use_location, use_params_map};

use crate::location::Asked;

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

fn part(name: &str) -> Option<String> {
    use_params_map().with_untracked(|params| params.get(name))
}
