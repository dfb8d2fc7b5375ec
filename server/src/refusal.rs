//! How a refusal leaves the machine: as an RFC 9457 problem for programs, as a small page for
//! people; the words come from the closed list of codes alone (T41).
//!
//! Handlers and layers return [`Refused`], an empty response that carries the refusal; the
//! request layer renders it once, where it knows who asked and under which request id.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{problem::Code, view::Refusal};
use serde_json::{Map, Value, json};

use crate::security::nonce::Nonce;

/// A refusal on its way out; [`render`] gives it its body.
#[derive(Debug, Clone)]
pub struct Refused(Box<Particulars>);

#[derive(Debug, Clone)]
struct Particulars {
    refusal: Refusal,
    status: StatusCode,
    more: Map<String, Value>,
    retry_after_s: Option<u64>,
}

impl Refused {
    /// A refusal with nothing to say beyond its code.
    #[must_use]
    pub fn code(code: Code) -> Self {
        Self::from(Refusal {
            code,
            field: None,
            detail: None,
            missing: None,
            current: None,
            receipt: None,
            retry_at: None,
            decided_at: None,
        })
    }

    /// What it says.
    #[must_use]
    pub fn refusal(&self) -> &Refusal {
        &self.0.refusal
    }

    /// Names the field at fault.
    #[must_use]
    pub fn field(mut self, name: &str) -> Self {
        self.0.refusal.field = Some(name.to_owned());
        self
    }

    /// Says more about this case, from facts alone.
    #[must_use]
    pub fn detail(mut self, sentence: impl Into<String>) -> Self {
        self.0.refusal.detail = Some(sentence.into());
        self
    }

    /// Answers with another status than the code's own (405, 408, 421).
    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Self {
        self.0.status = status;
        self
    }

    /// Adds an extension member to the problem.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.more.insert(name.to_owned(), value.into());
        self
    }

    /// Says in how many seconds to ask again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.0.retry_after_s = Some(seconds.max(1));
        self
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        let status = StatusCode::from_u16(refusal.code.status())
            .expect("every code of the closed list has a valid status");
        Self(Box::new(Particulars { refusal, status, more: Map::new(), retry_after_s: None }))
    }
}

impl From<engine::EngineError> for Refused {
    fn from(error: engine::EngineError) -> Self {
        let refusal = error.refusal();
        if matches!(refusal.code, Code::Internal | Code::Unavailable) {
            // The whole chain goes to the log, once, and nothing of it to the caller.
            tracing::error!(error = chain(&error), "engine fault");
        }
        Self::from(refusal)
    }
}

/// An error and its causes in one line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        if let Some(seconds) = self.0.retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.0.refusal.code == Code::Unauthenticated {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// Who reads the refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A program.
    Program,
    /// A person with a browser.
    Person,
}

impl Reader {
    /// Tells the two apart: the JSON API never answers with a page.
    #[must_use]
    pub fn of(path: &str, headers: &HeaderMap) -> Self {
        let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
        let accept = accept.unwrap_or_default();
        if path.starts_with("/api/") {
            Self::Program
        } else if accept.contains("text/html") {
            Self::Person
        } else {
            Self::Program
        }
    }
}

/// Gives a response that carries a refusal its body.
#[must_use]
pub fn render(
    response: Response,
    reader: Reader,
    request_id: &str,
    nonce: Option<&Nonce>,
) -> Response {
    let (mut head, body) = response.into_parts();
    let Some(Refused(refused)) = head.extensions.remove::<Refused>() else {
        return Response::from_parts(head, body);
    };
    let (kind, text) = match reader {
        Reader::Program => ("application/problem+json", problem(&refused, request_id).to_string()),
        Reader::Person => ("text/html; charset=utf-8", page(&refused.refusal, request_id, nonce)),
    };
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Response::from_parts(head, Body::from(text))
}

/// A detail that begins with a field's name and ends without a stop, as a sentence beside others.
fn as_sentence(detail: &str) -> String {
    let stop = if detail.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{detail}{stop}")
}

fn problem(refused: &Particulars, request_id: &str) -> Value {
    let refusal = &refused.refusal;
    let code = refusal.code;
    let detail = refusal.detail.as_deref().map_or_else(
        || code.advice().to_owned(),
        |sentence| format!("{} {}", as_sentence(sentence), code.advice()),
    );
    let mut members = refused.more.clone();
    for (name, value) in [
        ("type", json!(format!("urn:onceover:problem:{code}"))),
        ("title", json!(code.title())),
        ("status", json!(refused.status.as_u16())),
        ("detail", json!(detail)),
        ("code", json!(code)),
        ("request_id", json!(request_id)),
    ] {
        members.insert(name.to_owned(), value);
    }
    for (name, value) in [
        ("field", json!(refusal.field)),
        ("missing", json!(refusal.missing)),
        ("current", json!(refusal.current)),
        ("receipt", json!(refusal.receipt)),
        ("retry_at", json!(refusal.retry_at)),
        ("decided_at", json!(refusal.decided_at)),
    ] {
        if !value.is_null() {
            members.insert(name.to_owned(), value);
        }
    }
    Value::Object(members)
}

/// A page for what is refused before the console's own pages are reached.
fn page(refusal: &Refusal, request_id: &str, nonce: Option<&Nonce>) -> String {
    let code = refusal.code;
    let style = nonce.map_or_else(String::new, |nonce| {
        format!(
            "<style nonce=\"{nonce}\">:root{{color-scheme:light dark}}body{{font:16px/1.5 system-ui,\
             sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}}</style>"
        )
    });
    let detail = refusal
        .detail
        .as_deref()
        .map_or_else(String::new, |sentence| format!("<p>{}</p>", escape(sentence)));
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Refused \u{2013} Onceover</title>\
         {style}</head><body><main data-code=\"{code}\"><h1>{}</h1>{detail}<p>{}</p>\
         <p>Request {}</p><p><a href=\"/\">Back to the console</a></p></main></body></html>",
        escape(code.title()),
        escape(code.advice()),
        escape(request_id),
    )
}

fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_escapes_what_a_detail_quotes() {
        let refused = Refused::code(Code::RequestInvalid).detail("<script>alert(1)</script>");
        let page = page(&refused.0.refusal, "r", None);
        assert!(!page.contains("<script"));
        assert!(page.contains("data-code=\"request_invalid\""));
    }

    #[test]
    fn an_unknown_outcome_never_reads_as_a_failure() {
        let refused = Refused::code(Code::OutcomeUnknown).with("safe_new_key", false);
        let problem = problem(&refused.0, "r");
        assert_eq!(problem["status"], 409);
        assert_eq!(problem["safe_new_key"], false);
        assert!(!problem.to_string().contains("fail"));
    }
}
