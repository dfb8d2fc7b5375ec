//! Reading the views of a list that people keep. They are changed by plain forms of the server
//! (`/views`).

use domain::{
    access::Permission,
    listing::{List, ListQuery, Parts},
    view::SavedView,
};

use super::context::{caller, engine, read};
use crate::{error::ConsoleError, location::Asked};

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

fn fits(list: List, query: &str) -> bool {
    let asked = Asked::read(list.path(), query);
    let read = || ListQuery::read(list, &mut Parts::new(asked.parts()?)?);
    read().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
