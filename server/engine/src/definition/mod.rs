//! What a workflow is made of: steps with explicit keys, what each waits for, the operation or the
//! decision that it is, and the pure function that makes its input (D30).
//!
//! Guards against the definition that means two things: a key twice, a predecessor that is none, a
//! circle or a branch that no decision leads to is refused when the definition is built, before a
//! workflow was ever started by it.

mod artifact;
mod context;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use serde_json::Value;

pub use artifact::{Artifact, MAX_ARTIFACT_BYTES};
pub(crate) use artifact::{DECISION, RESPONSE};
pub use context::Context;
pub(crate) use context::Facts;

/// Makes a step's input from the workflow's input and what its predecessors brought forth. The same
/// facts must give the same input for ever: another one later is drift (D32).
pub type InputFn = Arc<dyn Fn(&Context<'_>) -> Result<Value, String> + Send + Sync>;

/// Takes a decision from its input; called once, for what it answers is stored (D31).
pub type DecideFn = Arc<dyn Fn(&Value) -> String + Send + Sync>;

/// Steps of one definition.
const MAX_STEPS: usize = 200;
/// The longest name of a definition, step or decision, in characters.
const MAX_NAME_CHARS: usize = 128;

/// Why a definition is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// A name is empty, too long, or holds a control character.
    #[error("{0:?} is no name: it has 1 to 128 characters and no control characters")]
    BadName(String),
    /// Versions begin at 1.
    #[error("version {0} is none: versions begin at 1")]
    BadVersion(i32),
    /// Nothing to do, or too much.
    #[error("a definition has 1 to 200 steps")]
    StepCount,
    /// The same key twice.
    #[error("the step {0} is declared twice")]
    Duplicate(String),
    /// It waits for a step that there is none of.
    #[error("the step {0} comes after {1}, which is no step")]
    UnknownPredecessor(String, String),
    /// Steps that wait for each other.
    #[error("these steps wait for each other: {}", .0.join(", "))]
    Circle(Vec<String>),
    /// A branch on a step that decides nothing.
    #[error("the step {0} depends on a decision of {1}, which takes none")]
    NoDecision(String, String),
    /// A branch that is never taken.
    #[error("the step {0} depends on the decision {1} = {2}, which is not among its options")]
    UnknownOption(String, String, String),
    /// The engine's own operations are no steps.
    #[error("the step {0} cannot be an operation named {1}: console.* belongs to the engine")]
    Reserved(String, String),
    /// The same definition twice.
    #[error("version {1} of {0} is registered twice")]
    Twice(String, i32),
}

/// One version of a workflow; cloning shares it.
#[derive(Clone)]
pub struct Definition(Arc<Inner>);

struct Inner {
    kind: String,
    version: i32,
    /// In an order in which each stands after those that it waits for.
    steps: Vec<StepDefinition>,
}

/// One step of a definition.
pub(crate) struct StepDefinition {
    pub(crate) key: String,
    pub(crate) position: i32,
    pub(crate) after: Vec<String>,
    pub(crate) when: Vec<(String, String)>,
    pub(crate) input: InputFn,
    pub(crate) work: Work,
    /// All that must be over before it starts: what its input may be made from.
    pub(crate) ancestors: BTreeSet<String>,
}

/// What a step does.
#[derive(Clone)]
pub(crate) enum Work {
    /// An effect, through an operation of this kind.
    Operation(String),
    /// A choice among these words.
    Decision(Vec<String>, DecideFn),
}

/// A step while a definition is being built.
pub struct Step {
    after: Vec<String>,
    when: Vec<(String, String)>,
    input: InputFn,
    work: Work,
}

