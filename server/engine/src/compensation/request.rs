//! Asking for an undo (C1), and what becomes of the request by what the forward operation is or
//! turns out to be (C2 to C5).

use domain::{
    compensation::{CompensationState, Effect},
    ids::{CompensationId, OperationId, WorkflowId},
    machine::Machine as _,
    money::Money,
    operation::{Event, Status},
    problem::Code,
    view::ReceiptState,
};
use serde_json::json;
use sqlx::PgConnection;

use super::payload::{Forward, undo_work};
use crate::{
    actor::Actor,
    crash::crash_point,
    error::EngineError,
    operations::{Enqueued, Moves, OwnRequest, enqueue, lock_with_kind},
    settings::Settings,
    store::{
        Target, answer, compensation,
        compensation::{Link, LinkChange, NewLink},
        correction, kind,
        kind::KindPolicy,
        operation::{Change, Operation},
        workflow::{self, Address},
    },
};

/// A request to undo one operation.
pub struct UndoRequest<'a> {
    /// What.
    pub target: Target,
    /// The version that the page showed; `None` for the engine's own requests.
    pub version: Option<i64>,
    /// How much of it; `None`: all.
    pub amount: Option<&'a Money>,
    /// Why.
    pub reason: &'a str,
}

/// What became of a request.
#[derive(Debug)]
pub struct Requested {
    /// The forward operation before.
    pub before: ReceiptState,
    /// The forward operation after: a request may cancel it (O3, O14).
    pub after: ReceiptState,
    /// The link.
    pub link: CompensationId,
    /// Where the link stands.
    pub status: CompensationState,
    /// The undo, where one was reserved.
    pub undo: Option<OperationId>,
}

/// What a request would start.
#[derive(Debug)]
pub struct Foreseen {
    /// The kind that undoes it.
    pub undo: String,
    /// How much goes back.
    pub amount: Option<Money>,
    /// Whether money moves by it: then it takes two people.
    pub money: bool,
}

/// Asks for the undo of an operation, inside the transaction of whoever decides.
///
/// # Errors
/// Refused with nothing done: `not_found`; `stale`; `not_allowed_in_state` with a sentence where it
/// cannot be undone, expired, is undone already, or is a step of a workflow under way;
/// `unprocessable` for an amount that does not fit.
pub async fn request_in(
    tx: &mut PgConnection,
    settings: &Settings,
    by: &Actor,
    ask: &UndoRequest<'_>,
) -> Result<Requested, EngineError> {
    let (mut row, kind) = lock_with_kind(tx, ask.target).await?;
    let before = row.state();
    if ask.version.is_some_and(|version| version != row.version) {
        return Err(EngineError::refused_with(Code::Stale, |refusal| {
            refusal.current = Some(row.state());
        }));
    }
    refuse_in_workflow(tx, &row).await?;
    let undo = undo_policy(tx, ask.target, &kind).await?.map_err(|why| cannot(&row, why))?;
    let mut moves = Moves::new(tx, by.clone());
    let new = Open { amount: ask.amount, workflow: None, reason: Some(ask.reason) };
    let link = open(&mut moves, settings, &mut row, &kind, &undo, new).await?;
    moves.finish().await?;
    Ok(Requested {
        before,
        after: row.state(),
        link: link.id,
        status: link.status,
        undo: link.undo_id,
    })
}

/// Refuses what `request_in` would refuse, and writes nothing: nobody is asked to agree to what
/// cannot be. The operation is locked.
///
/// # Errors
/// As `request_in`, but for `stale`.
pub async fn check_request(
    tx: &mut PgConnection,
    row: &Operation,
    kind: &KindPolicy,
    amount: Option<&Money>,
) -> Result<Foreseen, EngineError> {
    refuse_in_workflow(tx, row).await?;
    let undo = undo_policy(tx, row.target, kind).await?.map_err(|why| cannot(row, why))?;
    let corrected = correction::latest(tx, row.target).await?;
    if Effect::of(row.status, corrected.map(|corrected| corrected.happened)) == Effect::None {
        return Err(cannot(row, "It did not happen: there is nothing to undo.".into()));
    }
    let amount = refuse_second(tx, row, &undo, amount).await?;
    Ok(Foreseen { money: kind.money || undo.money, undo: undo.name, amount })
}

/// Whether undoing an operation of this kind takes two people: what moves money does.
pub async fn needs_second_person(
    db: &mut PgConnection,
    target: Target,
    kind: &KindPolicy,
) -> Result<bool, EngineError> {
    Ok(kind.money || undo_policy(db, target, kind).await?.is_ok_and(|undo| undo.money))
}

