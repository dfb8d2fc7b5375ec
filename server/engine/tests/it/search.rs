//! One search over all records: exactly or by prefix, the exact ones first, bounded, and nothing of
//! another tenant.

use domain::{
    access::Role,
    ids::OperationId,
    money::Money,
    problem::Code,
    record::RecordType,
    view::{FoundGroup, Named, SearchView},
};
use engine::{FinishOutcome, NewEvent, StaffCaller};

use crate::{
    compensation,
    evidence::{self, webhook},
    fixture::{self, Fixture, PAYLOAD, add_tenant, code, done, happened, won},
    workflows::support::{Flow, all_done, input, line, stage},
};

async fn search(fixture: &Fixture, by: &StaffCaller, q: &str) -> SearchView {
    fixture.engine.search(by, q).await.unwrap()
}

fn types(view: &SearchView) -> Vec<RecordType> {
    view.groups.iter().map(|group| group.record).collect()
}

fn group(view: &SearchView, record: RecordType) -> &FoundGroup {
    let group = view.groups.iter().find(|group| group.record == record);
    group.unwrap_or_else(|| panic!("no {record:?}: {view:?}"))
}

/// An operation that happened, told of it, and was asked for again with another payload.
async fn charged(fixture: &Fixture, key: &str) -> OperationId {
    let payload = PAYLOAD.replace("INV-1", "INV-2026-0042");
    let (id, fence) = won(fixture.reserve_as(key, &payload).await.unwrap());
    let other = payload.replace("12900", "19200");
    assert_eq!(code(fixture.reserve_as(key, &other).await), Code::KeyReused);
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    let told = NewEvent {
        aggregate: "INV-2026-0042".into(),
        topic: "invoice.paid".into(),
        payload: b"{}".to_vec(),
    };
    let finish = engine::Finish {
        events: vec![told],
        ..fixture::finish(fence, FinishOutcome::Done, Some("ch_0042"))
    };
    fixture.engine.finish(&fixture.service, id, finish).await.unwrap();
    id
}

#[tokio::test]
async fn one_search_finds_each_kind_of_record_by_what_people_know_of_it() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let id = charged(&fixture, "charge 0042").await;
    fixture.expect(&fixture.message("m-0042").await, domain::inbox::InboxState::Processed).await;

    let view = search(&fixture, &viewer, " INV-2026-0042 ").await;
    assert_eq!(types(&view), [RecordType::Operation, RecordType::Event, RecordType::Conflict]);
    let row = &group(&view, RecordType::Operation).rows[0];
    assert_eq!((row.id.as_str(), row.key.as_str()), (&*id.to_string(), "charge 0042"));
    assert_eq!(row.reference.as_deref(), Some("ch_0042"));
    assert_eq!(row.amount, Some(Money { amount_minor: 12_900, currency: "EUR".into() }));
    assert!(row.exact, "the whole search term");
    assert_eq!(group(&view, RecordType::Conflict).rows[0].key, "charge 0042");

    for (q, exact) in [("charge 0042", true), ("charge", false), ("ch_0042", true), ("ch_0", false)]
    {
        let view = search(&fixture, &viewer, q).await;
        let row = &group(&view, RecordType::Operation).rows[0];
        assert_eq!((row.id.as_str(), row.exact), (&*id.to_string(), exact), "{q}");
    }
    let view = search(&fixture, &viewer, "m-0042").await;
    assert_eq!(types(&view), [RecordType::Message]);
    for q in ["harge 0042", "2026-0042", "%", "no such thing"] {
        assert!(search(&fixture, &viewer, q).await.groups.is_empty(), "{q}: never within a word");
    }
    let view = search(&fixture, &viewer, "129,00 EUR").await;
    assert_eq!(view.amount, Some(Money { amount_minor: 12_900, currency: "EUR".into() }));
    assert_eq!(group(&view, RecordType::Operation).rows.len(), 2, "the message led to one, too");
}

#[tokio::test]
async fn a_whole_id_names_one_thing_and_the_beginning_of_one_names_none() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, version) = fixture.needs_person("k").await;
    let text = id.to_string();
    for q in [text.clone(), text.replace('-', ""), text.to_uppercase()] {
        let view = search(&fixture, &viewer, &q).await;
        assert_eq!(view.named, Some(Named::Record(RecordType::Operation, text.clone())), "{q}");
    }
    let view = search(&fixture, &viewer, &text[..18]).await;
    assert_eq!((view.named.clone(), view.whole_id), (None, false));
    assert_eq!(group(&view, RecordType::Operation).rows[0].id, text);

    let receipt = done(fixture.engine.act(&operator, happened(id, version, "ch_1")).await).receipt;
    let view = search(&fixture, &viewer, &receipt.id.to_string()).await;
    assert_eq!(view.named, Some(Named::Receipt(receipt.id)));
    assert!(view.groups.is_empty(), "the action is no operation of a service");

    let event: uuid::Uuid = sqlx::query_scalar("select id from outbox limit 1")
        .fetch_one(fixture.pool())
        .await
        .unwrap();
    let view = search(&fixture, &viewer, &event.to_string()).await;
    assert_eq!(view.named, Some(Named::Record(RecordType::Event, event.to_string())));
}

