//! A tenant with kinds, definitions to carry out, and an executor that a test drives call by call.
//!
//! The executor is a service: it claims, starts, does the effect (a line in the test's own ledger)
//! and finishes. A crash is a call that is never made.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use domain::ids::WorkflowId;
use engine::{
    ClaimedWork, Engine, Finish, FinishOutcome, Finished, Settings, StoredAnswer,
    store::kind::KindPolicy,
    workflows::{Begun, Definition, ServiceWorkflow, Step},
};
use serde_json::{Value, json};
use testkit::TestDatabase;

use crate::fixture::{Fixture, add_tenant, charge, finish, mail, settings};

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

/// What a step's provider says, by the step's key.
pub type Script<'a> = &'a (dyn Fn(&str) -> FinishOutcome + Sync);

/// Everything succeeds.
pub fn all_done(_: &str) -> FinishOutcome {
    FinishOutcome::Done
}

/// A workflow under way, and the ledger of what was really done for it.
pub struct Flow<'a> {
    pub fixture: &'a Fixture,
    /// The executor of workflows; another process where a test wants one.
    pub engine: Engine,
    pub id: WorkflowId,
    /// Effects by operation key.
    pub ledger: Arc<Mutex<BTreeMap<String, u32>>>,
    /// Every call to the executor and to the engine is made twice, and compared.
    pub twice: bool,
}

impl<'a> Flow<'a> {
    pub async fn start(fixture: &'a Fixture, kind: &str, key: &str, input: &Value) -> Self {
        let input = input.to_string();
        let begun =
            fixture.engine.start_workflow(&fixture.service, kind, key, input.as_bytes()).await;
        let Begun::Fresh(id) = begun.unwrap() else { panic!("not the first") };
        let engine = fixture.engine.clone();
        Self { fixture, engine, id, ledger: Arc::default(), twice: false }
    }

    /// Gives every due workflow a turn, and says how many had one.
    pub async fn turn(&self) -> u64 {
        let handled = self.engine.advance_workflows().await.unwrap().handled;
        if self.twice {
            assert_eq!(self.engine.advance_workflows().await.unwrap().handled, 0, "nothing is due");
        }
        handled
    }

    /// Claims what is queued, of any kind.
    pub async fn claim(&self) -> Vec<ClaimedWork> {
        let kinds: Vec<String> =
            [draft(), publish(), mail(), charge()].into_iter().map(|kind| kind.name).collect();
        self.engine.claim(&self.fixture.service, &kinds, 100, None).await.unwrap()
    }

    /// Starts the call of a claimed operation, and does its effect.
    pub async fn do_effect(&self, work: &ClaimedWork) {
        let (engine, service) = (&self.engine, &self.fixture.service);
        engine.start(service, work.id, work.fence).await.unwrap();
        if self.twice {
            let again = engine.start(service, work.id, work.fence).await;
            assert_eq!(crate::fixture::code(again), domain::problem::Code::AlreadyStarted);
        }
        *self.ledger.lock().unwrap().entry(work.key.clone()).or_default() += 1;
    }

    /// Ends a call whose effect was done, or was not.
    pub async fn end(&self, work: &ClaimedWork, outcome: FinishOutcome) -> Finished {
        let end = ended(work, outcome);
        let (engine, service) = (&self.engine, &self.fixture.service);
        let first = engine.finish(service, work.id, end.clone()).await.unwrap();
        if self.twice {
            let again = engine.finish(service, work.id, end).await.unwrap();
            assert_eq!(first, again, "the same words, the same answer");
        }
        first
    }

    /// Carries one claimed operation out.
    pub async fn carry_out(&self, work: &ClaimedWork, outcome: FinishOutcome) {
        if outcome == FinishOutcome::Done {
            self.do_effect(work).await;
        } else {
            self.engine.start(&self.fixture.service, work.id, work.fence).await.unwrap();
        }
        self.end(work, outcome).await;
    }

    /// Turns and work until nothing is left to do.
    pub async fn drive(&self, script: Script<'_>) {
        for _ in 0..100 {
            let turned = self.turn().await;
            let work = self.claim().await;
            if turned == 0 && work.is_empty() {
                return;
            }
            for work in work {
                self.carry_out(&work, script(step_of(&work))).await;
            }
        }
        panic!("the workflow does not come to rest");
    }

    pub async fn view(&self) -> ServiceWorkflow {
        self.engine.workflow_for_service(&self.fixture.service, self.id).await.unwrap()
    }

    pub async fn status(&self) -> String {
        self.view().await.status.to_string()
    }

    /// The steps with their states, as the definition lists them.
    pub async fn steps(&self) -> Vec<(String, String)> {
        let view = self.view().await;
        view.steps.into_iter().map(|step| (step.step_key, step.status.to_string())).collect()
    }

    pub async fn step(&self, key: &str) -> String {
        let steps = self.steps().await;
        steps.into_iter().find(|(known, _)| known == key).unwrap().1
    }

    /// How often a step's effect was done.
    pub fn effects(&self, step: &str) -> u32 {
        let key = format!("wf:{}:{step}", self.id);
        self.ledger.lock().unwrap().get(&key).copied().unwrap_or_default()
    }

    /// Nothing of it is open, held, due or waiting for its turn.
    pub async fn leaves_a_clean_slate(&self) {
        for (what, sql) in [
            (
                "operations",
                "select count(*) from operations where completed_at is null and not console",
            ),
            ("leases", "select count(*) from leases"),
            ("steps", "select count(*) from workflow_steps where completed_at is null"),
            ("workflows", "select count(*) from workflows where completed_at is null"),
            ("turns", "select count(*) from workflows where next_at is not null"),
            ("holders", "select count(*) from workflows where lease_until is not null"),
        ] {
            assert_eq!(self.fixture.count(sql).await, 0, "{what}");
        }
    }
}

/// The step that claimed work belongs to.
pub fn step_of(work: &ClaimedWork) -> &str {
    work.key.rsplit(':').next().unwrap()
}

/// The end of a call, with what a provider answers.
pub fn ended(work: &ClaimedWork, outcome: FinishOutcome) -> Finish {
    let step = step_of(work);
    let reference = format!("ref_{step}");
    let done = outcome == FinishOutcome::Done;
    let mut end = finish(work.fence, outcome, done.then_some(reference.as_str()));
    end.response = done.then(|| StoredAnswer {
        status: 200,
        content_type: "application/json".into(),
        body: json!({ "id": reference, "text": "Dear customer, …", "n": 1 })
            .to_string()
            .into_bytes(),
        cut: false,
    });
    end
}