impl Step {
    /// A step that does an effect through an operation of a kind, with the payload that `input`
    /// makes.
    pub fn operation(
        kind: &str,
        input: impl Fn(&Context<'_>) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        Self::of(Work::Operation(kind.into()), Arc::new(input))
    }

    /// A step that chooses one of `options`. What it chose is stored and never asked for again.
    pub fn decision(
        options: &[&str],
        input: impl Fn(&Context<'_>) -> Result<Value, String> + Send + Sync + 'static,
        decide: impl Fn(&Value) -> String + Send + Sync + 'static,
    ) -> Self {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        Self::of(Work::Decision(options, Arc::new(decide)), Arc::new(input))
    }

    fn of(work: Work, input: InputFn) -> Self {
        Self { after: Vec::new(), when: Vec::new(), input, work }
    }

    /// Starts it only when these are succeeded or skipped; steps with the same predecessors run
    /// beside each other.
    #[must_use]
    pub fn after(mut self, keys: &[&str]) -> Self {
        self.after.extend(keys.iter().map(|key| (*key).to_owned()));
        self
    }

    /// Starts it only where a decision says so; it is skipped otherwise (S8). Waits for the
    /// decision without being told to.
    #[must_use]
    pub fn when(mut self, decision: &str, says: &str) -> Self {
        self.when.push((decision.to_owned(), says.to_owned()));
        self
    }
}

/// A definition while it is being built.
pub struct Builder {
    kind: String,
    version: i32,
    steps: Vec<(String, Step)>,
}

impl Builder {
    /// Adds a step. Its key stays what it is for ever: it is part of the operation's own key.
    #[must_use]
    pub fn step(mut self, key: &str, step: Step) -> Self {
        self.steps.push((key.to_owned(), step));
        self
    }

    /// Checks the whole.
    ///
    /// # Errors
    /// [`DefinitionError`] names the first fault.
    pub fn build(self) -> Result<Definition, DefinitionError> {
        if self.version < 1 {
            return Err(DefinitionError::BadVersion(self.version));
        }
        if !(1..=MAX_STEPS).contains(&self.steps.len()) {
            return Err(DefinitionError::StepCount);
        }
        name(&self.kind)?;
        let mut options: BTreeMap<&str, Option<&[String]>> = BTreeMap::new();
        for (key, step) in &self.steps {
            name(key)?;
            let offered = match &step.work {
                Work::Operation(kind) => {
                    name(kind)?;
                    if kind.starts_with("console.") {
                        return Err(DefinitionError::Reserved(key.clone(), kind.clone()));
                    }
                    None
                }
                Work::Decision(options, _) => {
                    options.iter().try_for_each(|option| name(option))?;
                    Some(options.as_slice())
                }
            };
            if options.insert(key, offered).is_some() {
                return Err(DefinitionError::Duplicate(key.clone()));
            }
        }
        for (key, step) in &self.steps {
            for other in &step.after {
                if !options.contains_key(other.as_str()) {
                    return Err(DefinitionError::UnknownPredecessor(key.clone(), other.clone()));
                }
            }
            for (decision, says) in &step.when {
                let offered =
                    options.get(decision.as_str()).copied().flatten().ok_or_else(|| {
                        DefinitionError::NoDecision(key.clone(), decision.clone())
                    })?;
                if !offered.contains(says) {
                    let (key, decision) = (key.clone(), decision.clone());
                    return Err(DefinitionError::UnknownOption(key, decision, says.clone()));
                }
            }
        }
        let steps = in_order(self.steps)?;
        Ok(Definition(Arc::new(Inner { kind: self.kind, version: self.version, steps })))
    }
}

fn name(text: &str) -> Result<(), DefinitionError> {
    let fits =
        (1..=MAX_NAME_CHARS).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if fits { Ok(()) } else { Err(DefinitionError::BadName(text.into())) }
}

/// Sorts steps so that each stands after those it waits for; of those that could come next the
/// first declared does.
fn in_order(declared: Vec<(String, Step)>) -> Result<Vec<StepDefinition>, DefinitionError> {
    let mut left: Vec<StepDefinition> = declared
        .into_iter()
        .zip(0..)
        .map(|((key, step), position)| {
            let Step { mut after, when, input, work } = step;
            after.extend(when.iter().map(|(decision, _)| decision.clone()));
            after.sort();
            after.dedup();
            StepDefinition { key, position, after, when, input, work, ancestors: BTreeSet::new() }
        })
        .collect();
    let mut sorted: Vec<StepDefinition> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let ready = left.iter().position(|step| {
            step.after.iter().all(|key| sorted.iter().any(|before| before.key == *key))
        });
        let Some(ready) = ready else {
            return Err(DefinitionError::Circle(left.into_iter().map(|step| step.key).collect()));
        };
        let mut step = left.remove(ready);
        for before in sorted.iter().filter(|before| step.after.contains(&before.key)) {
            step.ancestors.insert(before.key.clone());
            step.ancestors.extend(before.ancestors.iter().cloned());
        }
        sorted.push(step);
    }
    Ok(sorted)
}

impl Definition {
    /// Begins a definition.
    #[must_use]
    pub fn of(kind: &str, version: i32) -> Builder {
        Builder { kind: kind.into(), version, steps: Vec::new() }
    }

