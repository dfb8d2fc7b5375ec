//! What a step's input is made from: the workflow's input, and what the steps brought forth that
//! must be over before it. Nothing else can be seen, so that the same input comes out whenever it is
//! made again (D32).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::artifact::{Artifact, DECISION, RESPONSE};

/// Everything that a workflow's steps can be made from.
pub(crate) struct Facts {
    pub(crate) input: Value,
    artifacts: BTreeMap<(String, String), Artifact>,
}

impl Facts {
    pub(crate) fn new(input: Value, artifacts: Vec<(String, Artifact)>) -> Self {
        let artifacts = artifacts
            .into_iter()
            .map(|(step, artifact)| ((step, artifact.name.clone()), artifact))
            .collect();
        Self { input, artifacts }
    }

    pub(crate) fn add(&mut self, step: &str, artifact: Artifact) {
        self.artifacts.insert((step.to_owned(), artifact.name.clone()), artifact);
    }

    pub(crate) fn decision(&self, step: &str) -> Option<&str> {
        let artifact = self.artifacts.get(&(step.to_owned(), DECISION.to_owned()))?;
        std::str::from_utf8(&artifact.body).ok()
    }

    pub(crate) const fn seen_by<'a>(&'a self, ancestors: &'a BTreeSet<String>) -> Context<'a> {
        Context { facts: self, ancestors }
    }
}

/// What one step may be made from.
pub struct Context<'a> {
    facts: &'a Facts,
    ancestors: &'a BTreeSet<String>,
}

impl Context<'_> {
    /// The workflow's input; its numbers are the text that was sent.
    #[must_use]
    pub const fn input(&self) -> &Value {
        &self.facts.input
    }

    /// A value of the workflow's input, by its pointer.
    ///
    /// # Errors
    /// A sentence, where there is none.
    pub fn required(&self, pointer: &str) -> Result<Value, String> {
        self.input()
            .pointer(pointer)
            .cloned()
            .ok_or_else(|| format!("the workflow's input has no {pointer}"))
    }

    /// What an earlier step brought forth; `None` for a step that was skipped, or that this one does
    /// not wait for.
    #[must_use]
    pub fn artifact(&self, step: &str, name: &str) -> Option<&Artifact> {
        if !self.ancestors.contains(step) {
            return None;
        }
        self.facts.artifacts.get(&(step.to_owned(), name.to_owned()))
    }

    /// The answer of an earlier step's provider, read as JSON.
    ///
    /// # Errors
    /// A sentence, where there is none or it is no JSON.
    pub fn response(&self, step: &str) -> Result<Value, String> {
        let artifact = self
            .artifact(step, RESPONSE)
            .ok_or_else(|| format!("the step {step} left no answer"))?;
        serde_json::from_slice(&artifact.body)
            .map_err(|_| format!("the answer of the step {step} is not JSON"))
    }

    /// What an earlier step decided; `None` where it was skipped.
    #[must_use]
    pub fn decision(&self, step: &str) -> Option<&str> {
        if self.ancestors.contains(step) { self.facts.decision(step) } else { None }
    }
}
