//! `/workflows`: steps that belong together, where each resumes, and how it would be undone.

mod artifacts;
mod detail;
mod list;
mod steps;
mod words;

pub use detail::{DetailPage, FormPage};
pub use list::ListPage;