    /// Its name.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.0.kind
    }

    /// Its version; a workflow keeps the one that it was started with (D32).
    #[must_use]
    pub fn version(&self) -> i32 {
        self.0.version
    }

    /// The kinds of operation that its steps do.
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        self.0.steps.iter().filter_map(|step| match &step.work {
            Work::Operation(kind) => Some(kind.as_str()),
            Work::Decision(..) => None,
        })
    }

    pub(crate) fn steps(&self) -> &[StepDefinition] {
        &self.0.steps
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{}", self.0.kind, self.0.version)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn effect() -> Step {
        Step::operation("invoice.charge", |_| Ok(json!({})))
    }

    fn choice() -> Step {
        Step::decision(&["yes", "no"], |_| Ok(json!({})), |_| "yes".into())
    }

    fn fault(builder: Builder) -> DefinitionError {
        builder.build().unwrap_err()
    }

    #[test]
    fn a_step_declared_twice_is_refused() {
        let twice = Definition::of("w", 1).step("a", effect()).step("a", choice());
        assert_eq!(fault(twice), DefinitionError::Duplicate("a".into()));
    }

    #[test]
    fn steps_that_wait_for_nothing_or_for_each_other_are_refused() {
        let unknown = Definition::of("w", 1).step("a", effect().after(&["b"]));
        assert_eq!(fault(unknown), DefinitionError::UnknownPredecessor("a".into(), "b".into()));
        let circle = Definition::of("w", 1)
            .step("a", effect())
            .step("b", effect().after(&["a", "c"]))
            .step("c", effect().after(&["b"]));
        assert_eq!(fault(circle), DefinitionError::Circle(vec!["b".into(), "c".into()]));
        let itself = Definition::of("w", 1).step("a", effect().after(&["a"]));
        assert_eq!(fault(itself), DefinitionError::Circle(vec!["a".into()]));
    }

    #[test]
    fn a_branch_needs_a_decision_that_can_be_taken() {
        let none = Definition::of("w", 1).step("a", effect()).step("b", effect().when("a", "yes"));
        assert_eq!(fault(none), DefinitionError::NoDecision("b".into(), "a".into()));
        let never =
            Definition::of("w", 1).step("a", choice()).step("b", effect().when("a", "maybe"));
        let (b, a, maybe) = ("b".into(), "a".into(), "maybe".into());
        assert_eq!(fault(never), DefinitionError::UnknownOption(b, a, maybe));
    }

    #[test]
    fn names_versions_and_counts_are_bounded() {
        assert_eq!(fault(Definition::of("w", 1)), DefinitionError::StepCount);
        assert_eq!(
            fault(Definition::of("w", 0).step("a", effect())),
            DefinitionError::BadVersion(0)
        );
        for key in ["", "a\nb", &"x".repeat(129)] {
            let named = Definition::of("w", 1).step(key, effect());
            assert_eq!(fault(named), DefinitionError::BadName(key.into()));
        }
        let own = Definition::of("w", 1).step("a", Step::operation("console.x", |_| Ok(json!({}))));
        assert_eq!(fault(own), DefinitionError::Reserved("a".into(), "console.x".into()));
    }

    #[test]
    fn a_step_sees_what_must_be_over_before_it_and_nothing_beside_it() {
        let definition = Definition::of("w", 1)
            .step("last", effect().after(&["left", "right"]))
            .step("left", effect().when("choose", "yes"))
            .step("right", effect().after(&["choose"]))
            .step("choose", choice().after(&["first"]))
            .step("first", effect())
            .build()
            .unwrap();
        let keys: Vec<_> = definition.steps().iter().map(|step| step.key.as_str()).collect();
        assert_eq!(keys, ["first", "choose", "left", "right", "last"]);
        let sees = |key: &str| -> Vec<&str> {
            let step = definition.steps().iter().find(|step| step.key == key).unwrap();
            step.ancestors.iter().map(String::as_str).collect()
        };
        assert_eq!(sees("left"), ["choose", "first"]);
        assert_eq!(sees("last"), ["choose", "first", "left", "right"]);
        assert_eq!(definition.operations().count(), 4);
    }
}
