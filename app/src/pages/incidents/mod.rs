//! `/incidents`: problems that stay open until a person closes them.

mod detail;
mod list;

pub use detail::{DetailPage, FormPage};
pub use list::ListPage;
