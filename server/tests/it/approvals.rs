//! Four eyes over HTTP: a form and a call that take two people answer where it waits, and a second
//! person's call carries it out once.

use axum::http::StatusCode;
use domain::{access::Role, problem::Code};
use engine::identity::NewStaff;
use serde_json::{Value, json};

use crate::{
    forms::refused_form,
    support::{Answer, Operation, Stage},
};

/// An approver beside the one of the stage.
async fn second_approver(stage: &Stage) {
    let new = NewStaff {
        email: "second@acme.test",
        name: "Sam Second",
        password_hash: "kept",
        tenant_slug: "acme",
        role: Role::Approver,
    };
    stage.admin().await.add_staff(&new).await.unwrap();
}

fn denied(target: &Operation) -> Value {
    json!({
        "version": target.version,
        "outcome": "not_happened_stop",
        "reason": "their support says it never arrived",
    })
}

/// A charge that never arrived, old enough to say so; and the call that says it.
async fn settled(stage: &Stage, key: &str) -> (Operation, String) {
    let target = stage.unknown("acme", key).await;
    stage.database.advance_clock(std::time::Duration::from_secs(20)).await;
    let path = format!("/operations/{}/actions/confirm", target.id);
    (target, path)
}

fn request_of(answer: &Answer) -> String {
    answer.expect(StatusCode::ACCEPTED);
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(answer.header("location"), format!("/api/v1/approvals/{id}"));
    id
}

#[tokio::test]
async fn a_call_that_takes_two_people_waits_and_is_carried_out_once() {
    let stage = Stage::open().await;
    let operator = stage.staff("operator@acme.test").await;
    let approver = stage.staff("approver@acme.test").await;
    let (target, path) = settled(&stage, "INV-1").await;
    let first = operator.post(&path, &denied(&target)).await;
    let id = request_of(&first);
    assert_eq!(first.json()["status"], "pending");
    assert_eq!(first.json()["may_approve"], json!(["approver@acme.test"]));
    let again = operator.post(&path, &denied(&target)).await;
    assert_eq!(request_of(&again), id);
    assert_eq!(again.header("idempotent-replayed"), "true");
    approver.post(&path, &denied(&target)).await.refused(Code::ApprovalPending);

    let waiting = approver.get("/approvals?others=true").await.json();
    assert_eq!(waiting["items"][0]["id"], id.as_str());
    let shown = approver.get(&format!("/approvals/{id}")).await.json();
    assert_eq!(shown["now"]["version"], target.version);
    assert_eq!(shown["mine"], false);

    let approve = format!("/approvals/{id}/actions/approve");
    let acted =
        approver.post(&approve, &json!({ "version": 1, "reason": "I rang them too" })).await;
    acted.expect(StatusCode::OK);
    assert_eq!(acted.json()["after"]["status"], "failed_terminal");
    assert_eq!(acted.json()["actor_email"], "operator@acme.test");
    assert_eq!(acted.json()["approved_by"]["actor_email"], "approver@acme.test");
    let twice = approver.post(&approve, &json!({})).await;
    twice.expect(StatusCode::OK);
    assert_eq!(twice.header("idempotent-replayed"), "true");
    assert_eq!(twice.json()["id"], acted.json()["id"]);
    let decided = operator.get("/approvals?mine=true&decided=true").await.json();
    assert_eq!(decided["items"][0]["status"], "approved");
    let receipt =
        operator.get(&format!("/receipts/{}", acted.json()["id"].as_str().unwrap())).await;
    assert_eq!(receipt.json()["approved_by"]["reason"], "I rang them too");
}

