//! The agent's draft, written by a model behind the engine's own trait: whatever happens to processes
//! afterwards, a decision that was carried out is not asked for again (I13).

use std::sync::Arc;

use engine::{
    Engine, Settings,
    background::Worker,
    provider::{Model, StandIn},
    store::kind::KindPolicy,
    workflows::{CAMPAIGN_AGENT, campaign_agent},
};
use serde_json::{Value, json};
use testkit::eventually;

use super::support::{Flow, all_done, draft, stage};
use crate::fixture::settings;

const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_is_asked_once_for_a_draft_however_many_processes_carry_the_agent_on() {
    let fixture = stage(vec![campaign_agent().unwrap()]).await;
    let mut admin = engine::identity::Admin::connect(&fixture.db.url()).await.unwrap();
    let written = KindPolicy { provider: Some("drafts".into()), ..draft() };
    admin.put_kind(fixture.service.tenant_id(), &written).await.unwrap();
    let model = Arc::new(StandIn::default());
    let process = async || {
        let models: Vec<(String, Arc<dyn Model>)> =
            vec![("drafts".into(), Arc::clone(&model) as _)];
        let settings =
            Settings { workflows: vec![campaign_agent().unwrap()], ..settings(&fixture.db) };
        Engine::connect_with_models(settings, models).await.unwrap()
    };
    let input = json!({
        "campaign_id": "CMP-1", "recipient_id": "R-1", "topic": "prices", "invoice_id": "INV-1",
        "amount_minor": 12_900, "currency": "EUR", "document_id": "DOC-1", "version": 1,
    });
    let mut flow = Flow::start(&fixture, CAMPAIGN_AGENT, "k", &input).await;
    flow.engine = process().await;
    flow.turn().await;
    let mut worker = Worker::new(&flow.engine, 4).unwrap();
    worker.claim_some().await.unwrap();
    eventually("the draft is written", LIMIT, async || {
        fixture
            .count("select count(*) from operations where operation = 'draft.generate' and status = 'succeeded'")
            .await
            == 1
    })
    .await;
    worker.drain(LIMIT).await;
    assert_eq!(model.calls(), 1);
    let text = async |engine: &Engine| {
        engine.artifact(&fixture.service, flow.id, "draft", "response").await.unwrap().body
    };
    let first = text(&flow.engine).await;

    // Three processes carry it on, each with a worker that could ask the model.
    for _ in 0..3 {
        let engine = process().await;
        engine.advance_workflows().await.unwrap();
        let mut worker = Worker::new(&engine, 4).unwrap();
        assert_eq!(worker.claim_some().await.unwrap().handled, 0, "nothing is left to ask");
        worker.drain(LIMIT).await;
        assert_eq!(text(&engine).await, first, "byte for byte");
    }
    flow.drive(&all_done).await;
    assert_eq!(flow.status().await, "completed");
    assert_eq!(model.calls(), 1, "one call of the model");
    let said: Value = serde_json::from_slice(&first).unwrap();
    let mailed: Vec<u8> =
        sqlx::query_scalar("select payload from operations where operation = 'campaign.send'")
            .fetch_one(fixture.pool())
            .await
            .unwrap();
    let mailed: Value = serde_json::from_slice(&mailed).unwrap();
    assert_eq!(mailed["text"], said["text"], "and what it said went out");
}
