//! Workflows that are undone, driven call by call: the executor, the unwinder and the workers each
//! take their turns, and a ledger says what was really done and undone, in order.

use std::cell::RefCell;

use domain::{
    compensation::CompensationState,
    ids::{OperationId, WorkflowId},
    view::{CompensationPlan, UndoView},
};
use engine::{
    Engine, FinishOutcome, Settings,
    compensation::plan_of_workflow,
    store::{kind::KindPolicy, workflow::Address},
    workflows::{Begun, Definition, Step},
};
use serde_json::Value;
use sqlx::PgConnection;
use testkit::TestDatabase;

use super::support::as_console;
use crate::fixture::{Fixture, add_tenant, finish, mail, settings};

pub fn booking() -> KindPolicy {
    KindPolicy {
        name: "booking.make".into(),
        undo_kind: Some("booking.cancel".into()),
        search_pointers: Vec::new(),
        ..mail()
    }
}

pub fn cancellation() -> KindPolicy {
    KindPolicy {
        name: "booking.cancel".into(),
        undo_kind: None,
        undo_reference_member: Some("booking_id".into()),
        ..booking()
    }
}

fn book() -> Step {
    Step::operation("booking.make", |context| Ok(context.input().clone()))
}

/// Bookings one after the other: `s1`, `s2`, …
pub fn trip(steps: usize) -> Definition {
    let mut trip = Definition::of("trip", 1);
    for n in 1..=steps {
        let before = format!("s{}", n - 1);
        let step = if n == 1 { book() } else { book().after(&[&before]) };
        trip = trip.step(&format!("s{n}"), step);
    }
    trip.build().unwrap()
}

/// `first`, then `left` and `right` side by side.
pub fn fork() -> Definition {
    Definition::of("fork", 1)
        .step("first", book())
        .step("left", book().after(&["first"]))
        .step("right", book().after(&["first"]))
        .build()
        .unwrap()
}

/// A booking, a mail that nothing can undo, and another booking.
pub fn mailed() -> Definition {
    Definition::of("mailed", 1)
        .step("s1", book())
        .step("mail", Step::operation("campaign.send", |c| Ok(c.input().clone())).after(&["s1"]))
        .step("s2", book().after(&["mail"]))
        .build()
        .unwrap()
}

/// A database, and an engine that has these definitions.
pub async fn stage(definitions: Vec<Definition>) -> Fixture {
    let db = TestDatabase::create().await;
    let all = Settings { workflows: definitions, ..settings(&db) };
    let engine = Engine::connect(all).await.unwrap();
    let service = add_tenant(&db, &engine, "acme").await;
    let fixture = Fixture { db, engine, service };
    super::support::put_kind(&fixture, &booking()).await;
    super::support::put_kind(&fixture, &cancellation()).await;
    fixture
}

/// One workflow, and what was really done for it.
pub struct Flow<'a> {
    pub fixture: &'a Fixture,
    pub id: WorkflowId,
    /// Effects in the order in which they happened: `do s1`, `undo s1`.
    pub ledger: RefCell<Vec<String>>,
    /// Calls that were begun and are not over, by `do s1` or `undo s1`.
    pub open: RefCell<Vec<(String, OperationId, i64)>>,
}

/// What becomes of a call; `None` leaves it under way.
pub type Script<'a> = &'a dyn Fn(&str) -> Option<FinishOutcome>;

pub fn done(_: &str) -> Option<FinishOutcome> {
    Some(FinishOutcome::Done)
}

impl<'a> Flow<'a> {
    pub async fn start(fixture: &'a Fixture, kind: &str, key: &str) -> Self {
        let begun = fixture
            .engine
            .start_workflow(&fixture.service, kind, key, b"{\"guest\":\"g-1\"}")
            .await;
        let Begun::Fresh(id) = begun.unwrap() else { panic!("not the first") };
        Self { fixture, id, ledger: RefCell::default(), open: RefCell::default() }
    }

    /// Turns of everybody until nothing moves any more.
    pub async fn drive(&self, script: Script<'_>) {
        for _ in 0..200 {
            let engine = &self.fixture.engine;
            let mut moved = engine.advance_workflows().await.unwrap().handled;
            moved += engine.unwind_due().await.unwrap().handled;
            moved += self.work(script).await;
            if moved == 0 {
                return;
            }
        }
        panic!("it does not come to rest");
    }

