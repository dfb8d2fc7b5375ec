//! Steps that an executor outside carries out: a service takes a step's operation under a lease,
//! and ends it with what it brought forth in one transaction (D31).
//!
//! Guards against the artifact that belongs to no end, and the end without its artifacts: a
//! checkpoint is the operation's finish, the step's move and the artifacts, or none of them.

use domain::{
    ids::{OperationId, WorkflowId},
    operation::Status,
    problem::Code,
    workflow::StepState,
};
use sqlx::PgConnection;

use super::view::ServiceWorkflow;
use crate::{
    Engine,
    caller::ServiceCaller,
    definition::{DECISION, RESPONSE},
    error::EngineError,
    operations::{
        ClaimedWork, Finish, FinishOutcome, Finished, finish_in, hand_out, lock_with_kind, retrying,
    },
    store::{
        Target,
        artifact::{self, Artifact},
        lease, operation,
        step::{self, Step},
        workflow::Address,
    },
};

/// Artifacts of one checkpoint.
const MAX_ARTIFACTS: usize = 100;

/// The answer to who wants to do a step.
#[derive(Clone, Debug)]
pub enum StepAdmission {
    /// The caller holds its operation and may start it.
    Won(Box<ClaimedWork>),
    /// It is over.
    Over(StepState),
    /// Its predecessors are not over, or its workflow does not run.
    NotReady,
    /// Somebody is at it.
    InProgress {
        /// Its operation.
        id: OperationId,
    },
    /// It will be tried again later.
    RetryLater {
        /// Its operation.
        id: OperationId,
        /// When, in seconds.
        retry_after_s: u64,
    },
    /// Nobody knows whether it happened.
    OutcomeUnknown {
        /// Its operation.
        id: OperationId,
    },
}

impl Engine {
    /// Takes a step's operation under a lease of the caller's. A step that has become ready is
    /// started for it.
    ///
    /// # Errors
    /// Refused: `not_found`, `token_scope`.
    pub async fn take_step(
        &self,
        by: &ServiceCaller,
        id: WorkflowId,
        step_key: &str,
    ) -> Result<StepAdmission, EngineError> {
        let (engine, by, key) = (self.clone(), by.clone(), step_key.to_owned());
        Self::detached(async move {
            let at = Address { tenant: by.tenant_id(), id };
            let mut db = engine.pools.engine().acquire().await?;
            let step = owned_step(&mut db, &by, at, &key).await?;
            drop(db);
            if step.status == StepState::Pending {
                retrying(|| engine.take_workflow_turn(at)).await?;
            }
            retrying(|| engine.take_step_once(&by, at, &key)).await
        })
        .await
    }

    async fn take_step_once(
        &self,
        by: &ServiceCaller,
        at: Address,
        key: &str,
    ) -> Result<StepAdmission, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let step = owned_step(&mut tx, by, at, key).await?;
        let Some(id) = step.operation_id.filter(|_| step.status.is_open()) else {
            let over = domain::machine::Machine::is_final(step.status);
            return Ok(if over {
                StepAdmission::Over(step.status)
            } else {
                StepAdmission::NotReady
            });
        };
        let target = Target { tenant: at.tenant, id };
        let (row, _) = lock_with_kind(&mut tx, target).await?;
        by.require(&row.operation)?;
        match row.status {
            Status::Succeeded | Status::FailedTerminal => {
                // It ended since the step was read.
                let step = owned_step(&mut tx, by, at, key).await?;
                return Ok(StepAdmission::Over(step.status));
            }
            Status::Unknown => return Ok(StepAdmission::OutcomeUnknown { id }),
            Status::Executing => return Ok(StepAdmission::InProgress { id }),
            Status::FailedRetryable => {
                if let Some(next_at) = row.next_at.filter(|next_at| *next_at > row.now) {
                    let left = (next_at - row.now).num_seconds() + 1;
                    let retry_after_s = u64::try_from(left).unwrap_or(1).clamp(1, 60);
                    return Ok(StepAdmission::RetryLater { id, retry_after_s });
                }
            }
            Status::Reserved => {}
        }
        if lease::lock(&mut tx, target).await?.is_some_and(|held| held.is_live()) {
            return Ok(StepAdmission::InProgress { id });
        }
        let work = hand_out(&mut tx, at.tenant, vec![id], None, &by.actor()).await?;
        tx.commit().await?;
        Ok(work.into_iter().next().map_or(StepAdmission::OutcomeUnknown { id }, |work| {
            StepAdmission::Won(Box::new(work))
        }))
    }

    /// Ends a step's call and stores what it brought forth, in one transaction. Repeated with the
    /// same words, the same answer; artifacts of a repeat must be those that are stored.
    ///
    /// # Errors
    /// Refused: as [`Engine::finish`]; `unprocessable` for artifacts that do not fit.
    pub async fn checkpoint(
        &self,
        by: &ServiceCaller,
        id: WorkflowId,
        step_key: &str,
        finish: Finish,
        artifacts: Vec<Artifact>,
    ) -> Result<Finished, EngineError> {
        check(&finish, &artifacts, self.settings.limits.artifact_bytes)?;
        let (engine, by, key) = (self.clone(), by.clone(), step_key.to_owned());
        Self::detached(async move {
            let at = Address { tenant: by.tenant_id(), id };
            retrying(|| async {
                let mut tx = engine.pools.begin_engine().await?;
                let step = owned_step(&mut tx, &by, at, &key).await?;
                let id = step.operation_id.ok_or_else(|| EngineError::refused(Code::FenceLost))?;
                let target = Target { tenant: at.tenant, id };
                let row = operation::lock(&mut tx, target)
                    .await?
                    .ok_or_else(|| EngineError::refused(Code::NotFound))?;
                let first = row.status == Status::Executing && row.fence == finish.fence;
                let limits = &engine.settings.limits;
                let covers = |kind: &str| by.require(kind);
                let finished =
                    finish_in(&mut tx, target, &finish, limits, by.actor(), covers).await?;
                if let Finished::Done { status: Status::Succeeded, .. } = finished {
                    for artifact in &artifacts {
                        if first {
                            artifact::insert(&mut tx, at, &key, artifact).await?;
                        } else {
                            same_as_stored(&mut tx, at, &key, artifact).await?;
                        }
                    }
                }
                tx.commit().await?;
                Ok(finished)
            })
            .await
        })
        .await
    }

    /// What a step brought forth, byte for byte.
    ///
    /// # Errors
    /// Refused: `not_found`, also where it has expired.
    pub async fn artifact(
        &self,
        by: &ServiceCaller,
        id: WorkflowId,
        step_key: &str,
        name: &str,
    ) -> Result<Artifact, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        let (key, name) = (step_key.to_owned(), name.to_owned());
        Self::detached(async move {
            let at = Address { tenant: by.tenant_id(), id };
            let mut db = engine.pools.engine().acquire().await?;
            owned(&mut db, &by, at).await?;
            artifact::find(&mut db, at, &key, &name)
                .await?
                .ok_or_else(|| EngineError::refused(Code::NotFound))
        })
        .await
    }

    /// A workflow of the service's tenant, all of whose operations its token covers.
    ///
    /// # Errors
    /// Refused: `not_found`.
    pub async fn workflow_for_service(
        &self,
        by: &ServiceCaller,
        id: WorkflowId,
    ) -> Result<ServiceWorkflow, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let at = Address { tenant: by.tenant_id(), id };
            let mut db = engine.pools.engine().acquire().await?;
            let steps = owned(&mut db, &by, at).await?;
            super::view::for_service(&mut db, at, steps).await
        })
        .await
    }
}

