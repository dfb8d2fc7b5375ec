//! Looking without the right: shown nothing, and one row of the audit log that names who looked (T17, T33).

use axum::http::StatusCode;
use domain::{access::Role, problem::Code};
use engine::store::kind::KindPolicy;
use serde_json::json;

use crate::support::{Stage, charge};

/// The newest refusal in the log: who, what, on what, and why.
async fn newest_refusal(stage: &Stage) -> [String; 5] {
    let row: (String, String, String, String, String) = sqlx::query_as(
        "select actor, action, target_type, target_id, code from audit
         where result = 'denied' order by at desc, seq desc limit 1",
    )
    .fetch_one(stage.database.owner_pool())
    .await
    .unwrap();
    row.into()
}

/// A reveal that the approver was granted.
async fn granted_reveal(stage: &Stage) -> String {
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    let masked = KindPolicy { masked_pointers: vec!["/invoice_id".into()], ..charge() };
    admin.put_kind(tenant, &masked).await.unwrap();
    let target = stage.unknown("acme", "INV-1").await;
    let reveal = format!("/operations/{}/actions/reveal", target.id);
    let why = json!({ "reason": "the bank asks for it" });
    let granted = stage.staff("approver@acme.test").await.post(&reveal, &why).await;
    granted.expect(StatusCode::OK);
    granted.json()["id"].as_str().unwrap().to_owned()
}

/// A page about the rules or a reveal, and how a refused look at it stands in the log.
struct Look {
    place: String,
    action: &'static str,
    target_type: &'static str,
    target: String,
}

async fn looks(stage: &Stage, reveal: &str) -> Vec<Look> {
    let one = async |sql: &'static str| -> String {
        sqlx::query_scalar(sql).fetch_one(stage.database.owner_pool()).await.unwrap()
    };
    let member = one("select id::text from staff where email = 'auditor@acme.test'").await;
    let token = one("select id::text from tokens where staff_id is null limit 1").await;
    let look = |place: String, (action, target_type), target: &str| Look {
        place,
        action,
        target_type,
        target: target.to_owned(),
    };
    let (people, tokens) = (("read_staff", "staff"), ("read_tokens", "tokens"));
    let (one_token, one_reveal) = (("read_tokens", "token"), ("read_reveal", "reveal"));
    vec![
        look("/admin/staff".into(), people, "acme"),
        look(format!("/admin/staff/{member}"), people, "acme"),
        look(format!("/admin/staff/{member}/grant"), people, "acme"),
        look("/admin/tokens".into(), tokens, "acme"),
        look(format!("/admin/tokens/{token}"), one_token, &token),
        look(format!("/admin/tokens/{token}/revoke"), one_token, &token),
        look(format!("/reveals/{reveal}"), one_reveal, reveal),
        look(format!("/reveals/{reveal}/artifact"), one_reveal, reveal),
    ]
}

#[tokio::test]
async fn whoever_looks_without_the_right_is_shown_nothing_and_stands_in_the_log_once() {
    let stage = Stage::open().await;
    let reveal = granted_reveal(&stage).await;
    let looks = looks(&stage, &reveal).await;
    let refusals = async || stage.audited("denied").await;
    for email in ["viewer@acme.test", "operator@acme.test"] {
        let (browser, program) = (stage.browser(email).await, stage.staff(email).await);
        for Look { place, action, target_type, target } in &looks {
            let (before, effects) = (refusals().await, stage.effects().await);
            let answer = browser.get(place).await;
            answer.expect(StatusCode::FORBIDDEN);
            for kept in ["auditor@acme.test", "svc ", "the bank asks for it"] {
                assert!(!answer.text().contains(kept), "{place} shows {kept} to {email}");
            }
            assert_eq!(refusals().await, before + 1, "{place} as {email}");
            let row: [&str; 5] = [email, action, target_type, target, "permission_missing"];
            assert_eq!(newest_refusal(&stage).await, row, "{place}");
            assert_eq!(stage.effects().await, effects, "{place} as {email}");
        }
        let before = refusals().await;
        program.get("/staff").await.refused(Code::PermissionMissing);
        assert_eq!(refusals().await, before + 1);
        let row = [email, "read_staff", "staff", "acme", "permission_missing"];
        assert_eq!(newest_refusal(&stage).await, row);
    }
    // Whoever may look leaves no refusal.
    let (before, admin) = (refusals().await, stage.browser("admin@acme.test").await);
    for Look { place, .. } in looks.iter().filter(|look| look.action != "read_reveal") {
        admin.get(place).await.expect(StatusCode::OK);
    }
    assert_eq!(refusals().await, before);
    let log = stage.browser("auditor@acme.test").await.get("/audit?denied=true").await.text();
    for words in ["viewer@acme.test", "read staff", "read tokens", "read reveal"] {
        assert!(log.contains(words), "{words}: {log}");
    }
    testkit::threat("T17", 2 * looks.len() + 2, 0);
}

#[tokio::test]
async fn whoever_looks_for_anothers_reveal_is_shown_nothing_and_stands_in_the_log() {
    let stage = Stage::open().await;
    let reveal = granted_reveal(&stage).await;
    let second = engine::identity::NewStaff {
        email: "second@acme.test",
        name: "Sue",
        password_hash: "kept",
        tenant_slug: "acme",
        role: Role::Approver,
    };
    stage.admin().await.add_staff(&second).await.unwrap();
    let place = format!("/reveals/{reveal}");
    let before = stage.audited("denied").await;
    stage.browser("approver@acme.test").await.get(&place).await.expect(StatusCode::OK);
    assert_eq!(stage.audited("denied").await, before, "one's own is no refusal");
    let answer = stage.browser("second@acme.test").await.get(&place).await;
    answer.expect(StatusCode::NOT_FOUND);
    assert!(!answer.text().contains("the bank asks for it") && !answer.text().contains("INV-1"));
    assert_eq!(stage.audited("denied").await, before + 1);
    let row = ["second@acme.test", "read_reveal", "reveal", reveal.as_str(), "not_found"];
    assert_eq!(newest_refusal(&stage).await, row);
    testkit::threat("T33", 1, 0);
}