#[tokio::test]
async fn a_search_is_bounded_and_what_is_exact_stands_first() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    fixture.reserve("batch-1").await;
    for n in 0..14 {
        fixture.reserve(&format!("batch-1{n:02}")).await;
    }
    let view = search(&fixture, &viewer, "batch-1").await;
    let found = group(&view, RecordType::Operation);
    assert_eq!((found.rows.len(), found.more), (10, true));
    assert_eq!((found.rows[0].key.as_str(), found.rows[0].exact), ("batch-1", true));
    assert!(found.rows[1..].iter().all(|row| !row.exact));

    for q in ["", "  ", "b", "ba"] {
        let view = search(&fixture, &viewer, q).await;
        assert!(view.too_short && view.groups.is_empty(), "{q:?}");
    }
    let long = "x".repeat(2_001);
    assert_eq!(code(fixture.engine.search(&viewer, &long).await), Code::FilterInvalid);
    assert_eq!(code(fixture.engine.search(&viewer, "a\0bc").await), Code::FilterInvalid);
}

#[tokio::test]
async fn a_search_finds_nothing_of_another_tenant_and_a_masked_term_by_the_whole_value_alone() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let card = PAYLOAD.replace("}", r#","card":"4111-0001"}"#);
    let (id, _) = won(fixture.reserve_as("with a card", &card).await.unwrap());
    let row = |view: &SearchView| group(view, RecordType::Operation).rows[0].id.clone();
    assert_eq!(row(&search(&fixture, &viewer, "4111-0001").await), id.to_string());
    assert!(search(&fixture, &viewer, "4111-000").await.groups.is_empty());

    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let gil = fixture::person(&fixture.db, &fixture.engine, "globex", "gil", Role::Auditor).await;
    for q in ["with a card", "INV-1", "129.00 EUR", "4111-0001", &id.to_string()] {
        let view = search(&fixture, &gil, q).await;
        assert!(view.groups.is_empty() && view.named.is_none(), "{q}");
    }
}

#[tokio::test]
async fn a_search_finds_a_workflow_by_its_key_and_the_operations_of_its_steps() {
    let fixture = stage(vec![line()]).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let flow = Flow::start(&fixture, "line", "campaign 7", &input()).await;
    flow.drive(&all_done).await;
    for (q, exact) in [("campaign 7", true), ("campai", false)] {
        let view = search(&fixture, &viewer, q).await;
        assert_eq!(types(&view), [RecordType::Operation, RecordType::Workflow], "{q}");
        let row = &group(&view, RecordType::Workflow).rows[0];
        assert_eq!((row.id.as_str(), row.key.as_str()), (&*flow.id.to_string(), "campaign 7"));
        assert_eq!(row.exact, exact, "{q}");
        let steps = &group(&view, RecordType::Operation).rows;
        assert_eq!(steps.len(), 3, "{q}");
        assert!(
            steps.iter().all(|row| !row.exact),
            "{q}: the workflow is called that, they are not"
        );
    }
    let view = search(&fixture, &viewer, &flow.id.to_string()).await;
    assert_eq!(view.named, Some(Named::Record(RecordType::Workflow, flow.id.to_string())));
}

#[tokio::test]
async fn a_search_finds_the_undo_the_request_and_the_incident_about_what_it_finds() {
    let fixture = compensation::support::fixture().await;
    let people = compensation::decisions::people(&fixture).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let (undo, _) = compensation::decisions::failed(&fixture, &people).await;
    let id = async |sql: &'static str| -> String {
        sqlx::query_scalar(sql).fetch_one(fixture.pool()).await.unwrap()
    };
    let charge = id("select operation_id::text from compensations").await;
    webhook(&fixture, &evidence::done("e-1", &charge, "ch_other", 12_900)).await;
    let request = id("select id::text from approvals").await;
    let incident =
        id("select id::text from incidents where cause = 'double_effect_suspected'").await;
    let expected = [
        (RecordType::Compensation, undo.to_string()),
        (RecordType::Approval, request),
        (RecordType::Incident, incident),
    ];
    // By what is known of the operation, and each by its own id.
    let view = search(&fixture, &viewer, "INV-1").await;
    for (record, id) in expected {
        let rows = &group(&view, record).rows;
        assert!(rows.iter().any(|row| row.id == id), "{record:?}: {rows:?}");
        let own = search(&fixture, &viewer, &id).await;
        assert_eq!(own.named, Some(Named::Record(record, id)));
    }
}
