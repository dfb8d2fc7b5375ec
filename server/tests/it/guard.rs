//! T03, T06, T07, T47: what other sites can make a browser send changes nothing.

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
};

use crate::{
    headers::carries_the_headers,
    support::{HOST, PASSWORD, Stage, form},
    trust::paths::{forms, of_nobody},
};

const FORM: &str = "application/x-www-form-urlencoded";

/// Headers of one request besides its `Host` and cookie, and the status that it must get.
type Shape = (&'static [(&'static str, &'static str)], u16);

const SHAPES: [Shape; 12] = [
    (&[("content-type", FORM)], 403),
    (&[("content-type", FORM), ("sec-fetch-site", "cross-site")], 403),
    (&[("content-type", FORM), ("sec-fetch-site", "same-site")], 403),
    (&[("content-type", FORM), ("sec-fetch-site", "none")], 403),
    (&[("content-type", FORM), ("origin", "null")], 403),
    (&[("content-type", FORM), ("origin", "http://evil.example")], 403),
    (&[("content-type", FORM), ("origin", "https://127.0.0.1:3000")], 403),
    (&[("content-type", "text/plain"), ("sec-fetch-site", "cross-site")], 403),
    (&[("content-type", "text/plain"), ("sec-fetch-site", "same-origin")], 415),
    (
        &[("content-type", "multipart/form-data; boundary=x"), ("sec-fetch-site", "same-origin")],
        415,
    ),
    (&[("sec-fetch-site", "same-origin")], 415),
    (&[("content-type", "application/json"), ("sec-fetch-site", "cross-site")], 403),
];

#[tokio::test]
async fn forged_requests_change_nothing_and_our_own_pages_do() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let cookie = operator.cookie.clone().unwrap();
    let version = target.version.to_string();
    let fields = [
        ("id", target.id.as_str()),
        ("version", &version),
        ("outcome", "happened"),
        ("external_reference", "ch_1"),
        ("reason", "forged"),
        ("evidence", "none"),
    ];
    let before = stage.effects().await;
    let (mut tried, mut moved) = (0, 0);
    for pattern in forms(&stage.router) {
        let path = of_nobody(&pattern);
        for (headers, status) in SHAPES {
            if status == 415
                && pattern.ends_with("/evidence")
                && headers[0].1.starts_with("multipart/")
            {
                // The one path that takes it; what else holds there stands in `evidence`.
                continue;
            }
            let mut request = Request::builder()
                .method(Method::POST)
                .uri(&path)
                .header(header::HOST, HOST)
                .header(header::COOKIE, &cookie)
                .header(header::ACCEPT, "text/html");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let answer = stage.send(request.body(Body::from(form(&fields))).unwrap()).await;
            assert_eq!(answer.status.as_u16(), status, "{path} {headers:?}: {}", answer.text());
            assert!(answer.headers.get(header::SET_COOKIE).is_none());
            carries_the_headers(&answer, &path);
            tried += 1;
        }
        moved += usize::from(stage.effects().await != before);
    }
    assert_eq!(moved, 0, "forged forms that had an effect");

    // With `Origin` in place of `Sec-Fetch-Site`, as an old browser sends it.
    let request = Request::builder()
        .method(Method::POST)
        .uri("/act/operations/confirm")
        .header(header::HOST, HOST)
        .header(header::COOKIE, &cookie)
        .header(header::CONTENT_TYPE, FORM)
        .header(header::ORIGIN, format!("http://{HOST}"))
        .header(header::ACCEPT, "text/html")
        .body(Body::from(form(&fields)))
        .unwrap();
    let answer = stage.send(request).await;
    answer.expect(StatusCode::SEE_OTHER);
    assert!(answer.header("location").starts_with("/receipts/"), "{}", answer.header("location"));
    assert!(stage.effects().await.since(&before).contains(&"operations"));
    testkit::threat("T03", tried, moved);
    testkit::threat("T08", tried, 0);
}

