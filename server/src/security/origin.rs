//! The origin guard (T03): what changes something comes from this console's own pages, or not
//! at all.
//!
//! Server functions of Leptos check neither origin nor content type (F1) and redirect to any
//! `Referer` (F2). This layer stands before sessions and handlers; `/api/v1` is outside it, for
//! it takes bearer tokens alone and ignores cookies.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::problem::Code;

use super::host;
use crate::{evidence, refusal::Refused};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The console's public origin and the host names it answers to.
#[derive(Debug, Clone)]
pub struct Site(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    scheme: String,
    hosts: Vec<String>,
}

impl Site {
    /// A site reached as `{scheme}://{host}` for each of the hosts, ports included.
    #[must_use]
    pub fn new(scheme: &str, hosts: Vec<String>) -> Self {
        let hosts = hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect();
        Self(Arc::new(Inner { scheme: scheme.to_owned(), hosts }))
    }

    /// Whether this console answers to the name.
    #[must_use]
    pub fn has_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.0.hosts.contains(&host)
    }

    /// The origin of the page that this request would load.
    fn origin(&self, headers: &HeaderMap) -> Option<String> {
        let host = host::named(headers)?.to_ascii_lowercase();
        self.has_host(&host).then(|| format!("{}://{host}", self.0.scheme))
    }

    /// Whether a URL lies on this console.
    #[must_use]
    pub fn owns(&self, headers: &HeaderMap, url: &str) -> bool {
        let own = self.origin(headers);
        url::Url::parse(url).is_ok_and(|url| {
            url.username().is_empty()
                && url.password().is_none()
                && own.is_some_and(|own| url.origin().ascii_serialization() == own)
        })
    }
}

/// One header, or nothing where it is missing, doubled or not text.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

fn same_origin(site: &Site, headers: &HeaderMap) -> bool {
    if headers.contains_key(FETCH_SITE) {
        return single(headers, &FETCH_SITE) == Some("same-origin");
    }
    match (single(headers, &header::ORIGIN), site.origin(headers)) {
        (Some(from), Some(own)) => from == own,
        _ => false,
    }
}

/// Forms and JSON only, every other type can be sent across sites without a preflight; and multipart
/// where a file is given as evidence, there alone and there nothing else.
fn content_type_taken(path: &str, headers: &HeaderMap) -> bool {
    if evidence::is_upload(path) {
        return evidence::is_multipart(headers);
    }
    single(headers, &header::CONTENT_TYPE).is_some_and(|value| {
        let kind = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        kind == "application/x-www-form-urlencoded" || kind == "application/json"
    })
}

fn is_guarded(method: &Method, path: &str) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
        || path == "/act"
        || path.starts_with("/act/")
}

/// Decides about one request.
fn judge(site: &Site, method: &Method, path: &str, headers: &HeaderMap) -> Result<(), Code> {
    if !is_guarded(method, path) {
        return Ok(());
    }
    if !same_origin(site, headers) {
        return Err(Code::CrossSite);
    }
    if *method != Method::GET && !content_type_taken(path, headers) {
        return Err(Code::UnsupportedMediaType);
    }
    Ok(())
}

/// Refuses forged requests, and takes a foreign `Referer` away from the rest.
pub async fn guard(State(site): State<Site>, mut request: Request, next: Next) -> Response {
    let foreign = request.headers().get(header::REFERER).is_some_and(|referer| {
        !referer.to_str().is_ok_and(|url| site.owns(request.headers(), url))
    });
    if foreign {
        request.headers_mut().remove(header::REFERER);
    }
    match judge(&site, request.method(), request.uri().path(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(code) => {
            tracing::warn!(%code, "refused by the origin guard");
            Refused::code(code).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const FORM: &str = "application/x-www-form-urlencoded";

    fn site() -> Site {
        Site::new("https", vec!["console.example".into()])
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("console.example"));
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn post(pairs: &[(&'static str, &str)]) -> Result<(), Code> {
        judge(&site(), &Method::POST, "/act/x", &headers(pairs))
    }

    #[test]
    fn only_the_consoles_own_pages_may_post() {
        let kind = ("content-type", FORM);
        assert_eq!(post(&[kind, ("sec-fetch-site", "same-origin")]), Ok(()));
        assert_eq!(post(&[kind, ("origin", "https://console.example")]), Ok(()));
        for forged in [
            vec![kind],
            vec![kind, ("sec-fetch-site", "cross-site")],
            vec![kind, ("sec-fetch-site", "same-site")],
            vec![kind, ("sec-fetch-site", "none")],
            vec![kind, ("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
            vec![kind, ("sec-fetch-site", "cross-site"), ("origin", "https://console.example")],
            vec![kind, ("origin", "null")],
            vec![kind, ("origin", "https://evil.example")],
            vec![kind, ("origin", "http://console.example")],
            vec![kind, ("origin", "https://console.example:444")],
        ] {
            assert_eq!(post(&forged), Err(Code::CrossSite), "{forged:?}");
        }
    }

    #[test]
    fn other_content_types_are_refused() {
        let own = ("sec-fetch-site", "same-origin");
        assert_eq!(post(&[own, ("content-type", "Application/JSON; charset=utf-8")]), Ok(()));
        for kind in
            ["text/plain", "multipart/form-data; boundary=x", "", "text/plain; application/json"]
        {
            assert_eq!(
                post(&[own, ("content-type", kind)]),
                Err(Code::UnsupportedMediaType),
                "{kind}"
            );
        }
        assert_eq!(post(&[own]), Err(Code::UnsupportedMediaType));
    }

    #[test]
    fn a_file_is_taken_from_our_own_page_on_its_one_path() {
        let own = ("sec-fetch-site", "same-origin");
        let multipart = ("content-type", "multipart/form-data; boundary=x");
        let upload = |path: &str, pairs: &[(&'static str, &str)]| {
            judge(&site(), &Method::POST, path, &headers(pairs))
        };
        assert_eq!(upload("/operations/7/evidence", &[own, multipart]), Ok(()));
        let forged = [("sec-fetch-site", "cross-site"), multipart];
        assert_eq!(upload("/operations/7/evidence", &forged), Err(Code::CrossSite));
        for path in [
            "/operations/7/confirm",
            "/operations//evidence",
            "/operations/7/8/evidence",
            "/sign-out",
        ] {
            assert_eq!(upload(path, &[own, multipart]), Err(Code::UnsupportedMediaType), "{path}");
        }
        for kind in [FORM, "application/json", "text/plain", "multipart/mixed; boundary=x"] {
            let other = upload("/operations/7/evidence", &[own, ("content-type", kind)]);
            assert_eq!(other, Err(Code::UnsupportedMediaType), "{kind}");
        }
    }

    #[test]
    fn a_server_function_is_guarded_whatever_the_method() {
        let bare = headers(&[]);
        for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::PUT] {
            assert_eq!(judge(&site(), &method, "/act/x", &bare), Err(Code::CrossSite));
        }
        assert_eq!(judge(&site(), &Method::GET, "/operations", &bare), Ok(()));
    }

    #[test]
    fn only_our_own_referer_stays() {
        let own = headers(&[]);
        assert!(site().owns(&own, "https://console.example/operations?q=1"));
        for url in [
            "https://evil.example/",
            "https://console.example.evil/",
            "http://console.example/",
            "https://user@console.example/",
            "//console.example/",
            "not a url",
        ] {
            assert!(!site().owns(&own, url), "{url}");
        }
    }
}
