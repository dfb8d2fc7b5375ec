//! Undoing by the JSON API: asked for by one person's program, agreed to by another's, read by both.

use axum::http::StatusCode;
use domain::problem::Code;
use serde_json::json;

use crate::support::Stage;

#[tokio::test]
async fn a_charge_is_given_back_by_two_people_and_the_failed_refund_is_accepted() {
    let stage = Stage::open().await;
    stage.refundable().await;
    let unknown = stage.unknown("acme", "INV-1").await;
    let operator = stage.staff("operator@acme.test").await;
    let approver = stage.staff("approver@acme.test").await;
    let of = format!("/operations/{}", unknown.id);
    operator
        .post(&format!("{of}/actions/confirm"), &unknown.confirm())
        .await
        .expect(StatusCode::OK);

    let shown = operator.get(&of).await.json();
    assert_eq!(shown["plan"]["undone"][0]["undo_kind"], "invoice.refund");
    let offers = |shown: &serde_json::Value| {
        let actions = shown["actions"].as_array().unwrap().clone();
        actions.iter().any(|offer| offer["verb"] == "compensate")
    };
    assert!(offers(&shown));
    let compensate = format!("{of}/actions/compensate");
    let ask = json!({
        "version": shown["version"], "reason": "sent back", "amount_minor": 5_000, "currency": "EUR",
    });
    let mut much = ask.clone();
    much["amount_minor"] = json!(12_901);
    let answer = operator.post(&compensate, &much).await;
    answer.refused(Code::Unprocessable);
    assert_eq!(answer.json()["field"], "amount_minor");
    let asked = operator.post(&compensate, &ask).await;
    asked.expect(StatusCode::ACCEPTED);
    let agree = format!("/approvals/{}/actions/approve", asked.json()["id"].as_str().unwrap());
    let agreed = approver.post(&agree, &json!({ "version": 1, "reason": "seen" })).await;
    agreed.expect(StatusCode::OK);
    assert_eq!(agreed.json()["verb"], "compensate");
    let again = operator.post(&compensate, &ask).await;
    again.expect(StatusCode::OK);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.json()["id"], agreed.json()["id"]);

    // The provider refuses the refund.
    let service = stage.service("acme").await;
    let claim = json!({ "kinds": ["invoice.refund"], "max": 10 });
    let work = service.post("/operations/claim", &claim).await.json();
    let work = &work["items"][0];
    assert_eq!(work["payload"]["amount_minor"], 5_000);
    let undo = format!("/operations/{}", work["id"].as_str().unwrap());
    let fence = &work["fence"];
    let begin = json!({ "fence": fence });
    service.post(&format!("{undo}/start"), &begin).await.expect(StatusCode::OK);
    let rejected = json!({ "fence": fence, "outcome": "rejected" });
    service.post(&format!("{undo}/finish"), &rejected).await.expect(StatusCode::OK);
    let shown = operator.get(&of).await.json();
    assert!(!offers(&shown), "there is never a second undo: what is left is decided on the first");
    let page = stage.browser("operator@acme.test").await.get(&of).await;
    assert!(!page.text().contains(&format!("{of}/compensate")), "{}", page.text());
    let link = &shown["plan"]["undone"][0]["undo"];
    assert_eq!(link["status"], "failed", "{link}");
    let on = format!("/compensations/{}/actions", link["id"].as_str().unwrap());
    let decide = json!({ "version": link["version"], "reason": "paid back in cash" });
    let single = operator.post(&format!("{on}/continue"), &decide).await;
    single.refused(Code::NotAllowedInState);
    let retry = operator.post(&format!("{on}/retry"), &decide).await;
    retry.expect(StatusCode::ACCEPTED);
    let viewer = stage.staff("viewer@acme.test").await;
    viewer.post(&format!("{on}/accept"), &decide).await.refused(Code::PermissionMissing);
    let accepted = operator.post(&format!("{on}/accept"), &decide).await;
    accepted.expect(StatusCode::OK);
    assert_eq!(accepted.json()["after"]["status"], "accepted_undone_not");
    let receipt = format!("/receipts/{}", accepted.json()["id"].as_str().unwrap());
    operator.get(&receipt).await.expect(StatusCode::OK);
}
