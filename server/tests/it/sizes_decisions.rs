//! The pages on which people decide stay within the bounds of all pages (`sizes`), whatever was written:
//! forms, a request for a second person, a receipt, an incident; and those that gather many records.

use axum::http::StatusCode;
use engine::store::kind::KindPolicy;
use serde_json::json;

use crate::{
    forms::{input, leads_to},
    sizes::{HEAVY, bounded, heavy_operation, sql},
    support::{Browser, Stage, charge},
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
    stage.refundable().await;
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

/// A reveal that a person asks for by the form, and where it is shown.
async fn revealed(by: &Browser<'_>, kind: &str, path: &str) -> String {
    let form = by.get(&format!("{path}/reveal")).await.text();
    let id = path.rsplit('/').next().unwrap();
    let key = input(&form, "form_key");
    let fields = [
        ("target_type", kind),
        ("id", id),
        ("form_key", key.as_str()),
        ("reason", "the bank asks"),
    ];
    leads_to(&by.post("/act/records/reveal", &fields).await, "/reveals/")
}

#[tokio::test]
async fn a_reveal_of_the_largest_values_stays_within_its_bound_and_says_what_it_leaves_out() {
    let stage = Stage::open().await;
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    let kind = KindPolicy { masked_pointers: vec!["/memo".into()], ..charge() };
    admin.put_kind(tenant, &kind).await.unwrap();
    let service = stage.service("acme").await;
    let charge = |invoice: &str, memo: &str| json!({ "invoice_id": invoice, "amount_minor": 12_900, "currency": "EUR", "memo": memo });
    let reserve = json!({
        "operation": "invoice.charge", "key": "INV-1", "payload": charge("INV-1", &heavy(250_000)),
    });
    let first = service.post("/operations", &reserve).await;
    first.expect(StatusCode::CREATED);
    let path = format!("/operations/{}", first.json()["id"].as_str().unwrap());
    let approver = stage.browser("approver@acme.test").await;
    let page = bounded(&approver, &revealed(&approver, "operation", &path).await).await;
    // Of the value, a quote and 250,000 signs and a quote, the first 800 bytes are shown.
    assert!(page.contains("249202 more bytes are left out."), "what is left out is counted");
    assert!(page.contains(&format!("POST /api/v1{path}/actions/reveal")), "the way to the rest");
    let program = stage.staff("approver@acme.test").await;
    let whole = program
        .post(&format!("{path}/actions/reveal"), &json!({ "reason": "the bank asks" }))
        .await;
    let value = whole.json()["bodies"][0]["fields"][0]["value"].as_str().unwrap().to_owned();
    assert_eq!(value.len(), 250_002, "which has all of it");

    let now: chrono::DateTime<chrono::Utc> = sqlx::query_scalar("select onceover_now()")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    let message = |signs: usize| {
        json!({
            "consumer": "billing", "source": "orders", "message_id": "m-1", "produced_at": now,
            "payload": charge("INV-2", &heavy(signs)),
            "then": { "operation": { "operation": "invoice.charge", "payload": charge("INV-2", "short") } },
        })
    };
    assert!(service.post("/inbox", &message(50_000)).await.status.is_success());
    for more in 1..=8 {
        let other = service.post("/inbox", &message(50_000 + more)).await;
        other.refused(domain::problem::Code::MessageReused);
    }
    let list = approver.get("/inbox").await.text();
    let id = list.split("href=\"/inbox/").nth(1).unwrap().split('"').next().unwrap();
    let place = revealed(&approver, "inbox", &format!("/inbox/{id}")).await;
    let page = bounded(&approver, &place).await;
    assert!(page.contains("1 to 4 of "), "the others are said to be there");
    let next = bounded(&approver, &format!("{place}?bodies=5")).await;
    assert!(next.contains("5 to 8 of ") && next.contains("Same id, other content"));
}
