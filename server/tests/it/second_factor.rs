//! The second factor of a local account: enrolled, asked for, taken once, replaced by a recovery code, turned
//! off (T09, T14).

use std::time::Duration;

use axum::http::StatusCode;
use domain::problem::Code;
use totp_rs::{Builder, Secret};

use crate::{
    forms::{confirm, input, leads_to},
    step_up::{asks, cookie, prove},
    support::{Answer, Browser, PASSWORD, Stage},
};

const EMAIL: &str = "operator@acme.test";

/// An authenticator with the secret that a page showed.
pub struct Authenticator {
    secret: String,
    pub recovery: Vec<String>,
}

impl Authenticator {
    /// The code that it shows now, by the database's clock.
    pub async fn code(&self, stage: &Stage) -> String {
        let now: i64 = sqlx::query_scalar("select extract(epoch from onceover_now())::bigint")
            .fetch_one(stage.database.owner_pool())
            .await
            .unwrap();
        let secret = Secret::try_from_base32(&self.secret).unwrap();
        let totp = Builder::new().with_secret(secret).build().unwrap();
        totp.generate(now.try_into().unwrap()).to_string()
    }
}

/// What stands in the page's `<code>` elements, without the marks that rendering leaves.
fn codes(page: &str) -> Vec<String> {
    let found = page.split("<code>").skip(1);
    found.map(|rest| rest.split("</code>").next().unwrap().replace("<!>", "")).collect()
}

/// Takes a second factor for a browser whose password was just given. The clock is moved on, so that the
/// next code is another.
pub async fn enrol(browser: &Browser<'_>) -> Authenticator {
    let stage = browser.stage;
    let shown = browser.post("/me/second-factor/begin", &[]).await;
    shown.expect(StatusCode::OK);
    let page = shown.text();
    assert!(page.contains("otpauth://totp/Onceover:") && page.contains("class=\"qr\""), "{page}");
    let mut factor =
        Authenticator { secret: codes(&page).first().unwrap().clone(), recovery: Vec::new() };
    let code = factor.code(stage).await;
    let on = browser.post("/me/second-factor/confirm", &[("factor", &code)]).await;
    on.expect(StatusCode::OK);
    factor.recovery = codes(&on.text());
    assert_eq!(factor.recovery.len(), 10, "{}", on.text());
    stage.database.advance_clock(Duration::from_secs(30)).await;
    factor
}

async fn sign_in(browser: &Browser<'_>) -> Answer {
    let fields = [("email", EMAIL), ("password", PASSWORD), ("next", "/operations?q=a")];
    browser.post("/sign-in", &fields).await
}

/// A browser whose password was right and whose code is not given yet.
async fn half<'a>(stage: &'a Stage) -> Browser<'a> {
    let answer = sign_in(&stage.stranger()).await;
    assert_eq!(leads_to(&answer, "/sign-in/code"), "/sign-in/code?next=%2Foperations%3Fq%3Da");
    let ticket = cookie(&answer);
    assert!(ticket.starts_with("__Host-code="), "{ticket}");
    Browser { stage, cookie: Some(ticket) }
}

async fn give(browser: &Browser<'_>, code: &str) -> Answer {
    browser.post("/sign-in/code", &[("factor", code), ("next", "/operations?q=a")]).await
}

