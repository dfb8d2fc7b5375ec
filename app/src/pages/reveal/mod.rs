//! Masked fields revealed: the form that asks for it, and what it shows for a few minutes.

mod form;
mod shown;

pub use form::{ArtifactFormPage, EventFormPage, MessageFormPage, OperationFormPage};
pub use shown::ShownPage;

use crate::text;

/// What the names of masked fields take at most, in bytes of the page, and what one takes besides itself.
const MAX_NAMES: usize = 16_000;
const NAME_FRAME: usize = 30;

/// The names that a page has room for, and how many it leaves out.
fn named(pointers: &[String]) -> (&[String], usize) {
    let mut taken = 0;
    let fits = |pointer: &&String| {
        taken += NAME_FRAME + text::weight(pointer);
        taken <= MAX_NAMES
    };
    let count = pointers.iter().take_while(fits).count();
    (&pointers[..count], pointers.len() - count)
}