#[tokio::test]
async fn a_get_never_reaches_a_server_function() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    let (before, mut tried) = (stage.effects().await, 0);
    for (path, _) in leptos::server_fn::axum::server_fn_paths() {
        let request = Request::builder()
            .uri(path)
            .header(header::HOST, HOST)
            .header(header::COOKIE, operator.cookie.as_deref().unwrap())
            .body(Body::empty())
            .unwrap();
        assert_eq!(stage.send(request).await.status, StatusCode::FORBIDDEN, "{path}");
        assert_eq!(operator.get(path).await.status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
        tried += 2;
    }
    let moved = stage.effects().await.since(&before).len();
    testkit::threat("T04", tried, moved);
}

#[tokio::test]
async fn another_host_name_gets_no_page() {
    let stage = Stage::open().await;
    let get = |uri: &str, hosts: &[&str]| {
        let mut request = Request::builder().uri(uri);
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        request.body(Body::empty()).unwrap()
    };
    let mut tried = 0;
    for (uri, hosts) in [
        ("/sign-in", &["evil.example"][..]),
        ("/sign-in", &["127.0.0.1:3000.evil.example"]),
        ("/sign-in", &["127.0.0.1"]),
        ("/sign-in", &[]),
        ("/sign-in", &[HOST, "evil.example"]),
        ("http://evil.example/sign-in", &[HOST]),
        ("/health/live", &["evil.example"]),
        ("/api/v1/operations", &["evil.example"]),
    ] {
        let answer = stage.send(get(uri, hosts)).await;
        assert_eq!(answer.status, StatusCode::MISDIRECTED_REQUEST, "{uri} {hosts:?}");
        tried += 1;
    }
    assert_eq!(stage.send(get("/sign-in", &["localhost:3000"])).await.status, StatusCode::OK);
    testkit::threat("T06", tried, 0);
}

#[tokio::test]
async fn no_redirect_leads_away() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    let cookie = operator.cookie.clone().unwrap();
    for referer in [
        "https://evil.example/",
        "http://127.0.0.1:3000.evil.example/",
        "http://evil@127.0.0.1:3000/",
    ] {
        let request = Request::builder()
            .method(Method::POST)
            .uri("/act/operations/take")
            .header(header::HOST, HOST)
            .header(header::COOKIE, &cookie)
            .header(header::CONTENT_TYPE, FORM)
            .header("sec-fetch-site", "same-origin")
            .header(header::ACCEPT, "text/html")
            .header(header::REFERER, referer)
            .body(Body::from(form(&[("id", "nonsense"), ("taken", "perhaps")])))
            .unwrap();
        let answer = stage.send(request).await;
        let place = answer.header("location");
        assert!(
            place.is_empty() || (place.starts_with('/') && !place.starts_with("//")),
            "{place}"
        );
        assert!(!answer.text().contains("evil"));
    }
    for place in [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/%0d%0aX: 1\r\nY: 2",
        "javascript:x",
    ] {
        let answer =
            operator.post("/preferences", &[("theme", "dark"), ("return_to", place)]).await;
        answer.expect(StatusCode::SEE_OTHER);
        assert_eq!(answer.header("location"), "/", "{place}");
    }
    // The place to come back to after signing in, as a form says it and as an address does.
    let mut tried = 8;
    for next in [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\r\nX: 1",
        "javascript:alert(1)",
        "evil.example",
        "/\u{2028}/evil.example",
    ] {
        let fields = [("email", "viewer@acme.test"), ("password", PASSWORD), ("next", next)];
        let answer = stage.stranger().post("/sign-in", &fields).await;
        answer.expect(StatusCode::SEE_OTHER);
        assert_eq!(answer.header("location"), "/", "{next:?}");
        let asked = form(&[("next", next)]);
        let page = stage.stranger().get(&format!("/sign-in?{asked}")).await;
        page.expect(StatusCode::OK);
        assert!(
            !page.text().contains("href=\"//evil") && !page.text().contains("href=\"https://evil")
        );
        let fields = [("tenant", "acme"), ("return_to", next)];
        let answer = operator.post("/session/tenant", &fields).await;
        assert_eq!(answer.header("location"), "/", "{next:?}");
        tried += 3;
    }
    operator.get("/").await.expect(StatusCode::OK);
    testkit::threat("T07", tried, 0);
    testkit::threat("T47", tried, 0);
}
