//! Lists as files, for a person's program: the same grant and the same rows as from the pages.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use domain::{
    listing::{BadPart, List, ListQuery, Parts},
    problem::Code,
};

use super::auth::Staff;
use crate::{
    exports::{Format, export},
    refusal::Refused,
    router::AppState,
    views::bad_part,
};

/// `GET /export/{list}`.
pub async fn download(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(list): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refused> {
    let list: List = list.parse().map_err(|_| Refused::code(Code::NotFound))?;
    let query = query.unwrap_or_default();
    let mut pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let word = pairs.iter().find(|(name, _)| name == "format").map(|(_, word)| word.as_str());
    let format = Format::read(word.or(Some("json")))?;
    pairs.retain(|(name, _)| name != "format");
    // A name that the list does not know is refused here, as in its own call, and never skipped.
    let known = || -> Result<(), BadPart> {
        let mut parts = Parts::new(pairs.iter().cloned())?;
        ListQuery::read(list, &mut parts)?;
        parts.finish()
    };
    known().map_err(bad_part)?;
    export(&state.engine, by, list, pairs, format).await
}
