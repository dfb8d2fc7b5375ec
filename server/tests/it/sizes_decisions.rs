//! The pages on which people decide stay within the bounds of all pages (`sizes`), whatever was written:
//! forms, a request for a second person, a receipt, an incident; and those that gather many records.

use axum::http::StatusCode;
use engine::store::kind::KindPolicy;
use serde_json::json;

use crate::{
    sizes::{HEAVY, bounded, heavy_operation, sql},
    support::{Stage, charge},
};

/// What was told of an operation until now, each at its limit.
const TOLD: [&str; 3] = [
    "insert into operation_events (tenant_id, operation_id, at, move, from_status, to_status, version, fence, attempt,
       actor_kind, actor, detail)
     select o.tenant_id, o.id, onceover_now() + n * interval '1 millisecond', 'O32', 'unknown', 'unknown', 100 + n, 1,
       1, 'staff', 'olga', jsonb_build_object('reason', 'event ' || n || repeat('&', 1900))
     from operations o, generate_series(1, 200) n where o.id = $1::uuid",
    "insert into evidence (tenant_id, operation_id, at, source, says, text, actor_kind, actor)
     select o.tenant_id, o.id, onceover_now() + n * interval '1 millisecond', 'staff', 'statement',
       'evidence ' || n || repeat('&', 3900), 'staff', 'olga'
     from operations o, generate_series(1, 100) n where o.id = $1::uuid",
    "insert into notes (tenant_id, operation_id, staff_id, author, form_key, text)
     select o.tenant_id, o.id, s.id, 'olga', 'k-' || o.id || '-' || n, 'note ' || n || repeat('&', 3900)
     from operations o, (select id from staff limit 1) s, generate_series(1, 100) n where o.id = $1::uuid",
];

/// A text of so many signs, each of which takes five bytes in a page.
fn heavy(signs: usize) -> String {
    HEAVY.to_string().repeat(signs)
}

async fn tell(stage: &Stage, id: &str) {
    for statement in TOLD {
        sql(stage, statement, id).await;
    }
}

#[tokio::test]
async fn the_forms_of_a_decision_stay_within_their_bound() {
    let stage = Stage::open().await;
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    let refund = KindPolicy {
        name: "invoice.refund".into(),
        undo_reference_member: Some("charge_id".into()),
        search_pointers: vec![],
        ..charge()
    };
    let undoable = KindPolicy { undo_kind: Some("invoice.refund".into()), ..charge() };
    for kind in [refund, undoable] {
        admin.put_kind(tenant, &kind).await.unwrap();
    }
    let operator = stage.browser("operator@acme.test").await;
    let done = heavy_operation(&stage).await;
    let unknown = stage.unknown("acme", "INV-1").await;
    let confirmed = stage.unknown("acme", "INV-2").await;
    let program = stage.staff("operator@acme.test").await;
    let confirm = format!("/operations/{}/actions/confirm", confirmed.id);
    program.post(&confirm, &confirmed.confirm()).await.expect(StatusCode::OK);
    for id in [&done, &unknown.id, &confirmed.id] {
        tell(&stage, id).await;
    }
    for (id, verb) in [
        (&done, "compensate"),
        (&unknown.id, "confirm"),
        (&unknown.id, "reconcile"),
        (&confirmed.id, "correct"),
    ] {
        let page = bounded(&operator, &format!("/operations/{id}/{verb}")).await;
        assert!(page.contains("name=\"reason\""), "{verb}: the form is there");
    }
}

