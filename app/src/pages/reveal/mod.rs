//! Masked fields revealed: the form that asks for it, and what it shows for a few minutes.

mod form;
mod shown;

pub use form::{ArtifactFormPage, EventFormPage, MessageFormPage, OperationFormPage};
pub use shown::ShownPage;
