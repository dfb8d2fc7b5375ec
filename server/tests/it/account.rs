//! T10, T11: a person's sessions and password on `/me`, and what ends sessions and their streams.

use std::time::Duration;

use axum::http::StatusCode;
use domain::{access::Role, problem::Code};

use crate::{
    forms::leads_to,
    live::Stream,
    step_up::cookie,
    support::{Browser, PASSWORD, Stage, from_our_page},
};

const EMAIL: &str = "operator@acme.test";
const NEW: &str = "another long password";

/// A session that was opened by the form, by a browser that says what it is.
async fn from<'a>(stage: &'a Stage, agent: &str) -> Browser<'a> {
    let request = from_our_page(axum::http::Method::POST, "/sign-in")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("user-agent", agent)
        .body(crate::support::form(&[("email", EMAIL), ("password", PASSWORD)]).into())
        .unwrap();
    let answer = stage.send(request).await;
    answer.expect(StatusCode::SEE_OTHER);
    Browser { stage, cookie: Some(cookie(&answer)) }
}

async fn works(browser: &Browser<'_>) -> bool {
    browser.get("/").await.status == StatusCode::OK
}

async fn session_of(stage: &Stage, agent: &str) -> String {
    let id: uuid::Uuid = sqlx::query_scalar("select id from sessions where agent = $1")
        .bind(agent)
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    id.to_string()
}

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0";
const PHONE: &str =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1";

#[tokio::test]
async fn a_person_sees_their_sessions_and_ends_one_or_all_others() {
    let stage = Stage::open().await;
    let here = from(&stage, FIREFOX).await;
    let phone = from(&stage, PHONE).await;
    let third = from(&stage, "curl/8").await;
    let page = here.get("/me").await.text();
    for words in
        ["Firefox on Linux", "Safari on iPhone", "This one", "End all others", "Your last sign-ins"]
    {
        assert!(page.contains(words), "{words}: {page}");
    }
    let id = session_of(&stage, PHONE).await;
    let ended = here.post("/me/sessions/end", &[("session", &id)]).await;
    leads_to(&ended, "/me?done=session");
    assert!(works(&here).await && !works(&phone).await && works(&third).await);
    let again = here.post("/me/sessions/end", &[("session", &id)]).await;
    leads_to(&again, "/me?refused=not_found");

    // Another's session is no session.
    let viewer = stage.browser("viewer@acme.test").await;
    let own = session_of(&stage, FIREFOX).await;
    let denied = viewer.post("/me/sessions/end", &[("session", &own)]).await;
    leads_to(&denied, "/me?refused=not_found");
    leads_to(&here.post("/me/sessions/end", &[("session", "others")]).await, "/me?done=sessions");
    assert!(works(&here).await && !works(&third).await && works(&viewer).await);
    let written: Vec<(String, String)> = sqlx::query_as(
        "select action, result from audit where action like 'session.%' order by seq",
    )
    .fetch_all(stage.database.owner_pool())
    .await
    .unwrap();
    let expected = [
        ("session.end", "done"),
        ("session.end", "denied"),
        ("session.end", "denied"),
        ("session.end_others", "done"),
    ];
    assert_eq!(written, expected.map(|(action, result)| (action.into(), result.into())));
}

#[tokio::test]
async fn a_new_password_takes_the_old_one_and_ends_all_other_sessions() {
    let stage = Stage::open().await;
    let (here, other) = (stage.browser(EMAIL).await, stage.browser(EMAIL).await);
    let change = async |current: &str, new: &str, again: &str| {
        here.post("/me/password", &[("current", current), ("new", new), ("again", again)]).await
    };
    leads_to(&change("not the password", NEW, NEW).await, "/me?refused=factor_refused");
    leads_to(&change(PASSWORD, NEW, "other").await, "/me?refused=unprocessable");
    leads_to(&change(PASSWORD, "short", "short").await, "/me?refused=unprocessable");
    assert!(works(&here).await && works(&other).await);
    let changed = change(PASSWORD, NEW, NEW).await;
    leads_to(&changed, "/me?done=password");
    assert!(!works(&here).await, "the old token is dead");
    assert!(!works(&other).await);
    assert!(works(&Browser { stage: &stage, cookie: Some(cookie(&changed)) }).await);
    let fields = |password| [("email", EMAIL), ("password", password)];
    let old = stage.stranger().post("/sign-in", &fields(PASSWORD)).await;
    leads_to(&old, "/sign-in?refused=sign_in_failed");
    leads_to(&stage.stranger().post("/sign-in", &fields(NEW)).await, "/");
}

#[tokio::test]
async fn a_code_changes_a_forgotten_password() {
    let stage = Stage::open().await;
    let here = stage.browser(EMAIL).await;
    let factor = crate::second_factor::enrol(&here).await;
    let code = factor.code(&stage).await;
    let fields = [("current", code.as_str()), ("new", NEW), ("again", NEW)];
    leads_to(&here.post("/me/password", &fields).await, "/me?done=password");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_the_four_events_ends_sessions_and_their_open_streams() {
    let stage = Stage::open().await;
    let hash = server::auth::password::Passwords::new().hash(NEW).await;
    let mut admin = stage.admin().await;
    let people =
        ["viewer@acme.test", "operator@acme.test", "approver@acme.test", "auditor@acme.test"];
    let mut open = Vec::new();
    for email in people {
        let browser = stage.browser(email).await;
        open.push((Stream::open(&browser, "").await, browser));
    }
    open[0].1.post("/sign-out", &[]).await.expect(StatusCode::SEE_OTHER);
    admin.set_role(people[1], "acme", Role::Viewer).await.unwrap();
    admin.reset_password(people[2], &hash).await.unwrap();
    admin.disable_staff(people[3]).await.unwrap();
    for (stream, browser) in &mut open {
        browser.get("/").await.expect(StatusCode::SEE_OTHER);
        browser.post("/act/operations/take", &[]).await.expect(StatusCode::UNAUTHORIZED);
        browser.get("/live").await.expect(StatusCode::UNAUTHORIZED);
        stream.end().await;
    }
    testkit::threat("T10", 8, 0);
}

#[tokio::test]
async fn how_long_sessions_last_is_configurable() {
    let stage = Stage::open_with(&[
        ("ONCEOVER_SESSION_IDLE_MINUTES", "5"),
        ("ONCEOVER_SESSION_ABSOLUTE_MINUTES", "15"),
    ])
    .await;
    let (idle, busy) = (stage.browser(EMAIL).await, stage.browser(EMAIL).await);
    for _ in 0..3 {
        stage.database.advance_clock(Duration::from_secs(4 * 60)).await;
        assert!(works(&busy).await);
    }
    assert!(!works(&idle).await);
    stage.database.advance_clock(Duration::from_secs(4 * 60)).await;
    assert!(!works(&busy).await);
}

#[tokio::test]
async fn a_form_of_the_account_names_the_field_that_is_missing() {
    let stage = Stage::open().await;
    let operator = stage.browser(EMAIL).await;
    for path in [
        "/me/password",
        "/me/sessions/end",
        "/me/second-factor/confirm",
        "/step-up",
        "/sign-in/code",
    ] {
        let answer = operator.post(path, &[("other", "x")]).await;
        answer.expect(StatusCode::UNPROCESSABLE_ENTITY);
        assert!(answer.text().contains(Code::Unprocessable.as_str()), "{path}: {}", answer.text());
    }
}
