//! Making moves inside a transaction: the guard of evidence, the lease that ends with the state,
//! and the event that is told, in one place for workers, reconcilers, webhooks and people.

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    ids::{OperationId, TenantId},
    operation::{Event, Status, is_told},
};
use serde_json::json;
use sqlx::PgConnection;

use super::{
    follow::{self, Then},
    guards::gives_way_to_evidence,
    links,
};
use crate::{
    actor::Actor,
    error::EngineError,
    store::{
        evidence,
        incident::{self, Subject},
        kind::KindPolicy,
        lease,
        operation::{self, Change, Operation},
        outbox,
    },
};

/// An event to be written when the moves are over.
struct Told {
    tenant: TenantId,
    operation: Option<OperationId>,
    aggregate: String,
    topic: String,
    payload: Vec<u8>,
}

/// The moves of one transaction. [`Moves::finish`] must end it: events are inserted last, sorted,
/// so that locks on aggregates cannot cross (D25).
pub(crate) struct Moves<'a> {
    pub(crate) db: &'a mut PgConnection,
    pub(crate) actor: Actor,
    told: Vec<Told>,
}

impl<'a> Moves<'a> {
    pub(crate) const fn new(db: &'a mut PgConnection, actor: Actor) -> Self {
        Self { db, actor, told: Vec::new() }
    }

    /// Moves a locked row, and returns the event that was really made: unrefuted evidence of Done
    /// turns a move that would repeat or deny the effect into `unknown`, with an incident.
    pub(crate) async fn make(
        &mut self,
        row: &mut Operation,
        kind: &KindPolicy,
        event: Event,
        mut change: Change,
    ) -> Result<Event, EngineError> {
        let mut event = event;
        if gives_way_to_evidence(event) && evidence::any_done(self.db, row.target).await? {
            self.open_incident(
                row,
                "done_on_record",
                "Evidence says that it happened, while it was about to be recorded or repeated as not done.",
            )
            .await?;
            let mut detail = change.detail.take().unwrap_or_else(|| json!({}));
            detail["halted"] = json!(event.rule());
            change = Change { detail: Some(detail), ..Change::default() };
            event = Event::DoneOnRecord;
        }
        self.apply(row, kind, event, change).await?;
        if event == Event::DoneOnRecord {
            self.prove_by_record(row, kind).await?;
        }
        Ok(event)
    }

    /// A signed webhook that came before the status was unknown and named the right amount and
    /// target is itself the proof, now that it is (O16). Says whether there was one.
    pub(crate) async fn prove_by_record(
        &mut self,
        row: &mut Operation,
        kind: &KindPolicy,
    ) -> Result<bool, EngineError> {
        let Some(proof) =
            evidence::done_on_record(self.db, row.target).await?.filter(|known| known.proves)
        else {
            return Ok(false);
        };
        let detail = Some(json!({
            "source": proof.source,
            "says": "done",
            "external_reference": proof.external_reference,
        }));
        let change =
            Change { external_reference: proof.external_reference, detail, ..Change::default() };
        self.apply(row, kind, Event::ProofDone, change).await?;
        Ok(true)
    }

    async fn apply(
        &mut self,
        row: &mut Operation,
        kind: &KindPolicy,
        event: Event,
        mut change: Change,
    ) -> Result<(), EngineError> {
        let to = domain::operation::next(Some(row.status), event)
            .map_err(|illegal| EngineError::Unreadable(illegal.to_string()))?
            .to;
        if to.is_final() && !row.status.is_final() {
            change.expires_at = kind.retention_ms.and_then(|ms| after(row.now, ms));
        }
        if to == Status::Unknown && row.status != Status::Unknown {
            change.next_reconcile_at = Some(row.now);
            change.reconcile_tries = Some(0);
            change.ask_by = Some("lookup");
        }
        let (was, brought) = ((row.status, row.needs_manual), change.brought.take());
        operation::advance(self.db, row, event, &self.actor, change).await?;
        if !matches!(
            event,
            Event::Start | Event::TakeOver | Event::ClaimReconcile | Event::LateEvidence
        ) {
            lease::end(self.db, row.target).await?;
        }
        if is_told(event) {
            let payload = told_payload(row, event);
            let topic = format!("operation.{}", row.status);
            self.tell(row, row.target.id.to_string(), topic, payload);
        }
        if was != (row.status, row.needs_manual) {
            links::follow(self, row, was.0).await?;
        }
        let then =
            follow::step_of(self.db, row, was.0, event, &self.actor, brought.as_ref()).await?;
        if then == Then::GiveUp {
            let change = Change { failure_code: Some("workflow_undone"), ..Change::default() };
            Box::pin(self.make(row, kind, Event::GiveUp, change)).await?;
        }
        Ok(())
    }