#[tokio::test]
async fn signing_in_asks_for_the_code_and_nothing_is_open_before_it() {
    let stage = Stage::open().await;
    let factor = enrol(&stage.browser(EMAIL).await).await;
    let browser = half(&stage).await;
    let sessions = stage.effects().await;
    browser.get("/").await.expect(StatusCode::SEE_OTHER);
    let page = browser.get("/sign-in/code?next=%2Foperations").await;
    page.expect(StatusCode::OK);
    assert!(page.text().contains("name=\"factor\""), "{}", page.text());

    let wrong = give(&browser, "000000").await;
    leads_to(&wrong, "/sign-in/code?refused=factor_refused&next=");
    assert!(wrong.headers.get("set-cookie").is_none());
    assert_eq!(stage.effects().await, sessions, "no session yet");

    let code = factor.code(&stage).await;
    let right = give(&browser, &code).await;
    assert_eq!(leads_to(&right, "/operations"), "/operations?q=a");
    let signed_in = Browser { stage: &stage, cookie: Some(cookie(&right)) };
    signed_in.get("/").await.expect(StatusCode::OK);
    let rows: i64 = sqlx::query_scalar(
        "select count(*) from audit where action = 'sign_in' and result = 'done' and actor = $1",
    )
    .bind(EMAIL)
    .fetch_one(stage.database.owner_pool())
    .await
    .unwrap();
    assert_eq!(rows, 2, "that of the enrolment and this one, which begins with the code");

    // Neither the ticket nor the code opens anything twice.
    leads_to(&give(&browser, &code).await, "/sign-in?refused=sign_in_failed");
    leads_to(&give(&half(&stage).await, &code).await, "/sign-in/code?refused=factor_refused");
    let stranger = stage.stranger();
    leads_to(&give(&stranger, &code).await, "/sign-in?refused=sign_in_failed");
}

