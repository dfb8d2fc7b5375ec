//! `/inbox`: messages from others, each taken in once.

mod detail;
mod list;
mod words;

pub use detail::{DetailPage, FormPage};
pub use list::ListPage;
