//! Which decisions take a factor that was given lately (T12): every action there is against a written table,
//! by a person who proved long ago who they are.

use domain::{
    access::Role,
    action::{
        Subject, TargetType,
        TargetType::{
            Approval, Bulk, Compensation, Inbox, Incident, Operation, OperationKind, Outbox, Staff,
            Token, Workflow,
        },
        Verb,
    },
    ids::OperationId,
    problem::Code,
};
use engine::{ActionRequest, Reserve};
use sqlx::Executor as _;

use super::{
    closed::every_action,
    everything,
    ready::{Ready, ready},
};
use crate::{
    fixture::{Fixture, PAYLOAD, action, code, request},
    outbox::staff::dead,
    workflows::{drift, support as lines},
};

/// Whether the action of [`ready`] takes one. Its operations are payments, but for the cancelled one, which
/// is a mail; so are its workflow, its message and its bulk. Its undo gives money back, but for the continued
/// one, which gives a booking back.
const TABLE: [(TargetType, Verb, bool); 32] = [
    (Operation, Verb::Confirm, true),
    (Operation, Verb::Release, false),
    (Operation, Verb::Reconcile, false),
    (Operation, Verb::Retry, true),
    (Operation, Verb::Cancel, false),
    (Operation, Verb::Correct, true),
    (Operation, Verb::Compensate, true),
    (Workflow, Verb::Cancel, false),
    (Workflow, Verb::Resume, false),
    (Workflow, Verb::Compensate, false),
    (Compensation, Verb::Retry, true),
    (Compensation, Verb::Accept, true),
    (Compensation, Verb::Continue, false),
    (Outbox, Verb::Requeue, false),
    (Outbox, Verb::Skip, false),
    (Inbox, Verb::Run, false),
    (Inbox, Verb::Drop, false),
    (Incident, Verb::Close, false),
    (Incident, Verb::Add, false),
    (Incident, Verb::Remove, false),
    (Incident, Verb::Open, false),
    (Approval, Verb::Approve, true),
    (Approval, Verb::Reject, false),
    (Approval, Verb::Withdraw, false),
    (OperationKind, Verb::PutKind, false),
    (Staff, Verb::Grant, false),
    (Bulk, Verb::Run, false),
    (Bulk, Verb::Pause, false),
    (Bulk, Verb::Resume, false),
    (Bulk, Verb::Abandon, false),
    (Token, Verb::Issue, true),
    (Token, Verb::Revoke, false),
];

const DENIED: &str =
    "select count(*) from audit where result = 'denied' and code = 'step_up_required'";

/// It is refused while its person has not proved who they are, and changes nothing but the log.
async fn asks(what: &str, ready: Ready) -> usize {
    let ready = ready.long_after_the_factor().await;
    let fixture = &ready.fixture;
    let before = but_the_log(fixture).await;
    let denied = fixture.count(DENIED).await;
    assert_eq!(code(ready.act().await), Code::StepUpRequired, "{what}");
    assert_eq!(but_the_log(fixture).await, before, "{what}");
    assert_eq!(fixture.count(DENIED).await, denied + 1, "{what}");
    1
}

async fn but_the_log(fixture: &Fixture) -> Vec<(String, String)> {
    let mut all = everything(fixture).await;
    all.retain(|(table, _)| !table.starts_with("audit"));
    all
}

#[tokio::test]
async fn every_action_takes_a_fresh_factor_where_the_table_says_so_and_nowhere_else() {
    let mut asked = 0;
    for (target, verb) in every_action() {
        let what = format!("{verb} of {target}");
        let row = TABLE.iter().find(|row| (row.0, row.1) == (target, verb));
        let (.., takes) = *row.unwrap_or_else(|| panic!("{what} has no row in this test"));
        let ready = ready(target, verb).await;
        if takes {
            asked += asks(&what, ready).await;
            continue;
        }
        let ready = ready.long_after_the_factor().await;
        ready.act().await.unwrap_or_else(|error| panic!("{what} asks for more: {error:?}"));
    }
    assert_eq!(every_action().count(), TABLE.len(), "each row is of an action");
    testkit::threat("T12", asked, 0);
}

