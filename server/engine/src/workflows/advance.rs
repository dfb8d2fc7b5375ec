//! Carrying workflows on: one turn of a due workflow is one transaction, in which everything that
//! its finished steps allow is started, and nothing else (S1, S8, W2 to W5, W7).
//!
//! Guards against two executors doing one step twice: the loser finds the row locked or no longer
//! due and parks; and against a crash, which takes the whole turn back with it (F30).

use domain::{
    operation::Status,
    workflow::{StepState, WorkflowState},
};
use serde_json::json;

use super::{
    Definition, Facts, inputs,
    unwind::{Why, lock_open, tell, unwind},
};
use crate::{
    Engine,
    actor::Actor,
    crash::crash_point,
    database::Tx,
    definition::{DECISION, StepDefinition, Work},
    error::EngineError,
    operations::{Enqueued, Moves, OwnRequest, catch_up, enqueue, is_refused_for_good, retrying},
    report::Report,
    store::{
        Target, answer,
        artifact::{self, Artifact},
        operation,
        step::{self, Step},
        workflow::{self, Address, Workflow},
    },
};

/// Workflows of one run.
const BATCH: i64 = 50;
/// How long one turn may take before another executor may take the workflow.
const LEASE_MS: i64 = 30_000;
/// How long a workflow whose turn failed by a fault of ours is left alone, so that its neighbours
/// keep moving (I18).
const PUT_OFF_MS: i64 = 60_000;

impl Engine {
    /// Gives one batch of due workflows a turn each, of those whose definition's version this
    /// process has (D33).
    ///
    /// # Errors
    /// The database's; what was done before stays done.
    pub async fn advance_workflows(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let (kinds, versions) = engine.workflows.served();
            if kinds.is_empty() {
                return Ok(Report::default());
            }
            let mut db = engine.pools.engine().acquire().await?;
            let due = workflow::due(&mut db, &kinds, &versions, BATCH).await?;
            drop(db);
            let mut handled = 0;
            for at in due {
                let turn = retrying(|| engine.take_workflow_turn(at)).await;
                handled += u64::from(engine.passed_over(at, turn).await?);
            }
            Ok(Report { handled })
        })
        .await
    }

    /// A workflow whose turn failed by a fault is logged and put off; a database that does not
    /// answer ends the run.
    pub(super) async fn passed_over(
        &self,
        at: Address,
        turn: Result<bool, EngineError>,
    ) -> Result<bool, EngineError> {
        match turn {
            Err(EngineError::Database(error)) => Err(EngineError::Database(error)),
            Err(error) => {
                tracing::error!(workflow.id = %at.id, error = ?error, "a workflow was put off");
                let mut db = self.pools.engine().acquire().await?;
                workflow::put_off(&mut db, at, PUT_OFF_MS).await?;
                Ok(false)
            }
            done => done,
        }
    }

    /// One turn; `false`: another executor has it, or there is nothing to do any more.
    pub(super) async fn take_workflow_turn(&self, at: Address) -> Result<bool, EngineError> {
        let actor = Actor::new("worker", &self.settings.worker_name);
        let mut tx = self.pools.begin_engine().await?;
        let open = lock_open(&mut tx, at, false).await?;
        let Some(mut flow) = workflow::take(&mut tx, at, &actor, LEASE_MS).await? else {
            return Ok(false);
        };
        let Some(definition) = self.workflows.get(&flow.kind, flow.definition_version) else {
            return Ok(false);
        };
        let mut steps = step::of(&mut tx, at).await?;
        if let Some(failed) = steps.iter().find(|step| step.status == StepState::Failed) {
            let cause = format!("the step {} failed", failed.key);
            let why = Why { cause: &cause, cancelled: false };
            workflow::rest(&mut tx, &flow).await?;
            unwind(&mut tx, &mut flow, &mut steps, open, why, &actor).await?;
        } else {
            let mut turn = Turn { engine: self, definition, steps, actor, again: false };
            if let Err(cause) = turn.go_on(&mut tx, &mut flow).await? {
                let change = workflow::Change {
                    cause: Some(&cause),
                    detail: Some(json!({ "cause": cause })),
                    ..Default::default()
                };
                let (to, actor) = (WorkflowState::Blocked, &turn.actor);
                workflow::advance(&mut tx, &mut flow, "W5", to, actor, change).await?;
            }
            if turn.again {
                workflow::let_go(&mut tx, &flow).await?;
            } else {
                workflow::rest(&mut tx, &flow).await?;
            }
            if flow.status == WorkflowState::Completed {
                let mut moves = Moves::new(&mut tx, turn.actor);
                tell(&mut moves, &flow);
                moves.finish().await?;
                crash_point!("W5");
            }
        }
        tx.commit().await?;
        Ok(true)
    }
}

struct Turn<'a> {
    engine: &'a Engine,
    definition: &'a Definition,
    steps: Vec<Step>,
    actor: Actor,
    /// Something moved that another turn must look at.
    again: bool,
}