#[tokio::test]
async fn codes_are_counted_with_passwords_before_any_is_looked_at() {
    let stage = Stage::open().await;
    enrol(&stage.browser(EMAIL).await).await;
    let browser = half(&stage).await;
    let answers = futures_util::future::join_all((0..20).map(|_| give(&browser, "000000"))).await;
    let looked_at = answers.iter().filter(|answer| answer.status == StatusCode::SEE_OTHER).count();
    assert_eq!(looked_at, 4, "the password was the first of five");
    sign_in(&stage.stranger()).await.expect(StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_recovery_code_opens_once_and_none_is_stored_as_it_is() {
    let stage = Stage::open().await;
    let factor = enrol(&stage.browser(EMAIL).await).await;
    let code = factor.recovery[0].to_uppercase().replace('-', " ");
    leads_to(&give(&half(&stage).await, &code).await, "/operations");
    leads_to(&give(&half(&stage).await, &code).await, "/sign-in/code?refused=factor_refused");
    let stored: String = sqlx::query_scalar(
        "select (select string_agg(encode(code_hash, 'escape'), ' ') from recovery_codes)
           || (select encode(secret, 'escape') from second_factors)",
    )
    .fetch_one(stage.database.owner_pool())
    .await
    .unwrap();
    assert!(!stored.contains(&factor.recovery[1]) && !stored.contains(&factor.secret));
    let raw = Secret::try_from_base32(&factor.secret).unwrap();
    let sealed: Vec<u8> = sqlx::query_scalar("select secret from second_factors")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    assert!(!sealed.windows(raw.as_bytes().len()).any(|part| part == raw.as_bytes()));
}

#[tokio::test]
async fn with_a_second_factor_the_password_alone_proves_nothing() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser(EMAIL).await;
    let factor = enrol(&operator).await;
    stage.database.advance_clock(Duration::from_secs(301)).await;
    let page = asks(&confirm(&operator, &target, "ch_1").await, Code::StepUpRequired);
    assert!(page.contains("one-time-code"), "{page}");
    asks(&prove(&operator, &page, PASSWORD).await, Code::FactorRefused);
    let code = factor.code(&stage).await;
    let back = prove(&operator, &page, &code).await;
    back.expect(StatusCode::OK);
    let operator = Browser { stage: &stage, cookie: Some(cookie(&back)) };
    asks(&prove(&operator, &page, &code).await, Code::FactorRefused);
    leads_to(&confirm(&operator, &target, "ch_1").await, "/receipts/");
}

#[tokio::test]
async fn turning_it_on_or_off_takes_a_fresh_factor_and_stands_in_the_log() {
    let stage = Stage::open().await;
    let operator = stage.browser(EMAIL).await;
    stage.database.advance_clock(Duration::from_secs(301)).await;
    // The form has no fields of its own: after the factor the account's page comes.
    let page = asks_for_account(&operator.post("/me/second-factor/begin", &[]).await);
    let proved = prove(&operator, &page, PASSWORD).await;
    assert_eq!(leads_to(&proved, "/me"), "/me");
    let operator = Browser { stage: &stage, cookie: Some(cookie(&proved)) };
    let factor = enrol(&operator).await;
    let again = operator.post("/me/second-factor/begin", &[]).await;
    leads_to(&again, "/me?refused=not_allowed_in_state");
    let people = stage.staff("admin@acme.test").await.get("/staff").await.json();
    let of = |email: &str| {
        let items = people["items"].as_array().unwrap();
        items.iter().find(|one| one["email"] == email).unwrap()["second_factor"].clone()
    };
    assert_eq!((of(EMAIL), of("viewer@acme.test")), (true.into(), false.into()));
    let list = stage.browser("admin@acme.test").await.get("/admin/staff").await;
    assert!(list.text().contains("Second factor"), "{}", list.text());

    stage.database.advance_clock(Duration::from_secs(301)).await;
    let page = asks_for_account(&operator.post("/me/second-factor/off", &[]).await);
    let proved = prove(&operator, &page, &factor.code(&stage).await).await;
    let operator = Browser { stage: &stage, cookie: Some(cookie(&proved)) };
    let off = operator.post("/me/second-factor/off", &[]).await;
    leads_to(&off, "/me?done=second-factor-off");
    assert!(operator.get("/me").await.text().contains("Set up a second factor"));
    leads_to(&sign_in(&stage.stranger()).await, "/operations");
    let written: Vec<String> = sqlx::query_scalar(
        "select action from audit where action like 'second_factor.%' and result = 'done' order by seq",
    )
    .fetch_all(stage.database.owner_pool())
    .await
    .unwrap();
    assert_eq!(written, ["second_factor.begin", "second_factor.on", "second_factor.off"]);
}

fn asks_for_account(answer: &Answer) -> String {
    answer.expect(StatusCode::FORBIDDEN);
    assert_eq!(input(&answer.text(), "page"), "/me");
    answer.text()
}

#[tokio::test]
async fn a_reset_at_the_owners_terminal_takes_the_second_factor_off() {
    let stage = Stage::open().await;
    enrol(&stage.browser(EMAIL).await).await;
    let waiting = half(&stage).await;
    let hash = server::auth::password::Passwords::new().hash(PASSWORD).await;
    stage.admin().await.reset_password(EMAIL, &hash).await.unwrap();
    leads_to(&sign_in(&stage.stranger()).await, "/operations");
    leads_to(&give(&waiting, "000000").await, "/sign-in?refused=sign_in_failed");
}

#[tokio::test]
async fn a_secret_sealed_under_another_key_opens_nothing_and_says_nothing() {
    let stage = Stage::open().await;
    enrol(&stage.browser(EMAIL).await).await;
    // A row that was copied to another person is bound to the first.
    sqlx::query(
        "insert into second_factors (staff_id, secret, confirmed_at)
         select s.id, f.secret, f.confirmed_at from second_factors f, staff s where s.email = 'viewer@acme.test'",
    )
    .execute(stage.database.owner_pool())
    .await
    .unwrap();
    let fields = [("email", "viewer@acme.test"), ("password", PASSWORD)];
    let ticket = cookie(&stage.stranger().post("/sign-in", &fields).await);
    let browser = Browser { stage: &stage, cookie: Some(ticket) };
    let answer = give(&browser, "000000").await;
    answer.expect(StatusCode::INTERNAL_SERVER_ERROR);
    assert!(!answer.text().contains("sealed"), "{}", answer.text());
}