    /// Does what is queued, by the script.
    async fn work(&self, script: Script<'_>) -> u64 {
        let (engine, service) = (&self.fixture.engine, &self.fixture.service);
        let kinds = ["booking.make", "booking.cancel", "campaign.send"].map(str::to_owned);
        let work = engine.claim(service, &kinds, 100, None).await.unwrap();
        for work in &work {
            let step: String = sqlx::query_scalar("select step_key from operations where id = $1")
                .bind(work.id.uuid())
                .fetch_one(self.fixture.pool())
                .await
                .unwrap();
            let verb = if work.operation == "booking.cancel" { "undo" } else { "do" };
            let call = format!("{verb} {step}");
            engine.start(service, work.id, work.fence).await.unwrap();
            match script(&call) {
                Some(outcome) => self.end(&call, work.id, work.fence, outcome).await,
                None => self.open.borrow_mut().push((call, work.id, work.fence)),
            }
        }
        work.len() as u64
    }

    async fn end(&self, call: &str, id: OperationId, fence: i64, outcome: FinishOutcome) {
        let reference = (outcome == FinishOutcome::Done).then(|| format!("ref {call}"));
        if outcome == FinishOutcome::Done {
            self.ledger.borrow_mut().push(call.to_owned());
        }
        let finish = finish(fence, outcome, reference.as_deref());
        self.fixture.engine.finish(&self.fixture.service, id, finish).await.unwrap();
    }

    /// Ends a call that was left under way.
    pub async fn end_open(&self, call: &str, outcome: FinishOutcome) {
        let at = self.open.borrow().iter().position(|(open, ..)| open == call).unwrap();
        let (call, id, fence) = self.open.borrow_mut().remove(at);
        self.end(&call, id, fence, outcome).await;
    }

    pub fn ledger(&self) -> Vec<String> {
        self.ledger.borrow().clone()
    }

    pub async fn status(&self) -> String {
        sqlx::query_scalar("select status from workflows where id = $1")
            .bind(self.id.uuid())
            .fetch_one(self.fixture.pool())
            .await
            .unwrap()
    }

    pub async fn step(&self, key: &str) -> String {
        sqlx::query_scalar(
            "select status from workflow_steps where workflow_id = $1 and step_key = $2",
        )
        .bind(self.id.uuid())
        .bind(key)
        .fetch_one(self.fixture.pool())
        .await
        .unwrap()
    }

    pub async fn plan(&self) -> CompensationPlan {
        let at = Address { tenant: self.fixture.service.tenant_id(), id: self.id };
        as_console(self.fixture, async |db: &mut PgConnection| {
            plan_of_workflow(db, &self.fixture.engine.settings().limits, at).await
        })
        .await
        .unwrap()
    }

    /// The undo of a step, as a person sees it.
    pub async fn undo(&self, step: &str) -> Option<UndoView> {
        let plan = self.plan().await;
        let planned = plan.undone.into_iter().find(|p| p.step_key.as_deref() == Some(step));
        planned.and_then(|planned| planned.undo)
    }

    pub async fn undo_state(&self, step: &str) -> Option<CompensationState> {
        self.undo(step).await.map(|undo| undo.status)
    }

    /// Topics told of the workflow, in order.
    pub async fn told(&self) -> Vec<String> {
        super::support::told(self.fixture, &self.id.to_string()).await
    }

    /// What the last event says stays done.
    pub async fn stays_done(&self) -> Vec<String> {
        let payload: Vec<u8> = sqlx::query_scalar(
            "select payload from outbox where aggregate = $1 and topic = 'workflow.closed_partial'",
        )
        .bind(self.id.to_string())
        .fetch_one(self.fixture.pool())
        .await
        .unwrap();
        let payload: Value = serde_json::from_slice(&payload).unwrap();
        let stays = payload["stays_done"].as_array().unwrap();
        stays.iter().map(|step| step["step_key"].as_str().unwrap().to_owned()).collect()
    }
}

/// I14, over all workflows: "compensated" exactly where every step that happened has one undo that
/// happened, and what did not happen has none.
pub async fn undo_matches_do(fixture: &Fixture) {
    for wrong in [
        "select count(*) from workflows w join workflow_steps s on s.workflow_id = w.id
           where w.status = 'compensated' and s.status = 'succeeded' and s.operation is not null
             and (select count(*) from operations o join compensations c on c.undo_id = o.id
               where c.operation_id = s.operation_id and o.status = 'succeeded') <> 1",
        "select count(*) from workflow_steps s where s.status <> 'succeeded'
           and exists (select from compensations c where c.operation_id = s.operation_id)",
        "select count(*) from operations u join compensations c on c.undo_id = u.id
           join operations f on f.id = c.operation_id
           where u.created_at < f.completed_at",
    ] {
        assert_eq!(fixture.count(wrong).await, 0, "{wrong}");
    }
}