/// The steps of a workflow that the caller may know of; any other is not found.
pub(super) async fn owned(
    db: &mut PgConnection,
    by: &ServiceCaller,
    at: Address,
) -> Result<Vec<Step>, EngineError> {
    let steps = step::of(db, at).await?;
    let covered =
        steps.iter().filter_map(|step| step.operation.as_deref()).all(|kind| by.covers(kind));
    if steps.is_empty() || !covered {
        return Err(EngineError::refused(Code::NotFound));
    }
    Ok(steps)
}

/// One of them. A step is done by whoever covers its own operation.
async fn owned_step(
    db: &mut PgConnection,
    by: &ServiceCaller,
    at: Address,
    key: &str,
) -> Result<Step, EngineError> {
    step::find(db, at, key)
        .await?
        .filter(|step| step.operation.as_deref().is_some_and(|kind| by.covers(kind)))
        .ok_or_else(|| EngineError::refused(Code::NotFound))
}

fn check(finish: &Finish, artifacts: &[Artifact], most: usize) -> Result<(), EngineError> {
    let unfit = |detail: &str| Err(EngineError::field(Code::Unprocessable, "artifacts", detail));
    if artifacts.len() > MAX_ARTIFACTS {
        return unfit("at most 100 artifacts");
    }
    if !artifacts.is_empty() && finish.outcome != FinishOutcome::Done {
        return unfit("only a step that is done brings artifacts forth");
    }
    for (index, artifact) in artifacts.iter().enumerate() {
        let name = &artifact.name;
        if !(1..=128).contains(&name.chars().count()) || name.chars().any(char::is_control) {
            return unfit("an artifact's name has 1 to 128 characters and no control characters");
        }
        if name == RESPONSE || name == DECISION {
            return unfit(
                "response is the provider's answer, and decision the engine's: take another name",
            );
        }
        if artifacts[..index].iter().any(|other| other.name == *name) {
            return unfit("two artifacts have the same name");
        }
        let kind = &artifact.content_type;
        if !(1..=255).contains(&kind.len()) || !kind.bytes().all(|b| (b' '..=b'~').contains(&b)) {
            return unfit("a content type has 1 to 255 visible ASCII characters");
        }
        if artifact.body.len() > most {
            return unfit(&format!("an artifact has at most {most} bytes"));
        }
    }
    Ok(())
}

async fn same_as_stored(
    db: &mut PgConnection,
    at: Address,
    key: &str,
    artifact: &Artifact,
) -> Result<(), EngineError> {
    let stored = artifact::of_step(db, at, key).await?;
    let same =
        stored.iter().any(|known| known.name == artifact.name && known.sha256 == artifact.sha256());
    if same {
        return Ok(());
    }
    Err(EngineError::field(
        Code::Unprocessable,
        "artifacts",
        format!(
            "the step ended before without this {}: the first checkpoint stands",
            artifact.name
        ),
    ))
}
