//! `/incidents`: problems that stay open until a person closes them.

mod detail;
mod form;
mod gather;
mod list;
mod report;

pub use detail::DetailPage;
pub use form::FormPage;
pub use gather::GatherPage;
pub use list::ListPage;
pub use report::ReportPage;
