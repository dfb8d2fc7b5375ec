//! What every list is asked within: texts of a bounded length, a cursor of ours, a page of a bounded
//! size. One place, so that no list forgets a bound that the others hold (T38).

use domain::{
    listing::{Cursor, DEFAULT_PAGE, InvalidCursor},
    problem::Code,
};

use crate::{error::EngineError, settings::Limits};

/// The refusal of one filter.
pub(super) fn unfit(field: &str, detail: impl Into<String>) -> EngineError {
    EngineError::field(Code::FilterInvalid, field, detail.into())
}

/// Checks a list's texts, its cursor among them, and returns where its page begins and how many rows
/// it has.
///
/// # Errors
/// Refused: `filter_invalid`, with the field and the limit in force.
pub(super) fn page(
    given: &[(&str, &Option<String>)],
    cursor: &Option<String>,
    limit: Option<i64>,
    limits: &Limits,
) -> Result<(Option<Cursor>, i64), EngineError> {
    page_by(Cursor::decode, given, cursor, limit, limits)
}

/// The same for a list with a cursor of another kind.
///
/// # Errors
/// As [`page`].
pub(super) fn page_by<C>(
    decode: impl FnOnce(&str) -> Result<C, InvalidCursor>,
    given: &[(&str, &Option<String>)],
    cursor: &Option<String>,
    limit: Option<i64>,
    limits: &Limits,
) -> Result<(Option<C>, i64), EngineError> {
    for (field, text) in given.iter().chain([&("cursor", cursor)]) {
        let Some(text) = text else { continue };
        let most = limits.filter_chars;
        if text.chars().count() > most {
            return Err(unfit(field, format!("{field} is longer than {most} characters")));
        }
        if text.contains('\0') {
            return Err(unfit(field, format!("{field} holds U+0000")));
        }
    }
    let most = limits.page_rows;
    let limit = limit.unwrap_or(DEFAULT_PAGE.min(most));
    if !(1..=most).contains(&limit) {
        return Err(unfit("limit", format!("a page has 1 to {most} rows")));
    }
    let cursor = cursor
        .as_deref()
        .map(decode)
        .transpose()
        .map_err(|error| unfit("cursor", error.to_string()))?;
    Ok((cursor, limit))
}

/// A text that was given and says something.
pub(super) fn given(text: &Option<String>) -> Option<String> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}