impl Turn<'_> {
    /// Does what can be done; `Err` inside says why the workflow is blocked (W5).
    async fn go_on(
        &mut self,
        tx: &mut Tx,
        flow: &mut Workflow,
    ) -> Result<Result<(), String>, EngineError> {
        let mut facts = match inputs::facts(tx, flow.at).await? {
            Ok(facts) => facts,
            Err(cause) => return Ok(Err(cause)),
        };
        if let Err(cause) =
            inputs::drift(self.definition, &self.steps, &facts, &self.engine.settings.limits)
        {
            return Ok(Err(cause));
        }
        let in_doubt = self.steps.iter().any(|step| step.status == StepState::BlockedUnknown);
        let moved = match (flow.status, in_doubt) {
            (WorkflowState::Running, true) => Some(("W3", WorkflowState::Waiting)),
            (WorkflowState::Waiting, false) => Some(("W4", WorkflowState::Running)),
            _ => None,
        };
        if let Some((rule, to)) = moved {
            let change = workflow::Change::default();
            workflow::advance(tx, flow, rule, to, &self.actor, change).await?;
        }
        if flow.status != WorkflowState::Running {
            return Ok(Ok(()));
        }
        for declared in self.definition.steps() {
            if self.is_ready(declared)
                && let Err(cause) = self.start(tx, flow, declared, &mut facts).await?
            {
                return Ok(Err(cause));
            }
        }
        let over = |step: &Step| matches!(step.status, StepState::Succeeded | StepState::Skipped);
        if self.steps.iter().all(over) {
            let (to, change) = (WorkflowState::Completed, workflow::Change::default());
            workflow::advance(tx, flow, "W7", to, &self.actor, change).await?;
        }
        Ok(Ok(()))
    }

    fn state(&self, key: &str) -> Option<StepState> {
        self.steps.iter().find(|step| step.key == key).map(|step| step.status)
    }

    fn is_ready(&self, step: &StepDefinition) -> bool {
        let over = |key: &String| self.state(key).is_some_and(StepState::lets_successors_start);
        self.state(&step.key) == Some(StepState::Pending) && step.after.iter().all(over)
    }

    /// Starts a step (S1), decides it at once where it is a decision, or skips it (S8).
    async fn start(
        &mut self,
        tx: &mut Tx,
        flow: &Workflow,
        declared: &StepDefinition,
        facts: &mut Facts,
    ) -> Result<Result<(), String>, EngineError> {
        let actor = self.actor.clone();
        let step = self
            .steps
            .iter_mut()
            .find(|step| step.key == declared.key)
            .ok_or_else(|| EngineError::Unreadable(declared.key.clone()))?;
        let other = declared
            .when
            .iter()
            .find(|(decision, says)| facts.decision(decision) != Some(says.as_str()));
        if let Some((decision, _)) = other {
            let detail = Some(json!({ "decision": decision, "says": facts.decision(decision) }));
            let change = step::Change { detail, ..Default::default() };
            step::advance(tx, step, "S8", StepState::Skipped, &actor, change).await?;
            return Ok(Ok(()));
        }
        let input = match inputs::input_of(declared, facts, &self.engine.settings.limits) {
            Ok(input) => input,
            Err(cause) => return Ok(Err(cause)),
        };
        match &declared.work {
            Work::Decision(options, decide) => {
                let says = match inputs::decide(&declared.key, options, decide, &input.value) {
                    Ok(says) => says,
                    Err(cause) => return Ok(Err(cause)),
                };
                let change = step::Change { input_hash: Some(&input.hash), ..Default::default() };
                step::advance(tx, step, "S1", StepState::Running, &actor, change).await?;
                let detail = Some(json!({ "decision": says }));
                let change = step::Change { detail, ..Default::default() };
                step::advance(tx, step, "S2", StepState::Succeeded, &actor, change).await?;
                let decision = Artifact {
                    name: DECISION.into(),
                    content_type: "text/plain; charset=utf-8".into(),
                    body: says.into_bytes(),
                };
                artifact::insert(tx, flow.at, &declared.key, &decision).await?;
                facts.add(&declared.key, decision);
                Ok(Ok(()))
            }
            Work::Operation(kind) => {
                let key = format!("wf:{}:{}", flow.at.id, declared.key);
                let ask = OwnRequest {
                    tenant: flow.at.tenant,
                    operation: kind,
                    key: &key,
                    payload: &input.bytes,
                    amount_minor: None,
                    currency: None,
                    workflow_id: Some(flow.at.id.uuid()),
                    step_key: Some(&declared.key),
                };
                crash_point!("W1");
                let (id, status) = match enqueue(tx, &actor, &self.engine.settings, &ask).await {
                    Ok(Enqueued::Fresh(id)) => (id, Status::Reserved),
                    Ok(Enqueued::Known(id, status)) => (id, status),
                    Ok(Enqueued::Reused(_)) => {
                        let what = "has an operation of another input already";
                        return Ok(Err(format!(
                            "definition_drift: the step {} {what}",
                            declared.key
                        )));
                    }
                    Err(error) if is_refused_for_good(&error) => {
                        let refusal = error.refusal();
                        let detail =
                            refusal.detail.unwrap_or_else(|| refusal.code.title().to_owned());
                        return Ok(Err(format!(
                            "the step {} was refused: {}: {detail}",
                            declared.key, refusal.code
                        )));
                    }
                    Err(error) => return Err(error),
                };
                let change = step::Change {
                    operation_id: Some(id),
                    input_hash: Some(&input.hash),
                    detail: Some(json!({ "operation_id": id })),
                };
                step::advance(tx, step, "S1", StepState::Running, &actor, change).await?;
                if status != Status::Reserved {
                    self.again = true;
                    let target = Target { tenant: flow.at.tenant, id };
                    if let Some(row) = operation::lock(tx, target).await? {
                        let brought = answer::find(tx, target).await?;
                        catch_up(tx, &row, &actor, brought.as_ref()).await?;
                    }
                }
                Ok(Ok(()))
            }
        }
    }
}
