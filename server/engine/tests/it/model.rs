//! Random commands drive a pure model and the real engine side by side. The model knows the guards
//! in a few lines and moves by `domain::operation::next` alone; after each command both must show
//! the same status, version, fence and flag.
//!
//! Guards against the move that only a rare order of commands reaches: the engine must neither make
//! one that the table does not explain, nor leave one out.

use std::{collections::HashSet, time::Duration};

use domain::{
    access::Role,
    action::{Outcome, Verb},
    ids::OperationId,
    operation::{Event, ManualFlag, Status, next},
};
use engine::{ActionRequest, FinishOutcome, StaffCaller};
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use testkit::eventually;

use crate::fixture::{Fixture, action, mail_request, won};

/// Cases, of up to so many commands each.
const CASES: u32 = 48;
const COMMANDS: usize = 24;
/// Longer than a lease, every pause and every window of the kind.
const LONG: Duration = Duration::from_secs(100);

const OUTCOMES: [FinishOutcome; 4] = [
    FinishOutcome::Done,
    FinishOutcome::Rejected,
    FinishOutcome::NotDone,
    FinishOutcome::Ambiguous,
];

#[derive(Clone, Copy, Debug)]
enum Command {
    Claim,
    Start,
    /// An outcome, and under which of the calls begun, counted from the last.
    Finish(usize, usize),
    Wait,
    TakeOver,
    Reconcile,
    Confirm(usize),
    Act(usize),
}

const CONFIRMS: [Outcome; 3] =
    [Outcome::Happened, Outcome::NotHappenedRetry, Outcome::NotHappenedStop];
const VERBS: [Verb; 4] = [Verb::Release, Verb::Reconcile, Verb::Retry, Verb::Cancel];

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        4 => Just(Command::Claim),
        5 => Just(Command::Start),
        5 => (0..OUTCOMES.len(), 0..3_usize).prop_map(|(outcome, back)| Command::Finish(outcome, back)),
        3 => Just(Command::Wait),
        2 => Just(Command::TakeOver),
        2 => Just(Command::Reconcile),
        2 => (0..CONFIRMS.len()).prop_map(Command::Confirm),
        2 => (0..VERBS.len()).prop_map(Command::Act),
    ]
}

/// A call whose holder lost its lease, and the call of the next holder under way: what the first one
/// says now is the finish that only the fence refuses. Random commands alone seldom come here.
const SECOND_CALL: [Command; 8] = [
    Command::Claim,
    Command::Start,
    Command::Wait,
    Command::TakeOver,
    // It did not happen, and is tried again.
    Command::Confirm(1),
    Command::Wait,
    Command::Claim,
    Command::Start,
];

/// Random commands; every other time on the road above.
fn commands() -> impl Strategy<Value = Vec<Command>> {
    (any::<bool>(), proptest::collection::vec(command(), 1..=COMMANDS)).prop_map(
        |(second, random)| {
            let road: &[Command] = if second { &SECOND_CALL } else { &[] };
            road.iter().copied().chain(random).collect()
        },
    )
}

/// What the table says and what its guards need to know.
#[derive(Debug)]
struct Model {
    status: Status,
    version: i64,
    fence: i64,
    manual: bool,
    attempt: i32,
    max_attempts: i32,
    claims: i32,
    /// Whether there is a lease, and whether it lasts.
    lease: Option<bool>,
    /// Whether another attempt may begin now.
    due: bool,
    /// Whether the last call may still be under way for all anybody knows.
    early: bool,
    /// Evidence says that it happened.
    done_on_record: bool,
    /// Fences under which calls began.
    begun: Vec<i64>,
    /// What was said under which of them.
    said: HashSet<(i64, usize)>,
    trace: Vec<Event>,
}

impl Model {
    fn reserved() -> Self {
        Self {
            status: Status::Reserved,
            version: 1,
            fence: 1,
            manual: false,
            attempt: 0,
            max_attempts: 3,
            claims: 0,
            lease: Some(true),
            due: false,
            early: false,
            done_on_record: false,
            begun: Vec::new(),
            said: HashSet::new(),
            trace: Vec::new(),
        }
    }