#[tokio::test]
async fn a_request_and_a_receipt_of_the_longest_words_stay_within_their_bound() {
    let stage = Stage::open().await;
    let program = stage.staff("operator@acme.test").await;
    let approver = stage.browser("approver@acme.test").await;
    let words = |outcome: &str, version: i64| {
        json!({
            "version": version, "outcome": outcome, "reason": heavy(1_990), "evidence": heavy(3_900),
        })
    };
    let target = stage.unknown("acme", "INV-1").await;
    // Past the time in which the provider may still be working on it.
    stage.database.advance_clock(std::time::Duration::from_secs(20)).await;
    let confirm = format!("/operations/{}/actions/confirm", target.id);
    let asked = program.post(&confirm, &words("not_happened_stop", target.version)).await;
    asked.expect(StatusCode::ACCEPTED);
    tell(&stage, &target.id).await;
    // What was told stands after the request.
    stage.database.advance_clock(std::time::Duration::from_secs(10)).await;
    let request = format!("/approvals/{}", asked.json()["id"].as_str().unwrap());
    for page in [request.clone(), format!("{request}/approve")] {
        let page = bounded(&approver, &page).await;
        assert!(page.contains("event 200&"), "what moved since stands there");
    }
    bounded(&approver, "/approvals").await;

    let target = stage.unknown("acme", "INV-2").await;
    let confirm = format!("/operations/{}/actions/confirm", target.id);
    let mut happened = words("happened", target.version);
    happened["external_reference"] = json!("ch_1");
    let acted = program.post(&confirm, &happened).await;
    acted.expect(StatusCode::OK);
    bounded(&approver, &format!("/receipts/{}", acted.json()["id"].as_str().unwrap())).await;
}

#[tokio::test]
async fn an_incident_about_records_with_long_stories_stays_within_its_bound() {
    let stage = Stage::open().await;
    let program = stage.staff("operator@acme.test").await;
    let mut records = Vec::new();
    for n in 0..10 {
        let target = stage.unknown("acme", &format!("INV-{n}")).await;
        tell(&stage, &target.id).await;
        records.push(format!("operation/{}", target.id));
    }
    let id = uuid::Uuid::now_v7();
    let open = json!({
        "id": id, "summary": heavy(150), "reason": heavy(1_990), "records": records,
    });
    program.post("/incidents", &open).await.expect(StatusCode::OK);
    let operator = stage.browser("operator@acme.test").await;
    for place in ["", "/close", "?timeline=1000"] {
        bounded(&operator, &format!("/incidents/{id}{place}")).await;
    }
    bounded(&operator, "/incidents").await;
}

#[tokio::test]
async fn the_first_page_a_search_and_a_bulk_over_the_longest_keys_stay_within_their_bound() {
    let stage = Stage::open().await;
    let first = stage.unknown("acme", "INV-1").await;
    for (statement, by) in [
        ("alter table operations disable trigger user", None),
        (
            "insert into operations (tenant_id, operation, key, hash, hash_version, status, amount_minor, currency,
               payload, attempt, max_attempts, needs_manual, unknown_since, created_by_kind, created_by)
             select tenant_id, operation, rpad('heavy-' || lpad(n::text, 3, '0') || '-', 512, 'x'), hash, 1, 'unknown',
               12900 + n, 'EUR', payload, 1, 3, true, onceover_now(), 'service', 'x'
             from operations, generate_series(1, 300) n where id = $1::uuid",
            Some(&first.id),
        ),
        ("alter table operations enable trigger user", None),
    ] {
        let statement = sqlx::query(statement);
        let statement = match by {
            Some(id) => statement.bind(id),
            None => statement,
        };
        statement.execute(stage.database.owner_pool()).await.unwrap();
    }
    let operator = stage.browser("operator@acme.test").await;
    for place in ["/", "/?cause=unknown_outcome", "/search?q=heavy-", "/operations?q=heavy-"] {
        assert!(bounded(&operator, place).await.contains("heavy-"), "{place}");
    }

    let program = stage.staff("operator@acme.test").await;
    let all =
        json!({ "list": "operations", "verb": "reconcile", "filter": { "status": "unknown" } });
    let frozen = program.post("/bulks", &all).await;
    frozen.expect(StatusCode::CREATED);
    let place = frozen.header("location").trim_start_matches("/api/v1").to_owned();
    while stage.state.engine.advance_bulks().await.unwrap().handled > 0 {}
    for path in [place.clone(), format!("{place}?standing=eligible"), format!("{place}/run")] {
        bounded(&operator, &path).await;
    }
    assert!(bounded(&operator, &place).await.contains("heavy-"));
    bounded(&operator, "/bulks").await;
}
