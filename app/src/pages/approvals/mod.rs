//! `/approvals`: requests for a second person.

mod detail;
mod difference;
mod list;

pub use detail::{DetailPage, FormPage};
pub use list::ListPage;