#[tokio::test]
async fn whoever_asked_approves_by_no_door() {
    let stage = Stage::open().await;
    second_approver(&stage).await;
    let approver = stage.staff("approver@acme.test").await;
    let (target, path) = settled(&stage, "INV-1").await;
    let id = request_of(&approver.post(&path, &denied(&target)).await);
    let approve = format!("/approvals/{id}/actions/approve");
    let form = [
        ("target_type", "approval"),
        ("id", id.as_str()),
        ("verb", "approve"),
        ("version", "1"),
        ("reason", "I saw it myself"),
    ];
    // Two sessions of one person, beside two tokens.
    let page = stage.browser("approver@acme.test").await;
    let other_page = stage.browser("approver@acme.test").await;
    let (effects, before) = (stage.effects().await, stage.audited("denied").await);
    for browser in [&page, &other_page] {
        let answer = browser.post("/act/records/decide", &form).await;
        refused_form(&answer, &format!("/approvals/{id}/approve"), Code::SecondPersonRequired);
        let told = browser.get(answer.header("location")).await.text();
        assert!(told.contains("data-code=\"second_person_required\""), "{told}");
    }
    assert_eq!(stage.effects().await, effects, "by form");
    assert_eq!(stage.audited("denied").await, before + 2, "one row for each refused form");
    let before = stage.audited("denied").await;
    approver.post(&approve, &json!({})).await.refused(Code::SecondPersonRequired);
    let other_token = stage.staff("approver@acme.test").await;
    other_token.post(&approve, &json!({})).await.refused(Code::SecondPersonRequired);
    let admin = stage.staff("admin@acme.test").await;
    admin.post(&approve, &json!({})).await.refused(Code::PermissionMissing);
    let operator = stage.staff("operator@acme.test").await;
    operator.post(&approve, &json!({})).await.refused(Code::PermissionMissing);
    assert_eq!(stage.audited("denied").await, before + 4, "one row for each refusal");
    let withdraw = format!("/approvals/{id}/actions/withdraw");
    operator.post(&withdraw, &json!({})).await.refused(Code::PermissionMissing);
    approver.post(&withdraw, &json!({})).await.expect(StatusCode::OK);
    let second = stage.staff("second@acme.test").await;
    second.post(&approve, &json!({})).await.refused(Code::NotAllowedInState);
    let page =
        stage.browser("operator@acme.test").await.get(&format!("/operations/{}", target.id)).await;
    assert!(!page.text().contains("approval_pending"), "nothing waits any more");
    testkit::threat("T23", 7, 0);
}