    /// Opens an incident about an operation.
    pub(crate) async fn open_incident(
        &mut self,
        row: &Operation,
        cause: &str,
        summary: &str,
    ) -> Result<(), EngineError> {
        let about = Subject { operation: Some(row.target.id), ..Subject::default() };
        self.open_incident_about(row.target.tenant, about, cause, summary).await
    }

    /// Opens an incident about whatever it links, and tells it: once, for a second finding of the
    /// same cause meets the one that is open.
    pub(crate) async fn open_incident_about(
        &mut self,
        tenant: TenantId,
        about: Subject,
        cause: &str,
        summary: &str,
    ) -> Result<(), EngineError> {
        let Some(id) = incident::open(self.db, tenant, about, cause, summary).await? else {
            return Ok(());
        };
        let payload = json!({
            "incident_id": id,
            "cause": cause,
            "summary": summary,
            "operation_id": about.operation,
            "workflow_id": about.workflow,
            "compensation_id": about.compensation,
            "event_id": about.event,
            "message_id": about.message,
        });
        // An operation's incident is told in the order of the operation's own events; every other
        // has an aggregate of its own.
        let aggregate = about.operation.map_or_else(|| id.to_string(), |id| id.to_string());
        self.told.push(Told {
            tenant,
            operation: about.operation,
            aggregate,
            topic: "incident.opened".into(),
            payload: payload.to_string().into_bytes(),
        });
        Ok(())
    }

    /// Adds an event of the service's own.
    pub(crate) fn tell(
        &mut self,
        row: &Operation,
        aggregate: String,
        topic: String,
        payload: Vec<u8>,
    ) {
        let (tenant, operation) = (row.target.tenant, Some(row.target.id));
        self.told.push(Told { tenant, operation, aggregate, topic, payload });
    }

    /// Adds an event about something else than an operation.
    pub(crate) fn tell_other(
        &mut self,
        tenant: TenantId,
        aggregate: String,
        topic: String,
        payload: Vec<u8>,
    ) {
        self.told.push(Told { tenant, operation: None, aggregate, topic, payload });
    }

    /// Writes the events and ends the moves.
    pub(crate) async fn finish(self) -> Result<(), EngineError> {
        write(self.db, self.told).await
    }

    /// The events, to be written with those of other moves of the same transaction.
    pub(crate) fn into_told(self) -> TheTold {
        TheTold(self.told)
    }

    /// Writes the events of several moves at once.
    pub(crate) async fn write_all(
        db: &mut PgConnection,
        told: Vec<TheTold>,
    ) -> Result<(), EngineError> {
        write(db, told.into_iter().flat_map(|told| told.0).collect()).await
    }
}

/// Events that are not written yet.
pub(crate) struct TheTold(Vec<Told>);

/// A stable sort: events of one aggregate stay in the order they were told.
async fn write(db: &mut PgConnection, mut told: Vec<Told>) -> Result<(), EngineError> {
    told.sort_by(|a, b| (a.tenant.uuid(), &a.aggregate).cmp(&(b.tenant.uuid(), &b.aggregate)));
    for told in told {
        outbox::add(db, told.tenant, &told.aggregate, &told.topic, &told.payload, told.operation)
            .await?;
    }
    Ok(())
}

fn told_payload(row: &Operation, event: Event) -> Vec<u8> {
    json!({
        "operation_id": row.target.id,
        "operation": row.operation,
        "key": row.key,
        "status": row.status,
        "version": row.version,
        "rule": event.rule(),
        "needs_manual": row.needs_manual,
        "external_reference": row.external_reference,
        "amount_minor": row.amount.as_ref().map(|money| money.amount_minor),
        "currency": row.amount.as_ref().map(|money| &money.currency),
    })
    .to_string()
    .into_bytes()
}

/// An instant some milliseconds later; `None` past the end of time.
pub(crate) fn after(at: DateTime<Utc>, ms: i64) -> Option<DateTime<Utc>> {
    at.checked_add_signed(TimeDelta::try_milliseconds(ms)?)
}
