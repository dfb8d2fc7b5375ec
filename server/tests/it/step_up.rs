//! T09, T12: what moves money, reveals or takes a live lease asks for the factor again, once it was given
//! longer ago than five minutes; the filled form comes back as it was, and the old token is dead.

use std::time::Duration;

use axum::http::StatusCode;
use domain::problem::Code;
use serde_json::{Value, json};

use crate::{
    forms::{confirm, input, leads_to},
    support::{Answer, Browser, Operation, PASSWORD, Program, Stage},
};

const LATER: Duration = Duration::from_secs(5 * 60 + 1);

/// The session cookie that an answer sets.
pub fn cookie(answer: &Answer) -> String {
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}

/// The page that asks for the factor, and holds what was sent.
#[track_caller]
pub fn asks(answer: &Answer, code: Code) -> String {
    assert_eq!(answer.status.as_u16(), code.status(), "{}", answer.text());
    let page = answer.text();
    assert!(page.contains(&format!("data-code=\"{code}\"")), "{page}");
    assert!(page.contains("action=\"/step-up\""), "{page}");
    assert!(
        answer.headers.get("location").is_none()
            && answer.headers.get("onceover-hold-form").is_none()
    );
    page
}

/// Gives the factor on a page that asks for it, with all that the page holds.
pub async fn prove(browser: &Browser<'_>, page: &str, factor: &str) -> Answer {
    let names: Vec<_> = page
        .split("name=\"held.")
        .skip(1)
        .map(|rest| format!("held.{}", rest.split('"').next().unwrap()))
        .collect();
    let held: Vec<_> = names.iter().map(|name| (name.clone(), input(page, name))).collect();
    let place = input(page, "page");
    let mut fields = vec![("page", place.as_str()), ("factor", factor)];
    fields.extend(held.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    browser.post("/step-up", &fields).await
}

/// The last denied action in the audit log, with its code.
async fn denied(stage: &Stage) -> (String, String) {
    sqlx::query_as(
        "select action, code from audit where result = 'denied' order by at desc, seq desc limit 1",
    )
    .fetch_one(stage.database.owner_pool())
    .await
    .unwrap()
}

#[tokio::test]
async fn a_payment_is_confirmed_late_after_the_factor_and_the_form_comes_back_as_it_was() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    stage.database.advance_clock(LATER).await;
    let (before, refused) = (stage.effects().await, stage.audited("denied").await);
    let done = stage.audited("done").await;
    let answer = confirm(&operator, &target, "ch_\"><script>alert(1)</script>").await;
    let page = asks(&answer, Code::StepUpRequired);
    assert!(!page.contains("<script>alert"), "{page}");
    assert_eq!(input(&page, "held.reason"), "the provider's page shows it");
    assert_eq!(stage.effects().await, before);
    assert_eq!(stage.audited("denied").await, refused + 1);
    assert_eq!(denied(&stage).await, ("confirm".into(), "step_up_required".into()));

    let wrong = prove(&operator, &page, "not the password").await;
    let page = asks(&wrong, Code::FactorRefused);
    assert_eq!(denied(&stage).await, ("step_up".into(), "factor_refused".into()));
    let back = prove(&operator, &page, PASSWORD).await;
    back.expect(StatusCode::OK);
    // The old token is dead at once, the new one works (T09).
    operator.get("/").await.expect(StatusCode::SEE_OTHER);
    let proved = Browser { stage: &stage, cookie: Some(cookie(&back)) };
    proved.get("/").await.expect(StatusCode::OK);

    let form = back.text();
    assert_eq!(input(&form, "version"), target.version.to_string());
    assert_eq!(input(&form, "external_reference"), "ch_\"><script>alert(1)</script>");
    assert_eq!(input(&form, "reason"), "the provider's page shows it");
    assert_eq!(input(&form, "evidence_kept"), "https://provider.example/ch_1");
    let chosen = form.split("<input").find(|tag| tag.contains("value=\"happened\"")).unwrap();
    assert!(chosen.split('>').next().unwrap().contains("checked"), "{chosen}");
    let after = stage.effects().await;
    assert_eq!(after.since(&before), ["audit", "sessions"], "the step-up alone is written down");
    assert_eq!(stage.audited("done").await, done + 1);
    leads_to(&confirm(&proved, &target, "ch_1").await, "/receipts/");
    leads_to(&confirm(&proved, &target, "ch_1").await, "/receipts/");
    testkit::threat("T12", 1, 0);
}