#[tokio::test]
async fn a_form_that_takes_two_people_leads_to_where_it_waits() {
    let stage = Stage::open().await;
    let (target, _) = settled(&stage, "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let version = target.version.to_string();
    let fields = [
        ("id", target.id.as_str()),
        ("version", &version),
        ("outcome", "not_happened_stop"),
        ("reason", "their support says it never arrived"),
    ];
    for _ in 0..2 {
        let answer = operator.post("/act/operations/confirm", &fields).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
        let place = answer.header("location").to_owned();
        assert_eq!(place, format!("/operations/{}#approvals", target.id));
        let page = operator.get(&place).await;
        page.expect(StatusCode::OK);
        for words in [
            "data-code=\"approval_pending\"",
            "id=\"approvals\"",
            "Waits for a second person",
            "Nothing has been done yet",
            "Who may approve it: approver@acme.test",
            "their support says it never arrived",
        ] {
            assert!(page.text().contains(words), "{words}");
        }
    }
    let rows: i64 = sqlx::query_scalar("select count(*) from approvals")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    assert_eq!(rows, 1, "two clicks are one request");
    let approver = stage.staff("approver@acme.test").await;
    let waiting = approver.get("/approvals").await.json();
    let approve =
        format!("/approvals/{}/actions/approve", waiting["items"][0]["id"].as_str().unwrap());
    let acted = approver.post(&approve, &json!({})).await;
    let receipt =
        operator.get(&format!("/receipts/{}", acted.json()["id"].as_str().unwrap())).await;
    receipt.expect(StatusCode::OK);
    assert!(receipt.text().contains("Approved by"), "{}", receipt.text());
}

#[tokio::test]
async fn where_nobody_could_approve_the_call_says_so() {
    let stage = Stage::open().await;
    stage.admin().await.set_role("approver@acme.test", "acme", Role::Viewer).await.unwrap();
    let operator = stage.staff("operator@acme.test").await;
    let (target, path) = settled(&stage, "INV-1").await;
    operator.post(&path, &denied(&target)).await.refused(Code::SecondPersonRequired);
    let rows: i64 = sqlx::query_scalar("select count(*) from approvals")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn a_policy_that_loosens_and_the_right_to_approve_wait_for_a_second_person_over_http() {
    let stage = Stage::open().await;
    let admin = stage.staff("admin@acme.test").await;
    let approver = stage.staff("approver@acme.test").await;
    let operator = stage.staff("operator@acme.test").await;
    let kind = admin.get("/kinds/invoice.charge").await.json();
    let version = kind["version"].as_i64().unwrap();
    let put = "/kinds/invoice.charge/actions/put_kind";
    let with = |member: &str, value: Value, version: i64| {
        let mut policy = kind["policy"].clone();
        policy[member] = value;
        json!({ "version": version, "reason": "the finance team asked for it", "policy": policy })
    };
    let tight = with("approval_threshold_minor", json!(1), version);
    operator.post(put, &tight).await.refused(Code::PermissionMissing);
    admin.post(put, &with("treshold", json!(1), version)).await.refused(Code::Unprocessable);
    admin
        .post(put, &json!({ "version": version, "reason": "why" }))
        .await
        .refused(Code::Unprocessable);
    admin.post(put, &with("name", json!("other"), version)).await.refused(Code::Unprocessable);
    admin.get("/kinds/nothing").await.refused(Code::NotFound);

    admin.post(put, &tight).await.expect(StatusCode::OK);
    let loose = with("money", json!(false), version + 1);
    let waits = admin.post(put, &loose).await;
    let request = request_of(&waits);
    let in_force = async || admin.get("/kinds/invoice.charge").await.json();
    assert_eq!(in_force().await["policy"]["money"], true, "nothing happened yet");
    let approve = format!("/approvals/{request}/actions/approve");
    approver.post(&approve, &json!({ "version": 1 })).await.expect(StatusCode::OK);
    assert_eq!(in_force().await["policy"]["money"], false);
    assert_eq!(in_force().await["version"], version + 2);

    let viewer = async || {
        let people = admin.get("/staff").await.json();
        let people = people["items"].as_array().unwrap().clone();
        people.into_iter().find(|member| member["email"] == "viewer@acme.test").unwrap()
    };
    operator.get("/staff").await.refused(Code::PermissionMissing);
    let one = viewer().await;
    let path = format!("/staff/{}/actions/grant", one["id"].as_str().unwrap());
    let grant = |role: &str, version: &Value| json!({ "version": version, "reason": "joins the desk", "role": role });
    operator
        .post(&path, &grant("operator", &one["version"]))
        .await
        .refused(Code::PermissionMissing);
    admin.post(&path, &grant("emperor", &one["version"])).await.refused(Code::Unprocessable);
    admin.post(&path, &grant("operator", &one["version"])).await.expect(StatusCode::OK);
    let one = viewer().await;
    assert_eq!(one["role"], "operator");
    let waits = admin.post(&path, &grant("approver", &one["version"])).await;
    let request = request_of(&waits);
    assert_eq!(viewer().await["role"], "operator");
    let approve = format!("/approvals/{request}/actions/approve");
    approver.post(&approve, &json!({ "version": 1 })).await.expect(StatusCode::OK);
    assert_eq!(viewer().await["role"], "approver");
    let nobody = format!("/staff/{}/actions/grant", uuid::Uuid::now_v7());
    admin.post(&nobody, &grant("viewer", &json!(1))).await.refused(Code::NotFound);
}

#[tokio::test]
async fn the_list_of_requests_has_filters_and_chips_as_every_list() {
    let stage = Stage::open().await;
    let operator = stage.staff("operator@acme.test").await;
    let (target, path) = settled(&stage, "INV-1").await;
    let id = request_of(&operator.post(&path, &denied(&target)).await);
    let row = format!("href=\"/approvals/{id}\"");
    let browser = stage.browser("approver@acme.test").await;
    let page = async |query: &str| {
        let page = browser.get(&format!("/approvals{query}")).await;
        page.expect(StatusCode::OK);
        page.text()
    };
    let all = page("").await;
    for part in ["name=\"status\"", "name=\"from\"", "name=\"to\"", "void: the record moved on"] {
        assert!(all.contains(part), "{part}");
    }
    assert!(all.contains(&row) && !all.contains("Filters in force"));
    // A view and a filter go together: the form keeps the one, the chip takes the other away.
    let waiting = page("?waiting=true&status=pending").await;
    assert!(waiting.contains(&row), "{waiting}");
    let chips = waiting.split_once("Filters in force").unwrap().1.split_once("</ul>").unwrap().0;
    assert!(chips.contains("href=\"/approvals?waiting=true\""), "{chips}");
    assert!(chips.contains(">waits<"), "{chips}");
    for query in ["?status=approved", "?to=2026-01-01", "?from=2999-01-01"] {
        let none = page(query).await;
        assert!(!none.contains(&row) && none.contains("There is no such request."), "{query}");
    }
    let file = browser.get("/export/approvals?format=json&to=2026-01-01").await;
    file.expect(StatusCode::OK);
    assert_eq!(file.json()["items"], json!([]));
    browser
        .get("/export/approvals?format=json&from=yesterday")
        .await
        .expect(StatusCode::BAD_REQUEST);
}
