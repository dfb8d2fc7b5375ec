//! The audit log over HTTP: no action without it (T29), nobody's but the auditor's and the
//! administrator's (T32), its check on the page (T30).

use axum::http::StatusCode;
use domain::{
    access::Role,
    action::{TargetType, Verb},
    problem::Code,
};
use leptos::server_fn::axum::server_fn_paths;
use serde_json::json;
use sqlx::Executor as _;

use crate::{
    forms::leads_to,
    refusals::fields,
    support::{PASSWORD, Stage},
};

const BREAK: &str = "create function audit_breaks() returns trigger language plpgsql as
      'begin raise exception ''no''; end';
    create trigger audit_breaks before insert on audit for each row execute function audit_breaks()";
const REVOKE: &str = "revoke execute on function audit_add from onceover_app, onceover_engine";

#[tokio::test]
async fn no_page_and_no_call_has_an_effect_or_a_refusal_that_cannot_be_audited() {
    let mut tried = 0;
    for how in [BREAK, REVOKE] {
        let stage = Stage::open().await;
        let target = stage.unknown("acme", "INV-1").await;
        let (version, record) = (target.version.to_string(), format!("operation/{}", target.id));
        // Whose right reaches the command, and whose does not.
        let emails = ["approver@acme.test", "admin@acme.test", "viewer@acme.test"];
        let mut browsers = Vec::new();
        let mut programs = Vec::new();
        for email in emails {
            browsers.push(stage.browser(email).await);
            programs.push(stage.staff(email).await);
        }
        stage.database.owner_pool().execute(how).await.unwrap();
        let before = stage.effects().await;
        // What is no policy reaches no command; the call below does.
        for (path, _) in server_fn_paths().filter(|(path, _)| *path != "/act/kinds/put") {
            for (browser, role) in
                browsers.iter().zip([Role::Approver, Role::TenantAdmin, Role::Viewer])
            {
                let answer = browser.post(path, &fields(path, &target, &version, &record)).await;
                let what = format!("{path} as {role}: {}", answer.text());
                assert_eq!(stage.effects().await, before, "{what}");
                tried += 1;
                let place = leads_to(&answer, "/");
                assert!(place.contains("refused=unavailable"), "{what} {place}");
                let page = browser.get(&place).await;
                // What is no record has no page to tell it on.
                let told = page.status == StatusCode::NOT_FOUND
                    || page.text().contains("data-code=\"unavailable\"");
                assert!(told, "{place} as {role}: {} {}", page.status, page.text());
            }
        }
        // Nobody comes in, and nobody goes out: the session stands until it can be written down.
        let comes = [("email", "viewer@acme.test"), ("password", PASSWORD)];
        for (who, path, fields) in
            [(&stage.stranger(), "/sign-in", &comes[..]), (&browsers[2], "/sign-out", &comes[..0])]
        {
            who.post(path, fields).await.expect(StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(stage.effects().await, before, "{path}");
            tried += 1;
        }
        for target_type in TargetType::ALL {
            // A policy is not spelled here, and no call makes a token: the engine's own test has both.
            if matches!(target_type, TargetType::OperationKind | TargetType::Token) {
                continue;
            }
            // What opens an incident names none that is there.
            for verb in Verb::on(target_type).iter().filter(|verb| **verb != Verb::Open) {
                let path = match target_type {
                    TargetType::Operation => format!("/operations/{}/actions/{verb}", target.id),
                    other => format!("{}/{}/actions/{verb}", route(other), target.id),
                };
                // Of other records there are none here: who may not is told before anybody looks.
                let who = if target_type == TargetType::Operation {
                    &programs[..]
                } else {
                    &programs[2..]
                };
                for program in who {
                    let body = body(&target, *verb);
                    let answer = program.post(&path, &body).await;
                    answer.refused(Code::Unavailable);
                    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
                    assert_eq!(stage.effects().await, before, "{path}");
                    tried += 1;
                }
            }
        }
    }
    testkit::threat("T29", tried, 0);
}

fn route(target: TargetType) -> &'static str {
    match target {
        TargetType::Staff => "/staff",
        other => other.pages(),
    }
}

