//! The harness that every workflow passes: it succeeds; each call is made twice; it fails at each
//! step; it leaves a clean slate.

use domain::workflow::StepState;
use engine::{FinishOutcome, workflows::Definition};
use serde_json::Value;

use super::support::{Flow, all_done, stage};

/// A workflow under test.
pub struct Subject<'a> {
    pub definition: fn() -> Definition,
    pub input: Value,
    /// Steps with an effect, in an order in which they can be done.
    pub effects: &'a [&'a str],
    /// Steps that the input's branch skips.
    pub skipped: &'a [&'a str],
}

impl Subject<'_> {
    /// Runs it the four ways. `unwound` looks at a workflow that failed at a step, once everything
    /// came to rest: what is undone, and how, is for it to say.
    pub async fn runs_four_ways(&self, unwound: impl AsyncFn(&Flow<'_>, &str)) {
        self.succeeds(false).await;
        self.succeeds(true).await;
        for step in self.effects {
            self.fails_at(step, &unwound).await;
        }
    }

    async fn succeeds(&self, twice: bool) {
        let fixture = stage(vec![(self.definition)()]).await;
        let mut flow = self.start(&fixture).await;
        flow.twice = twice;
        flow.drive(&all_done).await;
        assert_eq!(flow.status().await, "completed", "twice: {twice}");
        for (step, status) in flow.steps().await {
            let skipped = self.skipped.contains(&step.as_str());
            assert_eq!(status, if skipped { "skipped" } else { "succeeded" }, "{step}");
        }
        for step in self.effects {
            assert_eq!(flow.effects(step), 1, "{step}, twice: {twice}");
        }
        let told = "select count(*) from outbox where topic = 'workflow.completed'";
        assert_eq!(fixture.count(told).await, 1);
        flow.leaves_a_clean_slate().await;
    }

    async fn fails_at(&self, failing: &str, unwound: &impl AsyncFn(&Flow<'_>, &str)) {
        let fixture = stage(vec![(self.definition)()]).await;
        let flow = self.start(&fixture).await;
        flow.drive(&|step| {
            if step == failing { FinishOutcome::Rejected } else { FinishOutcome::Done }
        })
        .await;
        let view = flow.view().await;
        let happened: Vec<_> =
            self.effects.iter().filter(|step| flow.effects(step) > 0).copied().collect();
        for step in &view.steps {
            assert!(
                domain::machine::Machine::is_final(step.status),
                "{failing} failed and {} is {}",
                step.step_key,
                step.status
            );
            let done = step.status == StepState::Succeeded && step.operation.is_some();
            assert_eq!(done, happened.contains(&step.step_key.as_str()), "{}", step.step_key);
        }
        assert_eq!(flow.step(failing).await, "failed");
        let told = view.cause.as_deref().unwrap_or_default();
        assert!(told.contains(failing), "{told}");
        let open = "select count(*) from operations where completed_at is null and not console";
        assert_eq!(fixture.count(open).await, 0, "{failing}: what had not begun is cancelled");
        if happened.is_empty() {
            assert_eq!(flow.status().await, "failed");
            flow.leaves_a_clean_slate().await;
        }
        unwound(&flow, failing).await;
    }

    async fn start<'f>(&self, fixture: &'f crate::fixture::Fixture) -> Flow<'f> {
        Flow::start(fixture, (self.definition)().kind(), "k", &self.input).await
    }
}
