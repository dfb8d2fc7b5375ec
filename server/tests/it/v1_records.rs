//! Events, conflicts, leases, incidents and the audit log over HTTP: each list reads its own filters
//! and refuses others', and each record of another tenant is none.

use axum::http::StatusCode;
use domain::problem::Code;
use serde_json::json;

use crate::support::Stage;

#[tokio::test]
async fn lists_of_records_are_asked_by_their_filters_and_span_no_tenants() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    stage.unknown("acme", "INV-1").await;
    service.reserve("INV-1", 200).await.refused(Code::KeyReused);
    service.reserve("INV-2", 100).await.expect(StatusCode::CREATED);
    let viewer = stage.staff("viewer@acme.test").await;
    let stranger = stage.staff("operator@globex.test").await;

    let leases = viewer.get("/leases?status=live&operation=invoice.charge").await.json();
    assert_eq!(leases["items"][0]["key"], "INV-2");
    assert_eq!(viewer.get("/leases?status=stale").await.json()["items"], json!([]));
    let conflicts = viewer.get("/conflicts?q=INV-1").await.json();
    assert_eq!(conflicts["items"][0]["count"], 1);
    let conflict = conflicts["items"][0]["id"].as_str().unwrap().to_owned();
    let shown = viewer.get(&format!("/conflicts/{conflict}")).await.json();
    assert_eq!((&shown["key"], &shown["status"]), (&json!("INV-1"), &json!("unknown")));
    assert!(shown["other"]["text"].as_str().unwrap().contains("200"));
    let events = viewer.get("/outbox?topic=operation.unknown&status=pending").await.json();
    let event = events["items"][0]["id"].as_str().unwrap().to_owned();
    let shown = viewer.get(&format!("/outbox/{event}")).await.json();
    assert_eq!(shown["order"]["head_seq"], 1);
    assert_eq!(shown["topic"], "operation.unknown");
    assert_eq!(viewer.get("/incidents?status=open").await.json()["items"], json!([]));

    for list in ["/outbox", "/conflicts", "/leases", "/incidents"] {
        assert_eq!(stranger.get(list).await.json()["items"], json!([]), "{list}");
        for query in ["limit=0", "limit=x", "cursor=x", "status=no", "sort=id", "q=a&q=b"] {
            let answer = viewer.get(&format!("{list}?{query}")).await;
            answer.refused(Code::FilterInvalid);
        }
    }
    for path in [format!("/outbox/{event}"), format!("/conflicts/{conflict}")] {
        stranger.get(&path).await.refused(Code::NotFound);
    }
    for list in ["/outbox", "/conflicts", "/incidents"] {
        viewer.get(&format!("{list}/no-id")).await.refused(Code::NotFound);
    }
}

#[tokio::test]
async fn the_audit_log_asks_for_its_right_and_keeps_who_was_refused() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    for email in ["viewer@acme.test", "operator@acme.test", "approver@acme.test"] {
        let denied = stage.audited("denied").await;
        let answer = stage.staff(email).await.get("/audit").await;
        answer.refused(Code::PermissionMissing);
        assert_eq!(answer.json()["missing"], "read_audit");
        assert_eq!(stage.audited("denied").await, denied + 1, "{email}");
    }
    let operator = stage.staff("operator@acme.test").await;
    let path = format!("/operations/{}/actions/confirm", target.id);
    operator.post(&path, &target.confirm()).await.expect(StatusCode::OK);
    for email in ["auditor@acme.test", "admin@acme.test"] {
        let log = stage.staff(email).await;
        let entry = log.get(&format!("/audit?verb=confirm&target={}", target.id)).await.json();
        assert_eq!(entry["items"][0]["actor"], "operator@acme.test", "{email}");
        assert_eq!(
            log.get("/audit?denied=true").await.json()["items"].as_array().unwrap().len(),
            3
        );
        log.get("/audit?denied=1").await.refused(Code::FilterInvalid);
    }
    testkit::threat("T32", 3, 0);
}
