//! Workflows on their pages: what a person must read there, and what no page may grow into.

use axum::http::StatusCode;
use engine::store::kind::KindPolicy;
use serde_json::{Value, json};

use crate::support::{Answer, Program, Stage, charge};

/// The most that a page may weigh.
const BOUND: usize = 300_000;

/// The kinds of the campaign's agent; the draft's text is masked.
async fn kinds(stage: &Stage) {
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    for name in ["draft.generate", "campaign.send", "document.publish"] {
        let masked = if name == "draft.generate" { vec!["/text".to_owned()] } else { vec![] };
        let kind = KindPolicy {
            name: name.into(),
            money: false,
            amount_pointer: None,
            currency_pointer: None,
            approval_threshold_minor: None,
            search_pointers: vec![],
            masked_pointers: masked,
            ..charge()
        };
        admin.put_kind(tenant, &kind).await.unwrap();
    }
}

async fn started(service: &Program<'_>) -> String {
    let input = json!({
        "campaign_id": "CMP-1", "recipient_id": "R-1", "topic": "prices",
        "invoice_id": "INV-1", "amount_minor": 12_900, "currency": "EUR",
        "document_id": "DOC-1", "version": 1,
    });
    let start = json!({ "kind": "campaign.agent", "key": "k", "input": input });
    let started = service.post("/workflows", &start).await;
    started.expect(StatusCode::CREATED);
    started.json()["id"].as_str().unwrap().to_owned()
}

/// Takes the first step, ends it, and returns its operation.
async fn draft(service: &Program<'_>, id: &str, finish: Value) -> String {
    let step = format!("/workflows/{id}/steps/draft");
    let taken = service.post(&format!("{step}/start"), &json!({})).await;
    taken.expect(StatusCode::CREATED);
    let taken = taken.json();
    let operation = taken["id"].as_str().unwrap().to_owned();
    let fence = json!({ "fence": taken["fence"] });
    service.post(&format!("/operations/{operation}/start"), &fence).await.expect(StatusCode::OK);
    let mut body = finish;
    body["fence"] = taken["fence"].clone();
    service.post(&format!("{step}/checkpoint"), &body).await.expect(StatusCode::OK);
    operation
}

async fn page(stage: &Stage, path: &str) -> String {
    let page = stage.browser("viewer@acme.test").await.get(path).await;
    page.expect(StatusCode::OK);
    let text = page.text();
    assert!(text.len() < BOUND, "{path}: {} bytes", text.len());
    text
}

#[tokio::test]
async fn a_step_in_doubt_is_called_unknown_and_nothing_is_called_undone() {
    let stage = Stage::open().await;
    kinds(&stage).await;
    let service = stage.service("acme").await;
    let id = started(&service).await;
    let operation = draft(&service, &id, json!({ "outcome": "ambiguous" })).await;
    stage.state.engine.advance_workflows().await.unwrap();
    let flow = page(&stage, &format!("/workflows/{id}")).await;
    assert!(flow.contains("whether draft happened is not known"), "{flow}");
    assert!(flow.contains("data-status=\"unknown\""));
    assert!(!flow.contains("Undone:") && !flow.contains("Completed:"));
    assert!(flow.contains(&format!("/operations/{operation}")));
    let back = page(&stage, &format!("/operations/{operation}")).await;
    assert!(back.contains(&format!("/workflows/{id}")), "the operation leads to its workflow");
    assert!(back.contains("step draft of campaign.agent"));
    for words in ["Step draft: started.", "Step draft: its outcome is unknown."] {
        assert!(back.contains(words), "its timeline tells of its step: {words}");
    }
    assert!(!back.contains("Step charge"), "and of no other");
    let list = page(&stage, "/workflows?status=waiting").await;
    assert!(list.contains(&format!("/workflows/{id}")));
}

#[tokio::test]
async fn a_workflow_of_three_hundred_steps_stays_within_its_bound_and_each_is_a_click_away() {
    let stage = Stage::open().await;
    kinds(&stage).await;
    let id = started(&stage.service("acme").await).await;
    sqlx::query(
        "insert into workflow_steps (tenant_id, workflow_id, step_key, position, after, status, move,
           move_actor_kind, move_actor)
         select w.tenant_id, w.id, 'more-' || lpad(n::text, 3, '0'), 100 + n, '{publish}', 'pending', 'S0',
           'engine', 'engine'
         from workflows w, generate_series(1, 300) n where w.id = $1::uuid",
    )
    .bind(&id)
    .execute(stage.database.owner_pool())
    .await
    .unwrap();
    let first = page(&stage, &format!("/workflows/{id}")).await;
    assert!(first.contains("1 to 40 of 305"), "what is left out is said to be");
    assert!(first.contains("more-001") && !first.contains("step-more-300"));
    let last = page(&stage, &format!("/workflows/{id}?steps=301")).await;
    assert!(last.contains("step-more-300"));
}

#[tokio::test]
async fn what_a_step_brought_forth_is_a_masked_download_and_no_document() {
    let stage = Stage::open().await;
    kinds(&stage).await;
    let service = stage.service("acme").await;
    let id = started(&service).await;
    let finish = json!({
        "outcome": "done", "external_reference": "ref_1",
        "response": { "body": { "text": "Dear customer", "subject": "Prices" } },
        "artifacts": [
            { "name": "../<b>notes</b>", "content_type": "text/html", "body": "{\"text\":\"hidden\",\"n\":1.10}" },
            { "name": "bytes", "content_type": "image/png", "body_base64": "AP8=" },
        ],
    });
    draft(&service, &id, finish).await;
    let flow = page(&stage, &format!("/workflows/{id}")).await;
    assert!(flow.contains("?step=draft&amp;name=..%2F%3Cb%3Enotes%3C%2Fb%3E"), "{flow}");
    let viewer = stage.browser("viewer@acme.test").await;
    let path = format!("/workflows/{id}/artifact?step=draft&name=");
    let saved = viewer.get(&format!("{path}..%2F%3Cb%3Enotes%3C%2Fb%3E")).await;
    saved.expect(StatusCode::OK);
    let is = |answer: &Answer, name: &str, value: &str| assert_eq!(answer.header(name), value);
    is(&saved, "content-type", "application/octet-stream");
    is(&saved, "x-content-type-options", "nosniff");
    is(&saved, "content-disposition", "attachment; filename=\"draft-..__b_notes__b_\"");
    let text = saved.text();
    assert!(!text.contains("hidden") && text.contains("1.10"), "{text}");
    // What cannot be masked is not given out.
    viewer.get(&format!("{path}bytes")).await.expect(StatusCode::FORBIDDEN);
    viewer.get(&format!("{path}none")).await.expect(StatusCode::NOT_FOUND);
    let globex = stage.browser("operator@globex.test").await;
    globex.get(&format!("{path}bytes")).await.expect(StatusCode::NOT_FOUND);
    stage.stranger().get(&format!("{path}bytes")).await.expect(StatusCode::SEE_OTHER);
}
