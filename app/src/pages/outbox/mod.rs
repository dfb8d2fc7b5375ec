//! `/outbox`: events to be told, each in the order of its aggregate.

mod detail;
mod list;
mod order;
mod words;

pub use detail::{DetailPage, FormPage};
pub use list::ListPage;
