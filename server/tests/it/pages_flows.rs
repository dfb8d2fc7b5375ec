//! Workflows on their pages: what a person must read there, and what no page may grow into.

use axum::http::StatusCode;
use engine::store::kind::KindPolicy;
use serde_json::{Value, json};

use crate::{
    pages_records::{has, says},
    support::{Answer, Program, Stage, charge},
};

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
    step(service, id, "draft", finish).await
}

/// Takes a step, ends it, and returns its operation.
async fn step(service: &Program<'_>, id: &str, key: &str, finish: Value) -> String {
    let step = format!("/workflows/{id}/steps/{key}");
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

/// The part of a page between two marks.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let rest = page.split_once(from).unwrap_or_else(|| panic!("no {from}: {page}")).1;
    rest.split_once(to).unwrap_or_else(|| panic!("no {to} after {from}")).0
}

/// A row of the waterfall, by its step.
fn bar_of<'a>(page: &'a str, key: &str) -> &'a str {
    between(page, &format!("id=\"step-{key}\""), "waterfall-took")
}

/// The words of a row of the waterfall after its bar.
fn took<'a>(page: &'a str, key: &str) -> &'a str {
    let row = page.split_once(&format!("id=\"step-{key}\"")).unwrap().1;
    between(row, "waterfall-took", "</span>")
}

async fn go_on(stage: &Stage) {
    while stage.state.engine.advance_workflows().await.unwrap().handled > 0 {}
}

#[tokio::test]
async fn the_waterfall_draws_what_began_and_says_what_waits_for_what() {
    let stage = Stage::open().await;
    kinds(&stage).await;
    let service = stage.service("acme").await;
    let id = started(&service).await;
    let path = format!("/workflows/{id}");
    let text = json!({ "body": { "text": "Dear customer", "subject": "Prices" } });
    draft(&service, &id, json!({ "outcome": "done", "external_reference": "d", "response": text }))
        .await;
    go_on(&stage).await;
    let mail = format!("{path}/steps/mail");
    service.post(&format!("{mail}/start"), &json!({})).await.expect(StatusCode::CREATED);

    let page = page(&stage, &path).await;
    assert!(page.contains("class=\"waterfall\""), "{page}");
    let places: Vec<_> = ["draft", "decide", "mail", "charge", "publish"]
        .iter()
        .map(|key| page.find(&format!("id=\"step-{key}\"")).unwrap())
        .collect();
    assert!(places.is_sorted(), "in the definition's order: {places:?}");
    for (key, status, is_drawn) in [
        ("draft", "succeeded", true),
        ("mail", "executing", true),
        ("charge", "executing", true),
        ("publish", "reserved", false),
    ] {
        let row = bar_of(&page, key);
        assert!(row.contains(&format!("data-status=\"{status}\"")), "{key}: {row}");
        assert_eq!(row.contains("chart-bar"), is_drawn, "{key}: {row}");
    }
    assert!(
        took(&page, "publish").contains("after charge, decide, mail"),
        "{}",
        took(&page, "publish")
    );
    assert!(took(&page, "mail").contains("since "), "{}", took(&page, "mail"));
}

/// A charge that happened and that two people want undone: the page of its undo.
async fn undoing(stage: &Stage, key: &str) -> String {
    let target = stage.unknown("acme", key).await;
    let operator = stage.staff("operator@acme.test").await;
    let of = format!("/operations/{}", target.id);
    let confirmed = operator.post(&format!("{of}/actions/confirm"), &target.confirm()).await;
    confirmed.expect(StatusCode::OK);
    let version = operator.get(&of).await.json()["version"].clone();
    let ask = json!({ "version": version, "reason": "sent back" });
    let asked = operator.post(&format!("{of}/actions/compensate"), &ask).await;
    asked.expect(StatusCode::ACCEPTED);
    let agree = format!("/approvals/{}/actions/approve", asked.json()["id"].as_str().unwrap());
    let approver = stage.staff("approver@acme.test").await;
    approver.post(&agree, &json!({ "version": 1, "reason": "seen" })).await.expect(StatusCode::OK);
    let undo = operator.get(&of).await.json()["plan"]["undone"][0]["undo"]["id"].clone();
    format!("/compensations/{}", undo.as_str().unwrap())
}

/// A worker takes the one refund that waits, and its call ends.
async fn refund(service: &Program<'_>, outcome: &str) {
    let claim = json!({ "kinds": ["invoice.refund"], "max": 10 });
    let work = service.post("/operations/claim", &claim).await.json()["items"][0].clone();
    let undo = format!("/operations/{}", work["id"].as_str().unwrap());
    let fence = json!({ "fence": work["fence"] });
    service.post(&format!("{undo}/start"), &fence).await.expect(StatusCode::OK);
    let mut finish = json!({ "fence": work["fence"], "outcome": outcome });
    if outcome == "done" {
        finish["external_reference"] = json!("re_1");
    }
    service.post(&format!("{undo}/finish"), &finish).await.expect(StatusCode::OK);
}