    /// One move by the table; evidence of Done turns what would deny or repeat it.
    fn make(&mut self, event: Event) -> Event {
        use Event as E;
        let yields = matches!(
            event,
            E::Start
                | E::Cancel
                | E::ClaimBound
                | E::Rejected
                | E::NotDone
                | E::NotDoneLast
                | E::Retry
                | E::GiveUp
                | E::ConfirmRetry
                | E::ConfirmStop
                | E::StaffRetry
        );
        let event = if yields && self.done_on_record { E::DoneOnRecord } else { event };
        let rule = next(Some(self.status), event).expect("the table knows it");
        self.status = rule.to;
        self.version += i64::from(rule.version);
        self.fence += i64::from(rule.fence);
        match rule.manual {
            ManualFlag::Keep => {}
            ManualFlag::Set => self.manual = true,
            ManualFlag::Clear => self.manual = false,
        }
        self.trace.push(event);
        match event {
            E::Start => {
                self.attempt += 1;
                self.claims = 0;
                self.early = true;
                self.begun.push(self.fence);
            }
            E::TakeOver => {
                self.claims += 1;
                self.lease = Some(true);
            }
            E::ClaimReconcile | E::LateEvidence => {}
            _ => self.lease = None,
        }
        match event {
            E::Retry => self.claims = 0,
            E::NotDone => self.due = false,
            E::ConfirmRetry | E::StaffRetry => {
                self.due = true;
                self.max_attempts += 1;
            }
            _ => {}
        }
        event
    }

    fn claim(&mut self) {
        if self.status == Status::FailedRetryable {
            if !self.due || self.make(Event::Retry) != Event::Retry {
                return;
            }
        } else if self.status != Status::Reserved || self.lease == Some(true) {
            return;
        }
        self.make(if self.claims >= 3 { Event::ClaimBound } else { Event::TakeOver });
    }

    fn finish(&mut self, outcome: usize, fence: i64) {
        if self.said.contains(&(fence, outcome)) {
            return;
        }
        let first = !self.said.iter().any(|(said, _)| *said == fence);
        self.said.insert((fence, outcome));
        let word = OUTCOMES[outcome];
        if first && self.status == Status::Executing && self.fence == fence {
            self.make(match word {
                FinishOutcome::Done => Event::Done,
                FinishOutcome::Rejected => Event::Rejected,
                FinishOutcome::NotDone if self.attempt < self.max_attempts => Event::NotDone,
                FinishOutcome::NotDone => Event::NotDoneLast,
                FinishOutcome::Ambiguous => Event::Ambiguous,
            });
            return;
        }
        // Late words: evidence, whatever they say.
        let done = word == FinishOutcome::Done;
        self.done_on_record |= done;
        match self.status {
            Status::Unknown | Status::Executing => {
                self.make(Event::LateEvidence);
            }
            Status::Reserved if self.attempt == 0 => {
                self.make(Event::LateEvidence);
            }
            Status::Reserved | Status::FailedRetryable if done => {
                self.make(Event::EvidenceContradicts);
            }
            Status::Reserved | Status::FailedRetryable => {}
            Status::Succeeded => {
                let against = matches!(word, FinishOutcome::Rejected | FinishOutcome::NotDone);
                self.make(if against { Event::EvidenceDiffers } else { Event::EvidenceAgrees });
            }
            Status::FailedTerminal => {
                self.make(if done { Event::EvidenceDiffers } else { Event::EvidenceAgrees });
            }
        }
    }

    fn reconcile(&mut self) {
        if self.status == Status::Unknown && !self.manual {
            self.make(Event::ClaimReconcile);
            // A provider that cannot be asked.
            self.make(Event::NoneLeft);
        }
    }

    fn confirm(&mut self, outcome: Outcome) {
        if self.status != Status::Unknown {
            return;
        }
        match outcome {
            Outcome::Happened => {
                self.make(Event::ConfirmHappened);
            }
            _ if self.early || self.done_on_record => {}
            Outcome::NotHappenedRetry => {
                self.make(Event::ConfirmRetry);
            }
            Outcome::NotHappenedStop => {
                self.make(Event::ConfirmStop);
            }
        }
    }

    fn act(&mut self, verb: Verb) {
        let event = match (verb, self.status) {
            (Verb::Release, Status::Executing) if self.lease == Some(false) => Event::Release,
            (Verb::Release, Status::Reserved) if self.lease == Some(false) => {
                Event::ReleaseReserved
            }
            (Verb::Reconcile, Status::Unknown) => Event::ReconcileNow,
            (Verb::Retry, Status::FailedRetryable) if !self.done_on_record => Event::StaffRetry,
            (Verb::Cancel, Status::Reserved) if !self.done_on_record => Event::Cancel,
            (Verb::Cancel, Status::FailedRetryable) if !self.done_on_record => Event::GiveUp,
            _ => return,
        };
        self.make(event);
    }

