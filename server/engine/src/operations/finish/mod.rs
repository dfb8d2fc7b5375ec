//! The end of a call (O6 to O10). A former owner changes nothing; its words go to [`super::late`].

mod check;
mod end;

use domain::{ids::OperationId, money::Money, operation::Status, problem::Code};

use check::check;
use end::end_call;

use super::{
    late::{Said, keep_evidence},
    lock_with_kind,
    moves::Moves,
    retrying,
};
use crate::{
    Engine,
    actor::Actor,
    caller::ServiceCaller,
    crash::is_off,
    database::Tx,
    error::EngineError,
    settings::Limits,
    store::{Target, answer::StoredAnswer, event},
};

/// What the provider's answer means (D10). Anything that is not plainly one of the first three is
/// ambiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishOutcome {
    /// The effect happened.
    Done,
    /// Definitely not, and pointless to repeat.
    Rejected,
    /// Definitely not this time, and nothing is stored under the key.
    NotDone,
    /// It may have happened.
    Ambiguous,
}

impl FinishOutcome {
    /// The word on the wire and in evidence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Rejected => "rejected",
            Self::NotDone => "not_done",
            Self::Ambiguous => "ambiguous",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Done, Self::Rejected, Self::NotDone, Self::Ambiguous]
            .into_iter()
            .find(|outcome| outcome.as_str() == text)
    }
}

/// An event of the service's own, stored in the transaction of the finish.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// What it is about; events of one aggregate are told in order.
    pub aggregate: String,
    /// Its topic.
    pub topic: String,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// The end of a call.
#[derive(Clone, Debug)]
pub struct Finish {
    /// The lease it was made under.
    pub fence: i64,
    /// What the answer means.
    pub outcome: FinishOutcome,
    /// The provider's reference.
    pub external_reference: Option<String>,
    /// The amount in the answer.
    pub amount_minor: Option<i64>,
    /// Its currency.
    pub currency: Option<String>,
    /// What to replay to clients.
    pub response: Option<StoredAnswer>,
    /// The service's own events.
    pub events: Vec<NewEvent>,
}

/// What became of [`Finish`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// It ended the call; repeated with the same words, the same answer.
    Done {
        /// Where the operation stood after it.
        status: Status,
        /// At which version.
        version: i64,
    },
    /// The lease was lost before: kept as evidence, nothing else changed.
    LateEvidenceKept {
        /// Where the operation stands.
        status: Status,
    },
}

impl Finish {
    /// What a holder says that does not know what became of its call.
    #[must_use]
    pub const fn ambiguous(fence: i64) -> Self {
        Self {
            fence,
            outcome: FinishOutcome::Ambiguous,
            external_reference: None,
            amount_minor: None,
            currency: None,
            response: None,
            events: Vec::new(),
        }
    }
}

impl Engine {
    /// Ends a call.
    ///
    /// # Errors
    /// Refused: `fence_lost` for a fence that was never granted, `unprocessable`, `not_found`.
    pub async fn finish(
        &self,
        by: &ServiceCaller,
        id: OperationId,
        finish: Finish,
    ) -> Result<Finished, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let target = Target { tenant: by.tenant_id(), id };
            retrying(|| async {
                let mut tx = engine.pools.begin_engine().await?;
                let limits = &engine.settings.limits;
                let covers = |kind: &str| by.require(kind);
                let finished =
                    finish_in(&mut tx, target, &finish, limits, by.actor(), covers).await?;
                tx.commit().await?;
                Ok(finished)
            })
            .await
        })
        .await
    }
}

/// Ends a call inside a transaction. Of the answer so much is stored as the limits say; a workflow's
/// step keeps it whole (D31).
pub(crate) async fn finish_in(
    tx: &mut Tx,
    target: Target,
    finish: &Finish,
    limits: &Limits,
    actor: Actor,
    covers: impl Fn(&str) -> Result<(), EngineError>,
) -> Result<Finished, EngineError> {
    finish_heard(tx, target, finish, Heard::default(), limits, actor, covers).await
}

/// What a worker of ours knows of an answer beyond its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// The answer names another key or target than the request's (D10).
    pub(crate) other_target: bool,
    /// The process was told to stop and gave the call up: it may have happened (O10).
    pub(crate) drained: bool,
}

/// What ending a call goes by beside its words.
#[derive(Clone, Copy)]
struct How<'a> {
    heard: Heard,
    limits: &'a Limits,
    amount: Option<&'a Money>,
}

/// [`finish_in`], with what a worker of ours heard.
pub(crate) async fn finish_heard(
    tx: &mut Tx,
    target: Target,
    finish: &Finish,
    heard: Heard,
    limits: &Limits,
    actor: Actor,
    covers: impl Fn(&str) -> Result<(), EngineError>,
) -> Result<Finished, EngineError> {
    let amount = check(finish)?;
    let (mut row, kind) = lock_with_kind(tx, target).await?;
    covers(&row.operation)?;
    if finish.fence < 1 || finish.fence > row.fence {
        return Err(EngineError::refused(Code::FenceLost));
    }
    if let Some((status, version, said)) = event::finished_under(tx, target, finish.fence).await? {
        let same = said["outcome"] == finish.outcome.as_str()
            && said["external_reference"].as_str() == finish.external_reference.as_deref();
        if same {
            return Ok(Finished::Done { status, version });
        }
    } else if row.status == Status::Executing && (row.fence == finish.fence || is_off("fence")) {
        let how = How { heard, limits, amount: amount.as_ref() };
        end_call(tx, &mut row, &kind, finish, how, actor).await?;
        return Ok(Finished::Done { status: row.status, version: row.version });
    }
    let said = Said {
        source: "worker",
        outcome: finish.outcome,
        external_reference: finish.external_reference.as_deref(),
        amount: amount.as_ref(),
        fence: Some(finish.fence),
        provider_event: None,
        target_matches: !heard.other_target,
    };
    let mut moves = Moves::new(tx, actor);
    keep_evidence(&mut moves, &mut row, &kind, said).await?;
    moves.finish().await?;
    Ok(Finished::LateEvidenceKept { status: row.status })
}
