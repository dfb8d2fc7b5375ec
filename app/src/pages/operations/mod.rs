//! `/operations`: the list, one operation in full, and the forms by which people decide about it.

mod detail;
mod evidence_form;
mod form;
mod form_body;
mod known;
mod list;
mod refusal;
pub mod row;
mod sections;
mod words;

pub use detail::DetailPage;
pub use evidence_form::EvidenceFormPage;
pub use form::FormPage;
pub use list::ListPage;