    fn run(&mut self, command: Command) {
        match command {
            Command::Claim => self.claim(),
            Command::Start => {
                if self.status == Status::Reserved && self.lease == Some(true) {
                    self.make(Event::Start);
                }
            }
            Command::Finish(outcome, back) => {
                if let Some(fence) = self.begun.iter().rev().nth(back).copied() {
                    self.finish(outcome, fence);
                }
            }
            Command::Wait => {
                self.lease = self.lease.map(|_| false);
                self.due = true;
                self.early = false;
            }
            Command::TakeOver => {
                if self.status == Status::Executing && self.lease == Some(false) {
                    self.make(Event::LeaseLost);
                }
            }
            Command::Reconcile => self.reconcile(),
            Command::Confirm(outcome) => self.confirm(CONFIRMS[outcome]),
            Command::Act(verb) => self.act(VERBS[verb]),
        }
    }
}

/// The same command to the engine; what it refuses, it refuses.
async fn run(
    fixture: &Fixture,
    operator: &StaffCaller,
    id: OperationId,
    model: &Model,
    command: Command,
) {
    let act = |request: ActionRequest| async move {
        let _refused = fixture.engine.act(operator, request).await;
    };
    match command {
        Command::Claim => {
            let kinds = vec!["campaign.send".to_owned()];
            fixture.engine.claim(&fixture.service, &kinds, 100, None).await.unwrap();
        }
        Command::Start => {
            let _refused = fixture.engine.start(&fixture.service, id, model.fence).await;
        }
        Command::Finish(outcome, back) => {
            if let Some(fence) = model.begun.iter().rev().nth(back).copied() {
                let outcome = OUTCOMES[outcome];
                let reference = (outcome == FinishOutcome::Done).then_some("ref-1");
                fixture.finish(id, fence, outcome, reference).await.unwrap();
            }
        }
        Command::Wait => fixture.db.advance_clock(LONG).await,
        Command::TakeOver => {
            fixture.engine.take_over_expired().await.unwrap();
        }
        Command::Reconcile => {
            // Left-overs of other cases stand before it.
            eventually("nothing is due", LONG, async || {
                fixture.engine.reconcile_due().await.unwrap().handled == 0
            })
            .await;
        }
        Command::Confirm(outcome) => {
            let outcome = CONFIRMS[outcome];
            let reference = (outcome == Outcome::Happened).then(|| "ref-1".to_owned());
            act(ActionRequest {
                outcome: Some(outcome),
                external_reference: reference,
                ..action(id, Verb::Confirm, model.version)
            })
            .await;
        }
        Command::Act(verb) => act(action(id, VERBS[verb], model.version)).await,
    }
}

#[test]
fn model_and_engine_agree_whatever_is_asked_in_whatever_order() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (fixture, operator) = runtime.block_on(async {
        let fixture = Fixture::new().await;
        let operator = fixture.person("operator", Role::Operator).await;
        (fixture, operator)
    });
    let next = std::cell::Cell::new(0);
    let mut runner =
        TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let checked = runner.run(&commands(), |commands| {
        runtime.block_on(async {
            next.set(next.get() + 1);
            let request = mail_request(&format!("k-{}", next.get()));
            let (id, _) = won(fixture.engine.reserve(&fixture.service, request).await.unwrap());
            let mut model = Model::reserved();
            for command in &commands {
                run(&fixture, &operator, id, &model, *command).await;
                model.run(*command);
                let real: (String, i64, i64, bool) = sqlx::query_as(
                    "select status, version, fence, needs_manual from operations where id = $1",
                )
                .bind(id.uuid())
                .fetch_one(fixture.pool())
                .await
                .unwrap();
                let said =
                    (model.status.to_string(), model.version, model.fence, model.manual);
                if real != said {
                    let moves: Vec<String> = sqlx::query_scalar(
                        "select move from operation_events where operation_id = $1 order by id",
                    )
                    .bind(id.uuid())
                    .fetch_all(fixture.pool())
                    .await
                    .unwrap();
                    return Err(TestCaseError::fail(format!(
                        "after {command:?} the engine has {real:?} by {moves:?}, the model {said:?} by {:?}",
                        model.trace
                    )));
                }
            }
            Ok(())
        })
    });
    if let Err(error) = checked {
        panic!("{error}");
    }
}
