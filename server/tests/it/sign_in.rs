//! T05, T09, T10, T11, T14, T15, T42: signing in and out, and what ends a session.

use std::time::Duration;

use axum::http::{StatusCode, header};
use domain::{access::Role, problem::Code};

use crate::support::{Browser, PASSWORD, Stage};

async fn sign_in(
    browser: &Browser<'_>,
    email: &str,
    password: &str,
    next: &str,
) -> crate::support::Answer {
    browser.post("/sign-in", &[("email", email), ("password", password), ("next", next)]).await
}

#[tokio::test]
async fn a_person_signs_in_and_lands_where_the_link_led() {
    let stage = Stage::open().await;
    let stranger = stage.stranger();
    let deep = "/operations?status=unknown&q=a%2Fb";
    let sent = stranger.get(deep).await;
    sent.expect(StatusCode::SEE_OTHER);
    assert_eq!(
        sent.header("location"),
        "/sign-in?next=%2Foperations%3Fstatus%3Dunknown%26q%3Da%252Fb"
    );
    let page = stranger.get(sent.header("location")).await;
    page.expect(StatusCode::OK);
    for field in ["name=\"email\"", "name=\"password\""] {
        assert!(page.text().contains(field), "{field}");
    }

    let answer = sign_in(&stranger, " Operator@acme.test ", PASSWORD, deep).await;
    answer.expect(StatusCode::SEE_OTHER);
    assert_eq!(answer.header("location"), deep);
    let cookie = answer.header("set-cookie");
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Secure; HttpOnly; SameSite=Lax; Path=/");
    assert!(pair.starts_with("__Host-sid=") && pair.len() >= "__Host-sid=".len() + 43, "{pair}");

    let signed_in = Browser { stage: &stage, cookie: Some(pair.to_owned()) };
    signed_in.get("/").await.expect(StatusCode::OK);
    let stored: Vec<Vec<u8>> = sqlx::query_scalar("select token_hash from sessions")
        .fetch_all(stage.database.owner_pool())
        .await
        .unwrap();
    let token = pair.strip_prefix("__Host-sid=").unwrap();
    assert!(stored.iter().all(|hash| hash.as_slice() != token.as_bytes()));
    testkit::threat("T05", 1, 0);
}

#[tokio::test]
async fn a_wrong_password_and_no_such_account_read_the_same() {
    let stage = Stage::open().await;
    let stranger = stage.stranger();
    let known = sign_in(&stranger, "viewer@acme.test", "not the password", "/operations").await;
    let unknown = sign_in(&stranger, "nobody@acme.test", "not the password", "/operations").await;
    for answer in [&known, &unknown] {
        answer.expect(StatusCode::SEE_OTHER);
        assert_eq!(answer.header("location"), "/sign-in?refused=sign_in_failed&next=%2Foperations");
        assert!(answer.headers.get(header::SET_COOKIE).is_none());
    }
    assert_eq!(known.body, unknown.body);
    let page = stranger.get(known.header("location")).await;
    assert!(page.text().contains("data-code=\"sign_in_failed\""), "{}", page.text());
    testkit::threat("T15", 2, 0);
}

#[tokio::test]
async fn many_tries_at_once_are_counted_before_any_is_looked_at() {
    let stage = Stage::open().await;
    let stranger = stage.stranger();
    let tries = (0..50).map(|_| sign_in(&stranger, "operator@acme.test", "not the password", "/"));
    let mut statuses = Vec::new();
    for answer in futures_util::future::join_all(tries).await {
        statuses.push(answer.status);
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            assert!(answer.text().contains("data-code=\"too_many_attempts\""), "{}", answer.text());
        }
    }
    let looked_at = statuses.iter().filter(|status| **status == StatusCode::SEE_OTHER).count();
    assert_eq!(looked_at, 5);
    assert_eq!(
        statuses.iter().filter(|status| **status == StatusCode::TOO_MANY_REQUESTS).count(),
        45
    );
    // The right password does not help while the account is closed; another account is not closed.
    let right = sign_in(&stranger, "operator@acme.test", PASSWORD, "/").await;
    right.expect(StatusCode::TOO_MANY_REQUESTS);
    sign_in(&stranger, "viewer@acme.test", PASSWORD, "/").await.expect(StatusCode::SEE_OTHER);
    testkit::threat("T14", statuses.len() + 1, 0);
}

#[tokio::test]
async fn a_planted_or_former_cookie_is_worth_nothing() {
    let stage = Stage::open().await;
    let planted = Browser { stage: &stage, cookie: Some("__Host-sid=planted".into()) };
    let answer = sign_in(&planted, "operator@acme.test", PASSWORD, "/").await;
    let first = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    assert_ne!(first, "__Host-sid=planted");
    planted.get("/").await.expect(StatusCode::SEE_OTHER);

    let signed_in = Browser { stage: &stage, cookie: Some(first) };
    signed_in.get("/").await.expect(StatusCode::OK);
    let again = sign_in(&signed_in, "operator@acme.test", PASSWORD, "/").await;
    again.expect(StatusCode::SEE_OTHER);
    // The session that the browser came with has ended.
    signed_in.get("/").await.expect(StatusCode::SEE_OTHER);
    signed_in.post("/act/operations/take", &[]).await.expect(StatusCode::UNAUTHORIZED);
    testkit::threat("T09", 3, 0);
}

