//! `/bulks` and below it: sets that were frozen, each with its rows and what became of them.

mod detail;
mod list;
mod rows;
mod words;

pub use detail::{DetailPage, FormPage};
pub use list::ListPage;
