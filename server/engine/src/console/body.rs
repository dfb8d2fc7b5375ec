//! A body as pages show it: masked by the rules of the kind that it belongs to, and bounded.

use domain::{json::Json, view::BodyView};

use crate::operations::{bounded, masked};

/// The most of a body that is shown, in bytes.
pub(super) const MAX_SHOWN: usize = 32 * 1024;

/// A body, masked and bounded. One that is no JSON is shown only where nothing would have to be
/// masked in it.
pub(super) fn body(bytes: &[u8], pointers: &[String]) -> BodyView {
    let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    let (text, masked) = match Json::parse(bytes) {
        Ok(value) => {
            let masking = masked(value, pointers);
            (masking.payload.pretty(), masking.masked)
        }
        Err(_) if pointers.is_empty() => (String::from_utf8_lossy(bytes).into_owned(), 0),
        Err(_) => (String::new(), 1),
    };
    let (text, cut) = bounded(text, MAX_SHOWN);
    BodyView { text, bytes: size, cut, masked }
}

/// A body of which nothing may be shown: nobody can say any more what of it has to be masked.
pub(super) fn hidden(bytes: &[u8]) -> BodyView {
    BodyView {
        text: String::new(),
        bytes: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
        cut: true,
        masked: 1,
    }
}
