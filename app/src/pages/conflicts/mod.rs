//! `/conflicts`: the same key with another payload, refused each time.

mod detail;
mod list;

pub use detail::DetailPage;
pub use list::ListPage;
