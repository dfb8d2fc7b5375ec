//! A body as pages show it: masked by the rules of the kind that it belongs to, and bounded.

use domain::{access::Permission, json::Json, problem::Code, view::BodyView};

use crate::{
    error::EngineError,
    operations::{bounded, masked},
};

/// The most of a body that is shown, in bytes.
pub(super) const MAX_SHOWN: usize = 32 * 1024;

/// The most of a body that a reveal shows, in bytes: the masked fields stand beside it, whole.
const MAX_REVEALED: usize = 64 * 1024;

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

/// A body with nothing masked, for whoever was granted it; bounded. Bytes that are no text are not
/// shown.
pub(super) fn shown_whole(bytes: &[u8]) -> BodyView {
    let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    let text = match Json::parse(bytes) {
        Ok(value) => Some(value.pretty()),
        Err(_) => str::from_utf8(bytes).ok().map(str::to_owned),
    };
    let whole = text.is_some();
    let (text, cut) = bounded(text.unwrap_or_default(), MAX_REVEALED);
    BodyView { text, bytes: size, cut: cut || !whole, masked: 0 }
}

/// A body as a whole, for a download: as it was sent where nothing is masked in it.
///
/// # Errors
/// Refused: `permission_missing` for one that is no JSON, so that it cannot be masked.
pub(super) fn whole(bytes: Vec<u8>, pointers: &[String]) -> Result<(Vec<u8>, u32), EngineError> {
    if pointers.is_empty() {
        return Ok((bytes, 0));
    }
    let json = Json::parse(&bytes).map_err(|_| unmaskable())?;
    let masking = masked(json, pointers);
    Ok((masking.payload.pretty().into_bytes(), masking.masked))
}

/// The refusal of what cannot be shown without what is masked in it.
pub(super) fn unmaskable() -> EngineError {
    EngineError::refused_with(Code::PermissionMissing, |refusal| {
        refusal.missing = Some(Permission::Reveal);
    })
}
