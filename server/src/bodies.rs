//! A payload or an answer as a whole, as a download for people: a page shows its beginning.
//!
//! Guards against the body that a browser runs: it leaves as bytes to be kept, whatever it is.

use axum::{
    Extension,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::Response,
};
use chrono::{DateTime, Utc};
use domain::problem::Code;
use engine::{StaffCaller, console::WhichBody};
use serde::Deserialize;

use crate::{download::attachment, refusal::Refused, router::AppState};

/// Which of several bodies of one record.
#[derive(Deserialize)]
pub struct Which {
    since: Option<DateTime<Utc>>,
}

/// `GET /{records}/{id}/{part}`; the router names records and part.
///
/// # Errors
/// `not_found`, also for what has expired; `permission_missing` for what cannot be masked.
pub async fn download(
    part: &'static str,
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    Path(id): Path<String>,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Response, Refused> {
    let since = which.ok().and_then(|Query(which)| which.since);
    let which = find(part, &id, since).ok_or_else(|| Refused::code(Code::NotFound))?;
    let body = state.engine.whole_body(&by, which).await?;
    let name = part.rsplit('/').next().unwrap_or(part);
    Ok(attachment(&format!("{name}-{id}"), body))
}

/// The parts that can be had, as their routes name them.
pub const PARTS: [&str; 7] = [
    "operations/payload",
    "operations/answer",
    "outbox/payload",
    "inbox/payload",
    "inbox/effect",
    "inbox/other",
    "conflicts/payload",
];

fn find(part: &str, id: &str, since: Option<DateTime<Utc>>) -> Option<WhichBody> {
    Some(match part {
        "operations/payload" => WhichBody::Payload(id.parse().ok()?),
        "operations/answer" => WhichBody::Answer(id.parse().ok()?),
        "outbox/payload" => WhichBody::Event(id.parse().ok()?),
        "inbox/payload" => WhichBody::Message(id.parse().ok()?),
        "inbox/effect" => WhichBody::Effect(id.parse().ok()?),
        "inbox/other" => WhichBody::OtherMessage(id.parse().ok()?, since?),
        "conflicts/payload" => WhichBody::Conflict(id.parse().ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_route_has_its_body() {
        for part in PARTS {
            let id = "01a2287c-c88e-7848-88ac-9331cc799376";
            assert!(find(part, id, Some(DateTime::UNIX_EPOCH)).is_some(), "{part}");
            assert!(find(part, "none", Some(DateTime::UNIX_EPOCH)).is_none(), "{part}");
        }
    }
}