/// The policy of what undoes a kind, or a sentence that says why nothing does.
pub(super) async fn undo_policy(
    db: &mut PgConnection,
    target: Target,
    kind: &KindPolicy,
) -> Result<Result<KindPolicy, String>, EngineError> {
    let Some(name) = &kind.undo_kind else {
        return Ok(Err(format!(
            "Nothing can undo {}: no undo is declared for this kind.",
            kind.name
        )));
    };
    Ok(kind::find(db, target.tenant, name).await?.ok_or_else(|| {
        format!("{} would be undone by {name}, and there is no such kind.", kind.name)
    }))
}

/// A step is undone with its workflow, in its order, and never beside it.
async fn refuse_in_workflow(tx: &mut PgConnection, row: &Operation) -> Result<(), EngineError> {
    let Some(id) = row.workflow_id else { return Ok(()) };
    let at = Address { tenant: row.target.tenant, id: WorkflowId::new(id) };
    match workflow::lock(tx, at).await? {
        Some(workflow) if !workflow.status.is_final() => {
            let why = format!(
                "It is a step of workflow {id}, which is {}: steps are undone with their workflow, in reverse order.",
                workflow.status
            );
            Err(cannot(row, why))
        }
        _ => Ok(()),
    }
}

pub(super) fn cannot(row: &Operation, why: String) -> EngineError {
    EngineError::refused_with(Code::NotAllowedInState, |refusal| {
        refusal.current = Some(row.state());
        refusal.detail = Some(why);
    })
}

/// What a link is opened with.
pub(super) struct Open<'a> {
    pub(super) amount: Option<&'a Money>,
    pub(super) workflow: Option<(WorkflowId, &'a str)>,
    pub(super) reason: Option<&'a str>,
}

/// Opens the link of a locked operation (C1) and takes it as far as the operation's state allows.
pub(super) async fn open(
    moves: &mut Moves<'_>,
    settings: &Settings,
    row: &mut Operation,
    kind: &KindPolicy,
    undo: &KindPolicy,
    new: Open<'_>,
) -> Result<Link, EngineError> {
    let amount = refuse_second(moves.db, row, undo, new.amount).await?;
    let actor = moves.actor.clone();
    let id = compensation::insert(
        moves.db,
        row.target,
        NewLink {
            kind: &undo.name,
            amount: amount.as_ref(),
            workflow_id: new.workflow.map(|(workflow, _)| workflow),
            step_key: new.workflow.map(|(_, step)| step),
            reason: new.reason,
            actor: &actor,
        },
    )
    .await?;
    let mut link = compensation::lock(moves.db, row.target.tenant, id)
        .await?
        .ok_or_else(|| EngineError::Unreadable(format!("link {id} is gone")))?;
    drive(moves, settings, row, kind, undo, &mut link).await?;
    Ok(link)
}

/// Never a second undo, none of what is not known any more, and never more than was done.
async fn refuse_second(
    db: &mut PgConnection,
    row: &Operation,
    undo: &KindPolicy,
    asked: Option<&Money>,
) -> Result<Option<Money>, EngineError> {
    if row.tombstoned_at.is_some() {
        return Err(cannot(
            row,
            "Its contents have expired: what to undo is not known any more.".into(),
        ));
    }
    if compensation::standing(db, row.target, &undo.name).await?.is_some() {
        let why =
            format!("Its undo by {} was asked for before; there is never a second one.", undo.name);
        return Err(cannot(row, why));
    }
    how_much(db, row, undo, asked).await
}

/// How much goes back; the sum of all undos, unknown ones counted, never exceeds the forward amount.
/// The forward operation's lock is held.
async fn how_much(
    db: &mut PgConnection,
    row: &Operation,
    undo: &KindPolicy,
    asked: Option<&Money>,
) -> Result<Option<Money>, EngineError> {
    let unfit =
        |field: &str, detail: String| Err(EngineError::field(Code::Unprocessable, field, detail));
    if !undo.money {
        return match asked {
            Some(_) => {
                unfit("amount_minor", format!("{} moves no money: it takes no amount", undo.name))
            }
            None => Ok(None),
        };
    }
    let Some(whole) = &row.amount else {
        return Err(cannot(row, format!("{} moves money, and no amount is on record.", undo.name)));
    };
    let amount = asked.unwrap_or(whole);
    if amount.currency != whole.currency {
        return unfit("currency", format!("it was done in {}", whole.currency));
    }
    if amount.amount_minor <= 0 {
        return unfit("amount_minor", "an amount to give back is more than nothing".into());
    }
    let left = whole.amount_minor - compensation::given_back(db, row.target).await?;
    if amount.amount_minor > left {
        let left = Money { amount_minor: left.max(0), currency: whole.currency.clone() };
        let detail = format!(
            "of {whole} at most {left} is left to give back: undos under way and of unknown outcome count"
        );
        return unfit("amount_minor", detail);
    }
    Ok(Some(amount.clone()))
}