#[tokio::test]
async fn what_moves_no_money_asks_for_no_factor() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    stage.database.advance_clock(LATER).await;
    let version = target.version.to_string();
    let fields = [("id", target.id.as_str()), ("version", &version), ("reason", "ask again")];
    leads_to(&operator.post("/act/operations/reconcile", &fields).await, "/receipts/");
    let note = [("id", target.id.as_str()), ("form_key", "fk-1"), ("text", "seen")];
    leads_to(&operator.post("/act/records/note", &note).await, "/operations/");
}

#[tokio::test]
async fn a_reveal_takes_a_fresh_factor_too_and_so_does_agreeing_to_what_moves_money() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.staff("operator@acme.test").await;
    let ask =
        json!({ "version": target.version, "outcome": "not_happened_stop", "reason": "gone" });
    // Past the call's deadline and the time that its effect may take to show.
    stage.database.advance_clock(Duration::from_secs(60)).await;
    let asked = operator.post(&format!("/operations/{}/actions/confirm", target.id), &ask).await;
    asked.expect(StatusCode::ACCEPTED);
    let request = asked.json()["id"].as_str().unwrap().to_owned();

    let approver = stage.browser("approver@acme.test").await;
    stage.database.advance_clock(LATER).await;
    let fields = [
        ("target_type", "approval"),
        ("id", request.as_str()),
        ("verb", "approve"),
        ("version", "1"),
        ("reason", "I saw it too"),
    ];
    let before = stage.effects().await;
    let page = asks(&approver.post("/act/records/decide", &fields).await, Code::StepUpRequired);
    assert_eq!(input(&page, "page"), format!("/approvals/{request}/approve"));
    assert_eq!(stage.effects().await, before);
    let back = prove(&approver, &page, PASSWORD).await;
    assert_eq!(input(&back.text(), "reason"), "I saw it too");
    let approver = Browser { stage: &stage, cookie: Some(cookie(&back)) };
    leads_to(&approver.post("/act/records/decide", &fields).await, "/receipts/");

    stage.database.advance_clock(LATER).await;
    let fields = [
        ("target_type", "operation"),
        ("id", target.id.as_str()),
        ("form_key", "fk-9"),
        ("reason", "the customer asks"),
    ];
    let page = asks(&approver.post("/act/records/reveal", &fields).await, Code::StepUpRequired);
    assert_eq!(denied(&stage).await, ("reveal".into(), "step_up_required".into()));
    assert_eq!(input(&page, "held.form_key"), "fk-9");
    testkit::threat("T12", 2, 0);
}

#[tokio::test]
async fn a_browser_that_tries_the_factor_too_often_is_told_to_wait() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    stage.database.advance_clock(LATER).await;
    let page = asks(&confirm(&operator, &target, "ch_1").await, Code::StepUpRequired);
    let tries = (0..20).map(|_| prove(&operator, &page, "not the password"));
    let answers = futures_util::future::join_all(tries).await;
    let looked_at =
        answers.iter().filter(|answer| answer.text().contains("factor_refused")).count();
    assert_eq!(looked_at, 5);
    asks(&prove(&operator, &page, PASSWORD).await, Code::TooManyAttempts);
    // Strangers are counted apart: nobody locks another's door by it.
    stage
        .stranger()
        .post("/sign-in", &[("email", "operator@acme.test"), ("password", PASSWORD)])
        .await
        .expect(StatusCode::SEE_OTHER);
}

