//! The addresses of a report: the page, and the files that leave with a trace.

use axum::{
    extract::{Path, Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use domain::{ids::IncidentId, problem::Code};
use engine::{Engine, StaffCaller};

use super::{Format, write};
use crate::{context::render_page, refusal::Refused, router::AppState};

/// `GET /incidents/{id}/report`: the page; with `?format=md|json|csv` a file.
///
/// # Errors
/// `filter_invalid` for a format that there is not; `not_found`.
pub async fn page_or_file(
    State(state): State<AppState>,
    Path(path): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let query = request.uri().query().unwrap_or_default();
    let format = url::form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == "format")
        .map(|(_, value)| value.into_owned());
    match (format, request.extensions().get::<StaffCaller>().cloned()) {
        (Some(format), Some(by)) => download(&state.engine, &by, &path, &format).await,
        _ => Ok(render_page(&state, request).await),
    }
}

/// A report as a file, once it is on record who takes it.
///
/// # Errors
/// As [`page_or_file`].
pub async fn download(
    engine: &Engine,
    by: &StaffCaller,
    id: &str,
    format: &str,
) -> Result<Response, Refused> {
    let id: IncidentId = id.parse().map_err(|_| Refused::code(Code::NotFound))?;
    let format: Format = format.parse().map_err(|_| {
        Refused::code(Code::FilterInvalid).field("format").detail("format is md, json or csv.")
    })?;
    let sealed = engine.incident_report(by, id).await?;
    let file = write(format, &sealed, by.email());
    let hashes = (sealed.content_hash.as_str(), file.file_hash.as_str());
    engine.report_taken(by, id, format.as_str(), hashes).await?;
    let mut response = file.bytes.into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, format.content_type()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let name = format!("attachment; filename=\"incident-{id}.{}\"", format.as_str());
    if let Ok(name) = HeaderValue::try_from(name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}
