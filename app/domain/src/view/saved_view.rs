//! Views of lists that people keep.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A view of a list: a name for a part of the list's address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedView {
    /// Its id.
    pub id: Uuid,
    /// What its owner calls it.
    pub name: String,
    /// The query of the list's address.
    pub query: String,
    /// Whether the team sees it.
    pub shared: bool,
    /// Whose it is; `None` for one of the reader's own.
    pub owner: Option<String>,
}
