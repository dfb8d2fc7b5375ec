//! Reading the views of a list that people keep. They are changed by plain forms of the server
//! (`/views`); where one is refused, a page of that path explains it.

use domain::{
    access::Permission,
    listing::{List, ListQuery, Parts},
    view::{Refusal, SavedView},
};
use form_urlencoded::Serializer;

use super::{
    context::{caller, engine, read},
    refused::{Kept, RefusedForm},
};
use crate::{
    error::ConsoleError,
    location::{Asked, value},
};

/// The most of a typed name that comes back after a refusal, in bytes.
const MAX_NAME_BYTES: usize = 400;
/// The longest address of a list that comes back, in bytes: a longer one is no view.
const MAX_QUERY_BYTES: usize = 12_000;

/// What a list shows of its views.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListViews {
    /// The own ones, then those that others share.
    pub views: Vec<ListView>,
    /// Whether the reader may share.
    pub may_share: bool,
}

/// A view, and whether its list can still read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListView {
    /// The view.
    pub view: SavedView,
    /// Whether its filter still fits: a word of it may have gone since it was kept.
    pub fits: bool,
}

/// The views of a list that the reader sees.
///
/// # Errors
/// The engine's refusal.
pub async fn views(list: List) -> Result<ListViews, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    let views = read(&caller, engine.saved_views(&caller, list)).await?;
    let views =
        views.into_iter().map(|view| ListView { fits: fits(list, &view.query), view }).collect();
    Ok(ListViews { views, may_share: caller.permits(Permission::ShareViews) })
}

/// A view as the form had it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Typed {
    /// Of which list; `None` where it named none that there is.
    pub list: Option<List>,
    /// What the list showed.
    pub query: String,
    /// What it was to be called.
    pub name: String,
    /// Whether the team was to see it.
    pub shared: bool,
}

impl Typed {
    /// Reads it from the page's raw query.
    #[must_use]
    pub fn from_query(query: &str) -> Self {
        let text = |name| value(query, name).unwrap_or_default();
        Self {
            list: text("list").parse().ok(),
            query: text("query"),
            name: text("name"),
            shared: text("shared") == "true",
        }
    }
}

/// The page that explains why a view was not kept, with what was typed.
#[must_use]
pub fn not_kept(refusal: Refusal, typed: Option<Typed>) -> String {
    let Typed { list, query, name, shared } = typed.unwrap_or_default();
    let list = list.filter(|_| query.len() <= MAX_QUERY_BYTES);
    let query = list.map(|_| query).unwrap_or_default();
    let name = &name[..name.floor_char_boundary(MAX_NAME_BYTES)];
    explained(
        refusal,
        &[
            ("list", list.map_or("", List::as_str)),
            ("query", &query),
            ("name", name),
            ("shared", if shared { "true" } else { "" }),
        ],
    )
}

/// The page that explains why a view was not changed, with the way back to its list.
#[must_use]
pub fn not_changed(refusal: Refusal, back: &str) -> String {
    explained(refusal, &[("back", back)])
}

fn explained(refusal: Refusal, more: &[(&str, &str)]) -> String {
    let refused = RefusedForm { refusal: refusal.into(), kept: Kept::default() };
    let more = more.iter().filter(|(_, value)| !value.is_empty());
    let more = Serializer::new(String::new()).extend_pairs(more).finish();
    let joint = if more.is_empty() { "" } else { "&" };
    format!("/views?{}{joint}{more}", refused.to_query())
}

fn fits(list: List, query: &str) -> bool {
    let asked = Asked::read(list.path(), query);
    let read = || ListQuery::read(list, &mut Parts::new(asked.parts()?)?);
    read().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_comes_back_with_the_refusal() {
        let typed = Typed {
            list: Some(List::Outbox),
            query: "status=dead&q=a%2Fb".into(),
            name: "Mine & yours\r\n=".into(),
            shared: true,
        };
        let refusal = Refusal { field: Some("name".into()), ..refusal() };
        let place = not_kept(refusal, Some(typed.clone()));
        assert!(place.bytes().all(|b| b.is_ascii_graphic()), "{place}");
        let query = place.strip_prefix("/views?").unwrap();
        assert_eq!(Typed::from_query(query), typed);
        let refused = RefusedForm::from_query(query).unwrap().refusal;
        assert_eq!(refused.field, Some(crate::error::Field::Name));

        let long = Typed { query: "x".repeat(MAX_QUERY_BYTES + 1), ..typed };
        let place = not_kept(self::refusal(), Some(long));
        let query = place.strip_prefix("/views?").unwrap();
        assert_eq!(Typed::from_query(query).list, None, "a part of a view is no view");
    }

    fn refusal() -> Refusal {
        Refusal {
            code: domain::problem::Code::Unprocessable,
            field: None,
            detail: None,
            missing: None,
            current: None,
            receipt: None,
            retry_at: None,
            decided_at: None,
        }
    }

    #[test]
    fn a_view_whose_filter_has_gone_does_not_fit() {
        for query in ["", "status=dead&columns=state", "from=2026-10-25&zone=Europe/Berlin"] {
            assert!(fits(List::Outbox, query), "{query}");
        }
        for query in ["status=gone", "from=yesterday", "from=2026-10-25&zone=Mars/Olympus"] {
            assert!(!fits(List::Outbox, query), "{query}");
        }
    }
}