fn body(target: &crate::support::Operation, verb: Verb) -> serde_json::Value {
    match verb {
        Verb::Confirm | Verb::Correct => target.confirm(),
        Verb::Grant => json!({ "version": 1, "role": "viewer", "reason": "seen" }),
        _ => json!({ "version": target.version, "reason": "seen" }),
    }
}

#[tokio::test]
async fn the_log_its_export_its_check_and_its_call_are_for_those_who_may() {
    let stage = Stage::open().await;
    for email in ["viewer@acme.test", "operator@acme.test", "approver@acme.test"] {
        let (browser, program) = (stage.browser(email).await, stage.staff(email).await);
        let denied = stage.audited("denied").await;
        browser.get("/audit").await.expect(StatusCode::FORBIDDEN);
        browser.get("/export/audit?format=csv").await.expect(StatusCode::FORBIDDEN);
        program.get("/audit").await.refused(Code::PermissionMissing);
        let place = leads_to(&browser.post("/act/audit/verify", &[]).await, "/audit?refused=");
        assert!(place.contains("permission_missing"), "{place}");
        assert_eq!(stage.audited("denied").await, denied + 4, "each is in the log, once: {email}");
    }
    for email in ["auditor@acme.test", "admin@acme.test"] {
        let (browser, program) = (stage.browser(email).await, stage.staff(email).await);
        browser.get("/audit").await.expect(StatusCode::OK);
        browser.get("/export/audit?format=csv").await.expect(StatusCode::OK);
        program.get("/audit").await.expect(StatusCode::OK);
    }
}

#[tokio::test]
async fn an_auditor_of_one_tenant_finds_nothing_of_another_in_page_export_or_call() {
    let stage = Stage::open().await;
    let auditor = engine::identity::NewStaff {
        email: "auditor@globex.test",
        name: "Gil",
        password_hash: "kept",
        tenant_slug: "globex",
        role: Role::Auditor,
    };
    stage.admin().await.add_staff(&auditor).await.unwrap();
    let target = stage.unknown("acme", "INV-1").await;
    stage
        .staff("operator@acme.test")
        .await
        .post(&format!("/operations/{}/actions/confirm", target.id), &target.confirm())
        .await
        .expect(StatusCode::OK);
    let ours = stage.browser("auditor@acme.test").await.get("/audit").await;
    assert!(ours.text().contains(&target.id), "the entry is there for its own");
    let (browser, program) =
        (stage.browser("auditor@globex.test").await, stage.staff("auditor@globex.test").await);
    let about = format!("target={}", target.id);
    for text in [
        browser.get("/audit").await.text(),
        browser.get("/export/audit?format=csv").await.text(),
        browser.get("/export/audit?format=json").await.text(),
        program.get("/audit").await.text(),
        program.get(&format!("/audit?{about}")).await.text(),
    ] {
        assert!(!text.contains("operator@acme.test") && !text.contains(&target.id), "{text}");
    }
    let found = program.get(&format!("/audit?{about}")).await.json();
    assert_eq!(found["items"], json!([]));
    testkit::threat("T32", 1, 0);
}

#[tokio::test]
async fn the_page_checks_the_chain_by_a_plain_form_and_names_what_was_altered() {
    let stage = Stage::open().await;
    let auditor = stage.browser("auditor@acme.test").await;
    let page = auditor.get("/audit").await.text();
    assert!(page.contains("action=\"/act/audit/verify\""), "{page}");
    assert!(page.contains("Nobody has asked yet"), "{page}");
    leads_to(&auditor.post("/act/audit/verify", &[]).await, "/audit#chain");
    let page = auditor.get("/audit").await.text();
    assert!(page.contains("entries are as they were written."), "{page}");
    assert!(page.contains("auditor@acme.test"), "{page}");
    let tamper =
        "set session_replication_role = replica; update audit set actor = 'x' where seq = 2;
        set session_replication_role = origin";
    stage.database.owner_pool().execute(tamper).await.unwrap();
    leads_to(&auditor.post("/act/audit/verify", &[]).await, "/audit#chain");
    let page = auditor.get("/audit").await.text();
    assert!(page.contains("entry 2 was altered after it was written"), "{page}");
    assert!(page.contains("The log is not as it was written."), "{page}");
}
