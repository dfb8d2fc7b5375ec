//! T42, T46: without a session there is sign-in, health and the site's own files, however a path is
//! spelled, and no byte of what a tenant has.

use super::{
    matrix::{Shown, ask, body_for, request},
    paths::routes,
    world::{CANARIES, MARK, World},
};

/// Whole paths that anybody may have.
const OPEN: [&str; 11] = [
    "/sign-in",
    // The second half of signing in: it opens nothing without the first.
    "/sign-in/code",
    "/health/live",
    "/health/ready",
    "/pkg/{*path}",
    "/fonts/{*path}",
    "/favicon.ico",
    "/favicon.svg",
    "/robots.txt",
    // How the sign-in page looks: it sets cookies alone.
    "/preferences",
    // A provider's signature stands for its token.
    "/api/v1/webhooks/{tenant}/{provider}",
];

/// Other spellings of a path that a proxy, a router or a handler might take for another.
fn spellings(path: &str) -> Vec<String> {
    let (path, query) = path
        .split_once('?')
        .map_or((path, String::new()), |(path, query)| (path, format!("?{query}")));
    let encoded = path.replacen('/', "/%2e/", 1);
    let letters = path.replace('o', "%6f");
    vec![
        format!("{path}{query}"),
        format!("{path}?x=/sign-in"),
        format!("{path}?next=/sign-in{}", query.replacen('?', "&", 1)),
        format!("/{path}{query}"),
        format!("{path}/{query}"),
        format!("/.{path}{query}"),
        format!("{encoded}{query}"),
        format!("{letters}{query}"),
        format!("{}{query}", path.to_uppercase()),
        format!("{path};/sign-in{query}"),
        format!("{path}%00{query}"),
        format!("{path}%2f..%2fsign-in"),
        format!("/sign-in{path}{query}"),
        format!("/sign-in/..{path}{query}"),
        format!("/sign-in/%2e%2e{path}{query}"),
        format!("/health/live/..{path}{query}"),
        format!("/pkg/..{path}{query}"),
        format!("/pkg/%2e%2e{path}{query}"),
        format!("/pkg/..%2f..{path}{query}"),
    ]
}

#[tokio::test]
async fn without_a_session_no_spelling_of_a_path_leads_in() {
    let world = World::open().await;
    let stage = &world.stage;
    let secrets: Vec<&str> = world
        .ids
        .values()
        .map(String::as_str)
        .chain(CANARIES)
        .chain([MARK, "INV-", "acme", "12900", "129.00"])
        .collect();
    let before = (world.digest().await, stage.effects().await);
    let mut tried = 0;
    for (method, pattern) in routes(&stage.router) {
        if OPEN.contains(&pattern.as_str()) && pattern != "/preferences" {
            continue;
        }
        let asked = world.path(&pattern);
        for path in spellings(&asked) {
            let body = (method != "GET").then(|| body_for(&world, &pattern));
            let answer = ask(stage, request(method, &path, &Shown::Nothing, body)).await;
            tried += 1;
            let what = format!("{method} {path}: {}", answer.status);
            let turned_away =
                matches!(answer.status.as_u16(), 303 | 400 | 401 | 403 | 404 | 405 | 415);
            assert!(turned_away || pattern == "/preferences", "{what}: {}", answer.text());
            let place = answer.header("location");
            assert!(
                place.is_empty() || place.starts_with("/sign-in") || pattern == "/preferences",
                "{what} {place}"
            );
            // What was asked for may be said again; nothing else is known of the tenant.
            let text = answer.text().replace(&path, "").replace(&asked, "");
            for secret in &secrets {
                let own = path.contains(secret);
                assert!(own || !text.contains(secret), "{what} tells {secret}: {text}");
            }
            if method == "GET" && answer.status.is_redirection() {
                assert!(answer.body.is_empty(), "{what}");
            }
        }
    }
    assert_eq!((world.digest().await, stage.effects().await), before);
    testkit::threat("T42", tried, 0);
    testkit::threat("T46", tried, 0);
}

#[tokio::test]
async fn what_is_open_is_sign_in_health_and_files() {
    let world = World::open().await;
    let stage = &world.stage;
    for (method, pattern) in routes(&stage.router) {
        if method != "GET" {
            continue;
        }
        let answer =
            ask(stage, request(method, &world.path(&pattern), &Shown::Nothing, None)).await;
        let open = OPEN.contains(&pattern.as_str());
        assert!(open || !answer.status.is_success(), "{pattern} is open to everybody");
    }
    // What operators of other programs look for is not here, not even as a refusal that says more.
    for path in [
        "/metrics",
        "/debug",
        "/debug/pprof",
        "/ws",
        "/.git/config",
        "/.env",
        "/pkg/",
        "/pkg/..",
        "/actuator",
        "/api",
        "/api/v1",
        "/api/v1/",
        "/openapi.json",
        "/server-status",
        "/pkg/app.js.map",
    ] {
        let answer = ask(stage, request("GET", path, &Shown::Nothing, None)).await;
        assert!(!answer.status.is_success(), "{path}: {}", answer.status);
        assert!(answer.body.is_empty() || !answer.text().contains("acme"), "{path}");
    }
}
