//! T08, T41, T44, F7: what every response carries, refusals, faults and pages that do not exist
//! included.

use std::collections::HashSet;

use axum::{
    Router,
    body::Body,
    http::{Method, Request, StatusCode, header},
    routing::get,
};

use crate::support::{Answer, HOST, Stage, from_our_page, send};

#[track_caller]
pub fn carries_the_headers(answer: &Answer, what: &str) -> String {
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("strict-transport-security", "max-age=31536000"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("referrer-policy", "same-origin"),
    ] {
        assert_eq!(answer.header(name), value, "{what}");
    }
    assert!(!answer.header("x-request-id").is_empty(), "{what}");
    assert!(!answer.header("cache-control").is_empty(), "{what}");
    let policy = answer.header("content-security-policy");
    let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    let expected = format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval'; style-src 'self' \
         'nonce-{nonce}'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
         object-src 'none'; frame-ancestors 'none'"
    );
    assert_eq!(policy, expected, "{what}");
    nonce.to_owned()
}

#[tokio::test]
async fn every_kind_of_answer_carries_the_headers() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    let cookie = operator.cookie.clone().unwrap();
    let own = |method, path: &str| from_our_page(method, path).header(header::COOKIE, &cookie);
    let kind = |request: axum::http::request::Builder, kind: &str| {
        request.header(header::CONTENT_TYPE, kind)
    };
    let form = "application/x-www-form-urlencoded";
    let cases = [
        (200, own(Method::GET, "/sign-in").body(Body::empty())),
        (200, own(Method::GET, "/").body(Body::empty())),
        (200, own(Method::GET, "/health/live").body(Body::empty())),
        (303, from_our_page(Method::GET, "/operations").body(Body::empty())),
        (401, kind(from_our_page(Method::POST, "/act/operations/take"), form).body(Body::empty())),
        (401, from_our_page(Method::GET, "/api/v1/operations").body(Body::empty())),
        (
            403,
            kind(own(Method::POST, "/sign-out"), form)
                .header("sec-fetch-site", "none")
                .body(Body::empty()),
        ),
        (404, own(Method::GET, "/no/such/page").body(Body::empty())),
        (404, from_our_page(Method::GET, "/pkg/none.js").body(Body::empty())),
        (405, own(Method::GET, "/sign-out").body(Body::empty())),
        (
            413,
            kind(own(Method::POST, "/act/records/note"), form)
                .body(Body::from(vec![b'a'; 64 * 1024 + 1])),
        ),
        (415, kind(own(Method::POST, "/sign-out"), "text/plain").body(Body::empty())),
        (421, Request::builder().uri("/").header(header::HOST, "evil.example").body(Body::empty())),
    ];
    let tried = cases.len();
    for (status, request) in cases {
        let request = request.unwrap();
        let what = format!("{} {} {status}", request.method(), request.uri());
        let answer = stage.send(request).await;
        assert_eq!(answer.status.as_u16(), status, "{what}: {}", answer.text());
        carries_the_headers(&answer, &what);
    }
    testkit::threat("T08", tried, 0);
}

#[tokio::test]
async fn a_panic_is_a_500_that_tells_nothing_and_carries_the_headers() {
    async fn panics() -> StatusCode {
        panic!("relation \"operations\" does not exist")
    }
    let stage = Stage::open().await;
    let routes = Router::new().route("/panics", get(panics));
    let router = server::router::behind_the_outer_layers(routes, stage.state.clone());
    for accept in ["text/html", "*/*"] {
        let request = Request::builder()
            .uri("/panics")
            .header(header::HOST, HOST)
            .header(header::ACCEPT, accept)
            .body(Body::empty())
            .unwrap();
        let answer = send(&router, request).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        carries_the_headers(&answer, "panic");
        for secret in ["relation", "panicked", ".rs"] {
            assert!(!answer.text().contains(secret), "{}", answer.text());
        }
        assert!(answer.text().contains("internal"));
    }
    testkit::threat("T41", 2, 0);
}

#[tokio::test]
async fn a_page_and_its_policy_name_the_same_fresh_nonce() {
    let stage = Stage::open().await;
    let page = stage.stranger().get("/sign-in").await;
    page.expect(StatusCode::OK);
    let nonce = carries_the_headers(&page, "/sign-in");
    let html = page.text();
    assert!(html.contains(&format!("nonce=\"{nonce}\"")), "{html}");
    for script in html.split("<script").skip(1) {
        let tag = script.split('>').next().unwrap();
        assert!(tag.contains(&format!("nonce=\"{nonce}\"")), "<script{tag}>");
    }

    let mut seen = HashSet::new();
    for _ in 0..1_000 {
        let answer = stage.stranger().get("/health/live").await;
        assert!(seen.insert(carries_the_headers(&answer, "/health/live")));
    }
    testkit::threat("T08", seen.len() + 1, 0);
}

#[tokio::test]
async fn what_shows_a_persons_data_is_never_stored() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    for path in ["/", "/operations", "/sign-in"] {
        assert_eq!(operator.get(path).await.header("cache-control"), "no-store", "{path}");
    }
    let api = stage.staff("operator@acme.test").await;
    assert_eq!(api.get("/operations").await.header("cache-control"), "no-store");
    testkit::threat("T44", 4, 0);
}
