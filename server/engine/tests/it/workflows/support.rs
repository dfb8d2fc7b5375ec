//! A tenant with kinds, and definitions to carry out.

use engine::{
    Engine, Settings,
    store::kind::KindPolicy,
    workflows::{Definition, Step},
};
use serde_json::{Value, json};
use testkit::TestDatabase;

use crate::fixture::{Fixture, add_tenant, charge, mail, settings};

/// A kind that drafts; only services do it.
pub fn draft() -> KindPolicy {
    KindPolicy {
        name: "draft.generate".into(),
        provider: None,
        search_pointers: Vec::new(),
        ..mail()
    }
}

/// A kind that publishes.
pub fn publish() -> KindPolicy {
    KindPolicy {
        name: "document.publish".into(),
        publication: true,
        search_pointers: Vec::new(),
        ..mail()
    }
}

pub const KINDS: [&str; 4] =
    ["draft.generate", "campaign.send", "invoice.charge", "document.publish"];

/// One after the other: mail, charge, publish.
pub fn line() -> Definition {
    Definition::of("line", 1)
        .step("mail", effect("campaign.send"))
        .step("charge", effect("invoice.charge").after(&["mail"]))
        .step("publish", effect("document.publish").after(&["charge"]))
        .build()
        .unwrap()
}

/// A step whose payload is the workflow's input.
pub fn effect(kind: &str) -> Step {
    Step::operation(kind, |context| Ok(context.input().clone()))
}

pub fn input() -> Value {
    json!({ "invoice_id": "INV-1", "amount_minor": 12_900, "currency": "EUR" })
}

/// A database, and an engine that has these definitions.
pub async fn stage(definitions: Vec<Definition>) -> Fixture {
    let db = TestDatabase::create().await;
    let engine = with(&db, definitions).await;
    let service = add_tenant(&db, &engine, "acme").await;
    let mut admin = engine::identity::Admin::connect(&db.url()).await.unwrap();
    for kind in [draft(), publish(), mail(), charge()] {
        admin.put_kind(service.tenant_id(), &kind).await.unwrap();
    }
    Fixture { db, engine, service }
}

/// Another process on the same database.
pub async fn with(db: &TestDatabase, definitions: Vec<Definition>) -> Engine {
    Engine::connect(Settings { workflows: definitions, ..settings(db) }).await.unwrap()
}