/// A queued payment, cancelled.
async fn queued_payment() -> Ready {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let id = queued(&fixture, "k").await;
    let version = fixture.engine.operation_for_service(&fixture.service, id).await.unwrap().version;
    Ready::new(fixture, operator, action(id, Verb::Cancel, version))
}

async fn queued(fixture: &Fixture, key: &str) -> OperationId {
    let queued = Reserve { queued: true, ..request(key, PAYLOAD) };
    fixture.engine.reserve(&fixture.service, queued).await.unwrap();
    let id = sqlx::query_scalar("select id from operations where key = $1").bind(key);
    OperationId::new(id.fetch_one(fixture.pool()).await.unwrap())
}

/// A workflow, cancelled while its payment is under way.
async fn paying_workflow() -> Ready {
    let fixture = lines::stage(vec![lines::line()]).await;
    let operator = fixture.person("operator", Role::Operator).await;
    let flow = drift::mailed(&fixture).await;
    flow.turn().await;
    let id = flow.id;
    drop(flow);
    let version = fixture.engine.workflow(&operator, id).await.unwrap().row.version;
    let target = Subject::new(Workflow, id.to_string());
    let cancel = ActionRequest::new(target, Verb::Cancel, version, "the customer asked for it");
    Ready::new(fixture, operator, cancel)
}

/// An event about a payment, given up, put in line again or skipped.
async fn event_of_a_payment(verb: Verb) -> Ready {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, version) = dead(&fixture).await;
    let (payment, _) = fixture.executing("k").await;
    // What an event is about never changes: it is made another's behind the triggers' back.
    let mut owner = fixture.pool().acquire().await.unwrap();
    owner.execute("set session_replication_role = replica").await.unwrap();
    let about = sqlx::query("update outbox set operation_id = $1 where id = $2");
    about.bind(payment.uuid()).bind(id.uuid()).execute(&mut *owner).await.unwrap();
    owner.execute("reset session_replication_role").await.unwrap();
    drop(owner);
    let target = Subject::new(Outbox, id.to_string());
    let decide = ActionRequest::new(target, verb, version, "the receiver was mended");
    Ready::new(fixture, operator, decide)
}

/// A message that asks for a payment, older than what its consumer remembers.
async fn paying_message(verb: Verb) -> Ready {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let id = fixture.quarantined("m-1").await.id;
    let target = Subject::new(Inbox, id.to_string());
    let decide = ActionRequest::new(target, verb, 1, "seen at the provider");
    Ready::new(fixture, operator, decide)
}

/// A bulk that cancels payments, started.
async fn bulk_of_payments() -> Ready {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let ids = [queued(&fixture, "k-1").await, queued(&fixture, "k-2").await];
    let id = fixture.freeze_picked(&operator, Verb::Cancel, &ids).await.unwrap().id;
    fixture.advance().await;
    let version = fixture.engine.bulk(&operator, id).await.unwrap().row.version;
    let target = Subject::new(Bulk, id.to_string());
    let run = ActionRequest::new(target, Verb::Run, version, "they are all cancelled");
    Ready::new(fixture, operator, run)
}

/// A worker's lease that still stands, taken away.
async fn live_lease() -> Ready {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, _) = fixture.executing("k").await;
    let version = fixture.engine.operation_for_service(&fixture.service, id).await.unwrap().version;
    let release = ActionRequest { force: true, ..action(id, Verb::Release, version) };
    Ready::new(fixture, operator, release)
}

#[tokio::test]
async fn whatever_money_moves_by_and_a_live_lease_take_a_fresh_factor() {
    // One after the other: each has a database of its own.
    let mut tried = asks("a payment cancelled", queued_payment().await).await;
    tried += asks("a workflow that pays", paying_workflow().await).await;
    tried += asks("a payment's event again", event_of_a_payment(Verb::Requeue).await).await;
    tried += asks("a payment's event skipped", event_of_a_payment(Verb::Skip).await).await;
    tried += asks("a message that pays", paying_message(Verb::Run).await).await;
    tried += asks("a message that pays, dropped", paying_message(Verb::Drop).await).await;
    tried += asks("a bulk of payments", bulk_of_payments().await).await;
    tried += asks("a lease that still stands", live_lease().await).await;
    testkit::threat("T12", tried, 0);
}