#[tokio::test]
async fn an_undo_is_called_running_unknown_or_failed_and_never_undone_before_it_is() {
    let stage = Stage::open().await;
    stage.refundable().await;
    let service = stage.service("acme").await;
    let operator = stage.browser("operator@acme.test").await;
    let running = "It is being undone; whether that succeeds is not known yet.";
    let retry = "Try the undo again";

    let stuck = undoing(&stage, "INV-1").await;
    let page = says(&operator, &stuck).await;
    has(&page, &["INV-1", running]);
    assert!(!page.contains("Undone:") && !page.contains(retry), "{page}");
    refund(&service, "rejected").await;
    let page = says(&operator, &stuck).await;
    has(
        &page,
        &[
            "The provider refused the undo, and it is not tried again by itself",
            "what it should undo stays done until somebody decides.",
            "Try 1 did not happen: the provider refused it.",
            retry,
            "Accept: it stays done",
        ],
    );
    assert!(!page.contains("Undone:") && !page.contains(running), "{page}");

    let unknown = undoing(&stage, "INV-2").await;
    refund(&service, "ambiguous").await;
    let page = says(&operator, &unknown).await;
    has(&page, &["Whether the undo happened is not known"]);
    assert!(!page.contains("Undone:") && !page.contains(running), "{page}");

    let over = undoing(&stage, "INV-3").await;
    refund(&service, "done").await;
    has(&says(&operator, &over).await, &["Undone: the undo happened."]);
}

#[tokio::test]
async fn a_plan_says_before_it_runs_what_would_be_undone_in_which_order_and_what_stays_done() {
    let stage = Stage::open().await;
    kinds(&stage).await;
    stage.refundable().await;
    let service = stage.service("acme").await;
    let id = started(&service).await;
    let path = format!("/workflows/{id}");
    let text = json!({ "body": { "text": "Dear customer", "subject": "Prices" } });
    draft(&service, &id, json!({ "outcome": "done", "external_reference": "d", "response": text }))
        .await;
    go_on(&stage).await;
    let charged =
        step(&service, &id, "charge", json!({ "outcome": "done", "external_reference": "ch_1" }))
            .await;
    step(&service, &id, "mail", json!({ "outcome": "ambiguous" })).await;
    go_on(&stage).await;

    // The same plan on the form that asks, and on the workflow's own page.
    let operator = stage.browser("operator@acme.test").await;
    for place in [format!("{path}/cancel"), path.clone()] {
        let page = operator.get(&place).await;
        page.expect(StatusCode::OK);
        let page = page.text();
        assert!(page.contains("What would be undone, in this order"), "{place}: {page}");
        assert!(page.contains("this is no plan by which all is undone"), "{place}: {page}");
        let plan = between(&page, "class=\"plan\"", "</ol>");
        let rows: Vec<_> = plan.split("<li").skip(1).collect();
        let of = |step: &str| {
            let name = format!(">{step}<");
            rows.iter()
                .position(|row| row.contains(&name))
                .unwrap_or_else(|| panic!("{step}: {plan}"))
        };
        let (mail, charge, draft) = (of("mail"), of("charge"), of("draft"));
        assert!(
            mail < charge && charge < draft,
            "what is awaited, then the last step first: {plan}"
        );
        assert!(rows[mail].contains("waited for first"), "{}", rows[mail]);
        assert!(rows[charge].contains("would be undone by invoice.refund"), "{}", rows[charge]);
        assert!(rows[charge].contains("129.00") && rows[charge].contains(&charged), "{plan}");
        assert!(rows[draft].contains("stays done: "), "{}", rows[draft]);
        assert!(!page.contains("were undone") && !page.contains("Undone:"), "{place}");
    }

    // Of one operation alone the plan stands on the form that asks for its undo.
    let alone = stage.unknown("acme", "INV-2").await;
    let confirm = format!("/operations/{}/actions/confirm", alone.id);
    let program = stage.staff("operator@acme.test").await;
    program.post(&confirm, &alone.confirm()).await.expect(StatusCode::OK);
    let form = operator.get(&format!("/operations/{}/compensate", alone.id)).await;
    form.expect(StatusCode::OK);
    let form = form.text();
    assert!(form.contains("What would be undone"), "{form}");
    let plan = between(&form, "class=\"plan\"", "</ol>");
    assert!(
        plan.contains("would be undone by invoice.refund") && plan.contains("129.00"),
        "{plan}"
    );
}
