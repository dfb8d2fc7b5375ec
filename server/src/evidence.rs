//! Evidence as a file: the page's form and the JSON API's call, read alike, and the download.
//!
//! The one place that takes multipart: every other route refuses it (T03).

use axum::{
    Extension,
    body::Body,
    extract::{FromRequest as _, Multipart, Path, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use domain::{
    ids::{EvidenceId, OperationId},
    problem::Code,
};
use engine::{Attach, StaffCaller};

use crate::{download::attachment, refusal::Refused, router::AppState};

/// Fields that a form may have.
const MAX_FIELDS: usize = 40;
/// What a multipart body may hold beside its file: boundaries, names, and what was typed.
pub const BESIDE_THE_FILE: usize = 256 * 1024;

/// Whether a path is the page's own upload.
#[must_use]
pub fn is_upload(path: &str) -> bool {
    path.strip_prefix("/operations/")
        .and_then(|rest| rest.strip_suffix("/evidence"))
        .is_some_and(|id| !id.is_empty() && !id.contains('/'))
}

/// Whether a request says that its body is multipart.
#[must_use]
pub fn is_multipart(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let kind = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("multipart/form-data")
}

/// A multipart form with one file.
pub struct Form {
    file: Option<(String, Vec<u8>)>,
    fields: Vec<(String, String)>,
}

impl Form {
    /// Reads the body, which is there in full.
    ///
    /// # Errors
    /// `unsupported_media_type` for any other content type; `request_invalid` for what cannot be read.
    pub async fn read(request: Request<Body>) -> Result<Self, Refused> {
        if !is_multipart(request.headers()) {
            let detail = "Send multipart/form-data with one part named file.";
            return Err(Refused::code(Code::UnsupportedMediaType).detail(detail));
        }
        let broken = |what: &str| Refused::code(Code::RequestInvalid).detail(what);
        let unread = "The multipart body cannot be read.";
        let mut parts = Multipart::from_request(request, &()).await.map_err(|_| broken(unread))?;
        let mut form = Self { file: None, fields: Vec::new() };
        while let Some(part) = parts.next_field().await.map_err(|_| broken(unread))? {
            let name = part.name().unwrap_or_default().to_owned();
            if name == "file" {
                if form.file.is_some() {
                    return Err(broken("The body holds more than one file."));
                }
                let sent = part.file_name().unwrap_or_default().to_owned();
                let bytes = part.bytes().await.map_err(|_| broken(unread))?;
                form.file = Some((sent, bytes.to_vec()));
            } else if form.fields.len() < MAX_FIELDS {
                let text = part.text().await.map_err(|_| broken(unread))?;
                form.fields.push((name, text));
            } else {
                return Err(broken("The body has too many fields."));
            }
        }
        Ok(form)
    }

    /// A field's text; empty where it is not there.
    fn text(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, text)| text.as_str())
    }

    /// The file with the words beside it; an absent one is an empty one, which the engine refuses.
    pub fn attach(&mut self) -> Attach {
        let (name, bytes) = self.file.take().unwrap_or_default();
        let text = Some(self.text("text").to_owned()).filter(|text| !text.trim().is_empty());
        Attach { name, bytes, text }
    }

    /// What else was typed.
    #[must_use]
    pub fn fields(&self) -> &[(String, String)] {
        &self.fields
    }
}

/// `POST /operations/{id}/evidence`: keeps the file and leads back to where the form stood, with what
/// was typed there.
///
/// # Errors
/// `too_large` with the limit; `not_found`; what cannot be read. Every other refusal leads back to the
/// form.
pub async fn upload(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    Path(path): Path<String>,
    request: Request<Body>,
) -> Result<Response, Refused> {
    let mut form = Form::read(request).await?;
    let id: OperationId = path.parse().map_err(|_| Refused::code(Code::NotFound))?;
    let attach = form.attach();
    let kept = state.engine.attach_evidence(&by, id, attach).await;
    let place = match kept {
        Ok(attached) => app::api::evidence::back(id, form.fields(), Ok(attached.file.id)),
        Err(error) => {
            let refusal = error.refusal();
            if error.is_fault() || matches!(refusal.code, Code::TooLarge | Code::NotFound) {
                return Err(Refused::from(error));
            }
            app::api::evidence::back(id, form.fields(), Err(refusal))
        }
    };
    let place = HeaderValue::from_str(&place).map_err(|_| Refused::code(Code::Internal))?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response())
}

/// `GET /operations/{id}/evidence/{evidence_id}`.
///
/// # Errors
/// `not_found`, also for what has expired and for another tenant's.
pub async fn download(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    Path((id, evidence)): Path<(String, String)>,
) -> Result<Response, Refused> {
    file(&state, &by, &id, &evidence).await
}

/// The file, for either door.
///
/// # Errors
/// As [`download`].
pub async fn file(
    state: &AppState,
    by: &StaffCaller,
    id: &str,
    evidence: &str,
) -> Result<Response, Refused> {
    let not_found = || Refused::code(Code::NotFound);
    let id: OperationId = id.parse().map_err(|_| not_found())?;
    let evidence: EvidenceId = evidence.parse().map_err(|_| not_found())?;
    let (name, bytes) = state.engine.evidence_file(by, id, evidence).await?;
    Ok(attachment(&name, bytes))
}
