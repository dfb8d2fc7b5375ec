//! `/search`: one box over all records.

mod page;
mod row;

pub use page::SearchPage;
pub(super) use page::what_is_searched;
