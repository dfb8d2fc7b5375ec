//! Behind a proxy that ends TLS: the connection is plain http, and the console is what people open, by
//! https. Its own forms are taken with that origin and with no other (T03).

use crate::{
    support::{HOST, PASSWORD, Stage, form},
    wire::{LIMIT, Served, exchange},
};

const PLACE: &str = "console.example";
const OURS: &str = "https://console.example";

/// What a proxy passes on of an old browser's form, which says its origin alone.
fn post(path: &str, origin: &str, cookie: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let body = form(fields);
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {PLACE}\r\nX-Forwarded-For: 203.0.113.9\r\n\
         X-Forwarded-Proto: https\r\nOrigin: {origin}\r\nCookie: {cookie}\r\nAccept: text/html\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_tls_proxy_forms_of_the_https_origin_are_taken_and_of_http_refused() {
    // The test makes its operation by the other name, which programs within may use.
    let proxied =
        [("ONCEOVER_TRUSTED_PROXY", "true"), ("ONCEOVER_ORIGIN", OURS), ("ONCEOVER_HOSTS", HOST)];
    let stage = Stage::open_with(&proxied).await;
    let target = stage.unknown("acme", "INV-1").await;
    let served = Served::plain(stage.router.clone());
    let ask = async |bytes: Vec<u8>| {
        testkit::within("the answer", LIMIT, exchange(served.addr, &bytes)).await
    };
    let others =
        ["http://console.example", "https://console.example:3000", "http://127.0.0.1:3000"];

    let page = format!("GET /sign-in HTTP/1.1\r\nHost: {PLACE}\r\nConnection: close\r\n\r\n");
    let page = ask(page.into_bytes()).await;
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(page.to_ascii_lowercase().contains("strict-transport-security: "), "{page}");

    let mut tried = 0;
    let account = [("email", "operator@acme.test"), ("password", PASSWORD), ("next", "/")];
    let before = stage.effects().await;
    for origin in others {
        let refused = ask(post("/sign-in", origin, "", &account)).await;
        assert!(refused.starts_with("HTTP/1.1 403 "), "{origin}: {refused}");
        assert!(!refused.contains("__Host-sid"), "{origin}: {refused}");
        tried += 1;
    }
    assert_eq!(stage.effects().await, before, "nobody is signed in");
    let signed_in = ask(post("/sign-in", OURS, "", &account)).await;
    assert!(signed_in.starts_with("HTTP/1.1 303 "), "{signed_in}");
    let cookie = signed_in.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.starts_with("__Host-sid=") && cookie.contains("; Secure;"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();

    let version = target.version.to_string();
    let fields = [
        ("id", target.id.as_str()),
        ("version", &version),
        ("outcome", "happened"),
        ("external_reference", "ch_1"),
        ("reason", "seen in the provider's dashboard"),
        ("evidence", "https://provider.example/ch_1"),
    ];
    let before = stage.effects().await;
    for origin in others {
        let refused = ask(post("/act/operations/confirm", origin, cookie, &fields)).await;
        assert!(refused.starts_with("HTTP/1.1 403 "), "{origin}: {refused}");
        tried += 1;
    }
    assert_eq!(stage.effects().await, before, "nothing was decided");
    let taken = ask(post("/act/operations/confirm", OURS, cookie, &fields)).await;
    assert!(taken.starts_with("HTTP/1.1 303 "), "{taken}");
    assert!(taken.contains("location: /receipts/"), "{taken}");
    assert!(stage.effects().await.since(&before).contains(&"operations"), "what was taken decided");
    served.end().await;
    testkit::threat("T03", tried, 0);
}