async fn decide(program: &Program<'_>, target: &Operation, headers: &[(&str, &str)]) -> Answer {
    let path = format!("/operations/{}/actions/confirm", target.id);
    program.post_text(&path, headers, target.confirm().to_string()).await
}

#[tokio::test]
async fn a_persons_token_moves_money_for_eight_hours_and_reads_after_them() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.staff("operator@acme.test").await;
    stage.database.advance_clock(Duration::from_secs(8 * 3_600 + 1)).await;
    let before = stage.effects().await;
    decide(&operator, &target, &[]).await.refused(Code::StepUpRequired);
    decide(&operator, &target, &[("onceover-totp", "123456")]).await.refused(Code::StepUpRequired);
    assert_eq!(stage.effects().await, before);
    assert_eq!(denied(&stage).await, ("confirm".into(), "step_up_required".into()));
    operator.get("/operations").await.expect(StatusCode::OK);
    let fresh = stage.staff("operator@acme.test").await;
    decide(&fresh, &target, &[]).await.expect(StatusCode::OK);
    testkit::threat("T12", 1, 0);
}

#[tokio::test]
async fn a_code_of_the_owner_moves_money_by_an_old_token_once() {
    let stage = Stage::open().await;
    let (first, second) =
        (stage.unknown("acme", "INV-1").await, stage.unknown("acme", "INV-2").await);
    let operator = stage.staff("operator@acme.test").await;
    let browser = stage.browser("operator@acme.test").await;
    let factor = crate::second_factor::enrol(&browser).await;
    stage.database.advance_clock(Duration::from_secs(8 * 3_600 + 1)).await;
    let code = factor.code(&stage).await;
    let header = [("onceover-totp", code.as_str())];
    decide(&operator, &first, &header).await.expect(StatusCode::OK);
    decide(&operator, &second, &header).await.refused(Code::StepUpRequired);
    stage.database.advance_clock(Duration::from_secs(30)).await;
    let next = factor.code(&stage).await;
    decide(&operator, &second, &[("onceover-totp", &next)]).await.expect(StatusCode::OK);
}

#[tokio::test]
async fn a_lease_that_beats_is_taken_only_under_a_fresh_factor() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let won = service.reserve("INV-1", 100).await.json();
    let id = won["id"].as_str().unwrap().to_owned();
    let started =
        service.post(&format!("/operations/{id}/start"), &json!({ "fence": won["fence"] })).await;
    let version = started.json()["version"].clone();
    let operator = stage.staff("operator@acme.test").await;
    let path = format!("/operations/{id}/actions/release");
    let body = |force: bool| -> Value {
        json!({ "version": version, "reason": "it hangs", "force": force })
    };
    sqlx::query("update tokens set stepped_up_at = null where staff_id is not null")
        .execute(stage.database.owner_pool())
        .await
        .unwrap();
    operator.post(&path, &body(false)).await.refused(Code::NotAllowedInState);
    operator.post(&path, &body(true)).await.refused(Code::StepUpRequired);
    stage
        .staff("operator@acme.test")
        .await
        .post(&path, &body(true))
        .await
        .expect(StatusCode::ACCEPTED);
    testkit::threat("T12", 1, 0);
}

#[tokio::test]
async fn the_time_that_a_factor_counts_is_configurable() {
    let stage = Stage::open_with(&[("ONCEOVER_STEP_UP_SECONDS", "30")]).await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    stage.database.advance_clock(Duration::from_secs(31)).await;
    asks(&confirm(&operator, &target, "ch_1").await, Code::StepUpRequired);
    // Opened by itself it leads on to the page that was named, and to no other origin.
    let proved = operator.post("/step-up", &[("factor", PASSWORD), ("page", "//evil")]).await;
    assert_eq!(leads_to(&proved, "/"), "/");
    let proved = Browser { stage: &stage, cookie: Some(cookie(&proved)) };
    leads_to(&confirm(&proved, &target, "ch_1").await, "/receipts/");
}
