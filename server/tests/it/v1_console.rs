//! The console's calls by a person's token: lists, details, decisions and receipts.

use axum::http::StatusCode;
use chrono::DateTime;
use domain::problem::Code;
use serde_json::json;

use crate::support::Stage;

#[tokio::test]
async fn an_operation_is_found_read_confirmed_once_and_has_a_receipt() {
    let stage = Stage::open().await;
    let unknown = stage.unknown("acme", "INV-2026-0042").await;
    let operator = stage.staff("operator@acme.test").await;

    let found = operator.get("/operations?q=INV-2026-0042&status=unknown").await;
    found.expect(StatusCode::OK);
    assert_eq!(found.json()["items"][0]["id"], unknown.id.as_str());
    let detail = operator.get(&format!("/operations/{}", unknown.id)).await;
    detail.expect(StatusCode::OK);
    assert!(detail.json()["verdict"]["sentence"].is_string());
    let timeline = operator.get(&format!("/operations/{}/timeline", unknown.id)).await;
    assert!(timeline.json()["items"].as_array().unwrap().len() >= 3, "{}", timeline.text());

    let path = format!("/operations/{}/actions/confirm", unknown.id);
    let first = operator.post(&path, &unknown.confirm()).await;
    first.expect(StatusCode::OK);
    assert_eq!(first.header("idempotent-replayed"), "");
    let audited = stage.audited("done").await;
    let again = operator.post(&path, &unknown.confirm()).await;
    again.expect(StatusCode::OK);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.json()["id"], first.json()["id"]);
    assert_eq!(stage.audited("done").await, audited);

    let receipt =
        operator.get(&format!("/receipts/{}", first.json()["id"].as_str().unwrap())).await;
    receipt.expect(StatusCode::OK);
    assert_eq!(receipt.json()["verb"], "confirm");
    let approver = stage.staff("approver@acme.test").await;
    let mut other = unknown.confirm();
    other["external_reference"] = json!("ch_2");
    let answer = approver.post(&path, &other).await;
    answer.refused(Code::DecidedOtherwise);
    let decided_at = answer.json()["decided_at"].clone();
    assert!(decided_at.as_str().is_some_and(|at| DateTime::parse_from_rfc3339(at).is_ok()));
    assert_eq!(answer.json().get("retry_at"), None, "there is nothing to wait for");
}

#[tokio::test]
async fn a_decision_without_its_facts_is_refused_with_the_field() {
    let stage = Stage::open().await;
    let unknown = stage.unknown("acme", "INV-1").await;
    let operator = stage.staff("operator@acme.test").await;
    let path = format!("/operations/{}/actions/confirm", unknown.id);
    for (field, value, code) in [
        ("reason", json!(""), Code::Unprocessable),
        ("outcome", json!("perhaps"), Code::Unprocessable),
        ("external_reference", json!(null), Code::Unprocessable),
        ("version", json!("1"), Code::Unprocessable),
        ("version", json!(null), Code::Unprocessable),
        ("version", json!(1.5), Code::Unprocessable),
        ("force", json!("yes"), Code::Unprocessable),
        ("amount_minor", json!({}), Code::Unprocessable),
        ("reason", json!("a\u{0}b"), Code::Unprocessable),
        ("reason", json!(["x"]), Code::Unprocessable),
        ("reason", json!("x".repeat(2_001)), Code::Unprocessable),
        ("surprise", json!(1), Code::Unprocessable),
    ] {
        let mut body = unknown.confirm();
        body[field] = value;
        let answer = operator.post(&path, &body).await;
        answer.refused(code);
        let problem = answer.json();
        assert_eq!(problem["field"], field, "{problem}");
        let detail = problem["detail"].as_str().unwrap().to_lowercase();
        for word in ["invalid type", "expected", "i64", "struct", "option", "bool", "at line"] {
            assert!(!detail.contains(word), "{detail}");
        }
    }
    for body in ["", "{", "[1]", "version=1", r#"{"version":1,"version":2}"#] {
        operator.post_text(&path, &[], body).await.refused(Code::RequestInvalid);
    }
    let browser = stage.browser("operator@acme.test").await;
    for version in ["", "one", "1.5"] {
        let fields = [("id", unknown.id.as_str()), ("version", version), ("reason", "x")];
        let answer = browser.post("/act/operations/confirm", &fields).await;
        // The form's door says the same.
        let page = format!("/operations/{}/confirm", unknown.id);
        crate::forms::refused_form(&answer, &page, Code::Unprocessable);
    }
    let mut stale = unknown.confirm();
    stale["version"] = json!(unknown.version - 1);
    let answer = operator.post(&path, &stale).await;
    answer.refused(Code::Stale);
    assert_eq!(answer.json()["current"]["version"], unknown.version);
    let release = format!("/operations/{}/actions/release", unknown.id);
    let body = json!({ "version": unknown.version, "reason": "x" });
    operator.post(&release, &body).await.refused(Code::NotAllowedInState);
}

#[tokio::test]
async fn a_filter_out_of_range_is_refused_with_its_name() {
    let stage = Stage::open().await;
    let operator = stage.staff("operator@acme.test").await;
    for (field, query) in [
        ("limit", "limit=1e9"),
        ("limit", "limit=201"),
        ("limit", "limit=0"),
        ("sort", "sort=id;drop"),
        ("status", "status=failed"),
        ("cursor", "cursor=n1"),
        ("from", "from=2026-01-01T00:00:00Z&to=2026-06-01T00:00:00Z"),
    ] {
        let answer = operator.get(&format!("/operations?{query}")).await;
        answer.refused(Code::FilterInvalid);
        assert_eq!(answer.json()["field"], field, "{query}");
    }
}