#[tokio::test]
async fn the_next_request_sees_a_sign_out_a_lock_out_and_a_new_password() {
    let stage = Stage::open().await;
    let out = stage.browser("operator@acme.test").await;
    let answer = out.post("/sign-out", &[]).await;
    answer.expect(StatusCode::SEE_OTHER);
    assert_eq!(answer.header("location"), "/sign-in");
    assert!(answer.header("set-cookie").starts_with("__Host-sid=; "));
    assert!(answer.header("clear-site-data").contains("\"cache\""));
    out.get("/").await.expect(StatusCode::SEE_OTHER);

    let mut admin = stage.admin().await;
    let reset = stage.browser("viewer@acme.test").await;
    let hash = server::auth::password::Passwords::new().hash("another long password").await;
    admin.reset_password("viewer@acme.test", &hash).await.unwrap();
    reset.get("/").await.expect(StatusCode::SEE_OTHER);

    let disabled = stage.browser("approver@acme.test").await;
    admin.disable_staff("approver@acme.test").await.unwrap();
    disabled.get("/").await.expect(StatusCode::SEE_OTHER);
    disabled.post("/act/operations/take", &[]).await.expect(StatusCode::UNAUTHORIZED);
    testkit::threat("T10", 4, 0);
}

#[tokio::test]
async fn a_changed_role_counts_at_once() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    stage.admin().await.set_role("operator@acme.test", "acme", Role::Viewer).await.unwrap();
    let before = stage.effects().await;
    let version = target.version.to_string();
    let fields = [
        ("id", target.id.as_str()),
        ("version", &version),
        ("outcome", "happened"),
        ("external_reference", "ch_1"),
        ("reason", "seen"),
        ("evidence", "seen"),
    ];
    // The session ended with the role that it was opened under (T10); the next one has the new role.
    operator.post("/act/operations/confirm", &fields).await.expect(StatusCode::UNAUTHORIZED);
    assert_eq!(stage.effects().await, before);
    let viewer = stage.browser("operator@acme.test").await;
    let before = stage.effects().await;
    let answer = viewer.post("/act/operations/confirm", &fields).await;
    let page = format!("/operations/{}/confirm", target.id);
    crate::forms::refused_form(&answer, &page, Code::PermissionMissing);
    assert_eq!(stage.effects().await, before);
    testkit::threat("T10", 1, 0);
}

#[tokio::test]
async fn a_session_ends_by_idleness_and_by_age() {
    let stage = Stage::open().await;
    let idle = stage.browser("operator@acme.test").await;
    stage.database.advance_clock(Duration::from_secs(29 * 60)).await;
    idle.get("/").await.expect(StatusCode::OK);
    stage.database.advance_clock(Duration::from_secs(31 * 60)).await;
    idle.get("/").await.expect(StatusCode::SEE_OTHER);

    let busy = stage.browser("operator@acme.test").await;
    for _ in 0..16 {
        stage.database.advance_clock(Duration::from_secs(29 * 60)).await;
        busy.get("/health/live").await;
        busy.get("/").await.expect(StatusCode::OK);
    }
    stage.database.advance_clock(Duration::from_secs(20 * 60)).await;
    busy.get("/").await.expect(StatusCode::SEE_OTHER);
    testkit::threat("T11", 2, 0);
}

#[tokio::test]
async fn nobody_sees_a_page_without_a_session() {
    let stage = Stage::open().await;
    let stranger = stage.stranger();
    let mut tried = 0;
    for path in [
        "/",
        "/operations",
        "/operations/00000000-0000-7000-8000-000000000000",
        "/receipts/x",
        "/operations?x=/sign-in",
        "/sign-in/",
        "//sign-in",
        "/%2e/sign-in",
        "/no/such/page",
    ] {
        let answer = stranger.get(path).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path}: {}", answer.text());
        assert!(answer.header("location").starts_with("/sign-in"), "{path}");
        assert!(answer.body.is_empty(), "{path}");
        tried += 1;
    }
    testkit::threat("T46", tried, 0);
}

#[tokio::test]
async fn a_form_without_its_field_is_a_422_that_names_it() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    for (path, field) in [("/sign-in", "email and password"), ("/session/tenant", "tenant")] {
        let answer = operator.post(path, &[("other", "x")]).await;
        answer.expect(StatusCode::UNPROCESSABLE_ENTITY);
        let page = answer.text();
        assert!(page.contains("data-code=\"unprocessable\"") && page.contains(field), "{page}");
        assert!(!page.contains("deserialize"), "{page}");
    }
}