/// Takes a link that waits as far as its forward operation allows (C2 to C5). Both are locked.
pub(super) async fn drive(
    moves: &mut Moves<'_>,
    settings: &Settings,
    row: &mut Operation,
    kind: &KindPolicy,
    undo: &KindPolicy,
    link: &mut Link,
) -> Result<(), EngineError> {
    use CompensationState as C;
    loop {
        let corrected = correction::latest(moves.db, row.target).await?;
        let happened = corrected.as_ref().map(|corrected| corrected.happened);
        let event = match (Effect::of(row.status, happened), row.status) {
            (Effect::Happened, _) => {
                return begin(moves, settings, row, undo, link, "C5", None).await;
            }
            (Effect::None, _) => return settle(moves, row, link, "C4", C::NotNeeded).await,
            (Effect::Open, Status::Reserved) => Event::Cancel,
            (Effect::Open, Status::FailedRetryable) => Event::GiveUp,
            // Nothing is undone before it is known whether it happened (D34).
            (Effect::Open, _) if link.status == C::Requested => {
                return settle(moves, row, link, "C3", C::WaitingForward).await;
            }
            (Effect::Open, _) => return Ok(()),
        };
        let detail = Some(json!({"compensation": link.id}));
        let change = Change { failure_code: Some("cancelled"), detail, ..Change::default() };
        // Evidence that it did happen turns this into unknown or succeeded: look again.
        if moves.make(row, kind, event, change).await? == event {
            return settle(moves, row, link, "C2", C::NotNeeded).await;
        }
    }
}

async fn settle(
    moves: &mut Moves<'_>,
    row: &Operation,
    link: &mut Link,
    rule: &str,
    to: CompensationState,
) -> Result<(), EngineError> {
    let detail = Some(json!({"forward": row.status, "rule": row.ended_by.map(Event::rule)}));
    let actor = moves.actor.clone();
    compensation::advance(
        moves.db,
        link,
        rule,
        to,
        &actor,
        LinkChange { detail, ..LinkChange::default() },
    )
    .await
}

/// Reserves the undo (C5), or that of the next n (C9).
pub(super) async fn begin(
    moves: &mut Moves<'_>,
    settings: &Settings,
    row: &Operation,
    undo: &KindPolicy,
    link: &mut Link,
    rule: &str,
    reason: Option<&str>,
) -> Result<(), EngineError> {
    let payload = answer::payload(moves.db, row.target).await?;
    let corrected = correction::latest(moves.db, row.target).await?;
    let forward = Forward::of(row, corrected.as_ref());
    let work =
        undo_work(&forward, undo, payload.as_deref(), link.amount.as_ref(), &settings.limits)
            .map_err(|why| cannot(row, why))?;
    let n = link.n + i32::from(rule == "C9");
    let ask = OwnRequest {
        tenant: link.tenant,
        operation: &undo.name,
        key: &format!("comp:{}:{}:{n}", link.operation_id, undo.name),
        payload: &work.payload,
        amount_minor: work.amount.as_ref().map(|money| money.amount_minor),
        currency: work.amount.as_ref().map(|money| money.currency.as_str()),
        workflow_id: link.workflow_id.map(WorkflowId::uuid),
        step_key: link.step_key.as_deref(),
    };
    let actor = moves.actor.clone();
    // The link's lock makes its key its own: one that is taken was not reserved by this link.
    let Enqueued::Fresh(id) = enqueue(moves.db, &actor, settings, &ask).await? else {
        return Err(EngineError::Unreadable(format!(
            "the key {} was taken under the lock",
            ask.key
        )));
    };
    crash_point!("W4");
    let detail = Some(json!({"undo": id, "key": ask.key, "n": n, "reason": reason}));
    let change = LinkChange { undo: Some(id), detail, ..LinkChange::default() };
    compensation::advance(moves.db, link, rule, CompensationState::Running, &actor, change).await?;
    Ok(())
}
