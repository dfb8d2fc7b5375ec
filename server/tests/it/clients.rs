//! Who asks: a browser without JavaScript, a program with a token; and what they are answered.

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Method, Request, StatusCode, header},
};
use bytes::Bytes;
use domain::problem::Code;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::support::{HOST, Stage};

pub async fn send(router: &Router, request: Request<Body>) -> Answer {
    let response = router.clone().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer { status: head.status, headers: head.headers, body }
}

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// The page without the comments that hydration leaves between texts.
    pub fn markup(&self) -> String {
        self.text().replace("<!>", "")
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The page without the line that says since when it is right: no two pages share it.
    pub fn undated(&self) -> String {
        const ISLAND: &str = "</leptos-island>";
        let page = self.text();
        let Some(line) = page.find("class=\"live\"") else { return page };
        let (before, after) = page.split_at(line);
        let island = before.rfind("<leptos-island").filter(|at| !before[*at..].contains(ISLAND));
        let start = island.or_else(|| before.rfind('<')).unwrap_or(line);
        let end = if island.is_some() { ISLAND } else { "</p>" };
        let rest = after.split_once(end).map_or("", |(_, rest)| rest);
        format!("{}{rest}", &page[..start])
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("no JSON: {} {}", self.status, self.text()))
    }

    #[track_caller]
    pub fn expect(&self, status: StatusCode) {
        assert_eq!(self.status, status, "{}", self.text());
    }

    /// A problem with this code and the code's own status.
    #[track_caller]
    pub fn refused(&self, code: Code) {
        assert_eq!(self.status.as_u16(), code.status(), "{}", self.text());
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["code"], code.as_str(), "{problem}");
        assert_eq!(problem["status"], code.status());
        assert_eq!(problem["title"], code.title());
        assert!(problem["request_id"].is_string());
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// A request as it leaves a browser on our own page.
pub fn from_our_page(method: Method, path: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, HOST)
        .header(header::ACCEPT, "text/html,application/xhtml+xml")
        .header("sec-fetch-site", "same-origin")
}

pub fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// A browser: the console needs no more of one than its forms.
pub struct Browser<'a> {
    pub stage: &'a Stage,
    pub cookie: Option<String>,
}

impl Browser<'_> {
    fn request(&self, method: Method, path: &str) -> axum::http::request::Builder {
        let request = from_our_page(method, path);
        match &self.cookie {
            Some(cookie) => request.header(header::COOKIE, cookie),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.stage.send(self.request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let request = self
            .request(Method::POST, path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form(fields).into())
            .unwrap();
        self.stage.send(request).await
    }
}

/// A program with a bearer token.
pub struct Program<'a> {
    pub stage: &'a Stage,
    pub token: Option<String>,
}

impl Program<'_> {
    fn request(&self, method: Method, path: &str) -> axum::http::request::Builder {
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header(header::HOST, HOST);
        match &self.token {
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.stage.send(self.request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, &[], body.to_string()).await
    }

    pub async fn post_text(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let mut request =
            self.request(Method::POST, path).header(header::CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.stage.send(request.body(body.into()).unwrap()).await
    }

    /// Reserves a charge of so many cents under a key in the body.
    pub async fn reserve(&self, key: &str, amount_minor: i64) -> Answer {
        let body = json!({
            "operation": "invoice.charge",
            "key": key,
            "payload": { "invoice_id": key, "amount_minor": amount_minor, "currency": "EUR" },
            "amount_minor": amount_minor,
            "currency": "EUR",
        });
        self.post("/operations", &body).await
    }
}
