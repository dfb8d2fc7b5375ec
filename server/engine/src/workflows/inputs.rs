//! Making inputs, and holding them against those that steps were started with: a definition that
//! says something else than it said is never guessed at (D32).
//!
//! Guards too against a definition's own function that panics: that is a fault of one workflow, not
//! of the executor that came by.

use std::panic::{AssertUnwindSafe, catch_unwind};

use domain::{
    idempotency::canonical,
    workflow::{StepState, WorkflowState},
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sqlx::PgConnection;

use super::Definition;
use crate::{
    definition::{DecideFn, Facts, StepDefinition, Work},
    error::EngineError,
    operations::parse_payload,
    settings::Limits,
    store::{
        artifact,
        step::Step,
        workflow::{self, Address},
    },
};

/// A step's input as it is sent and compared.
pub(super) struct Input {
    pub(super) value: Value,
    pub(super) bytes: Vec<u8>,
    pub(super) hash: Vec<u8>,
}

/// Reads what inputs are made from; `Err` inside says why they cannot be.
pub(super) async fn facts(
    db: &mut PgConnection,
    at: Address,
) -> Result<Result<Facts, String>, EngineError> {
    let Some(input) = workflow::input(db, at).await? else {
        return Ok(Err("the workflow's input has expired".into()));
    };
    let Ok(value) = serde_json::from_slice(&input) else {
        return Ok(Err("the workflow's input is not JSON".into()));
    };
    Ok(Ok(Facts::new(value, artifact::bodies(db, at).await?)))
}

/// Makes a step's input.
pub(super) fn input_of(
    step: &StepDefinition,
    facts: &Facts,
    limits: &Limits,
) -> Result<Input, String> {
    let context = facts.seen_by(&step.ancestors);
    let made = catch_unwind(AssertUnwindSafe(|| (step.input)(&context)));
    let value = made
        .unwrap_or_else(|_| Err("its function panicked".into()))
        .map_err(|fault| format!("the input of the step {} cannot be made: {fault}", step.key))?;
    let bytes = value.to_string().into_bytes();
    let parsed = parse_payload(&bytes, limits).map_err(|error| {
        let detail = error.refusal().detail.unwrap_or_else(|| error.to_string());
        format!("the input of the step {} cannot be taken: {detail}", step.key)
    })?;
    let hash = Sha256::digest(canonical(&parsed)).to_vec();
    Ok(Input { value, bytes, hash })
}

/// Takes a decision.
pub(super) fn decide(
    key: &str,
    options: &[String],
    decide: &DecideFn,
    input: &Value,
) -> Result<String, String> {
    let says = catch_unwind(AssertUnwindSafe(|| decide(input)))
        .map_err(|_| format!("the decision of the step {key} panicked"))?;
    if options.contains(&says) {
        Ok(says)
    } else {
        Err(format!("the step {key} decided {says:?}, which is not among its options"))
    }
}

/// Whether a definition still says what it said when the workflow's steps were done.
pub(super) fn drift(
    definition: &Definition,
    steps: &[Step],
    facts: &Facts,
    limits: &Limits,
) -> Result<(), String> {
    if steps.len() != definition.steps().len() {
        return Err(drifted("it has other steps now"));
    }
    for declared in definition.steps() {
        let operation = match &declared.work {
            Work::Operation(kind) => Some(kind.as_str()),
            Work::Decision(..) => None,
        };
        let same = steps
            .iter()
            .find(|step| step.key == declared.key)
            .filter(|step| step.after == declared.after && step.operation.as_deref() == operation);
        let Some(step) = same else {
            return Err(drifted(&format!("the step {} is another now", declared.key)));
        };
        if step.status != StepState::Succeeded {
            continue;
        }
        let now = input_of(declared, facts, limits).map_err(|fault| drifted(&fault))?;
        if step.input_hash.as_deref() != Some(&now.hash) {
            return Err(drifted(&format!(
                "the input of the step {} is another now than when it was done",
                declared.key
            )));
        }
    }
    Ok(())
}

fn drifted(what: &str) -> String {
    format!("definition_drift: {what}")
}

/// The topic under which a workflow's move is told (the lines marked ⊕ in docs/workflows.md).
pub(super) fn topic(status: WorkflowState) -> String {
    format!("workflow.{status}")
}
