//! Workflows for people: a list by key, and one with its steps, artifacts and story.

use std::collections::BTreeSet;

use domain::{
    access::Permission,
    action::{Subject, TargetType},
    ids::WorkflowId,
    listing::{Page, WorkflowFilter},
    machine::Machine as _,
    problem::Code,
    view::{StepView, WorkflowDetail, WorkflowRow},
};
use sqlx::PgConnection;

use super::bounds;
use super::detail::open_requests;
use super::list::{beginning, cursors, id_range};
use super::offers::offers;
use crate::{
    Engine, StaffCaller,
    compensation::plan_of_workflow,
    database::Tx,
    error::EngineError,
    settings::Limits,
    store::{
        artifact, audit, flow_links, kind, lease, step,
        workflow::Address,
        workflow_listing::{self, Narrowing},
    },
    workflows::shown,
};

/// Matches that a search reads.
const MAX_MATCHES: i64 = 500;
/// Moves that a page shows.
const MAX_MOVES: usize = 2_000;

impl Engine {
    /// One page of workflows, newest first.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `filter_invalid` with the part named.
    pub async fn list_workflows(
        &self,
        by: &StaffCaller,
        filter: &WorkflowFilter,
    ) -> Result<Page<WorkflowRow>, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by, filter) = (self.clone(), by.clone(), filter.clone());
        Self::detached(async move {
            let tenant = by.tenant_id();
            let mut tx = engine.pools.begin_console(tenant).await?;
            let as_of = lease::clock(&mut tx).await?;
            let (mut narrowing, narrow) = found(&engine, &mut tx, &by, &filter).await?;
            let limit = usize::try_from(narrowing.limit).unwrap_or_default();
            narrowing.limit += 1;
            let mut ids = workflow_listing::ids(&mut tx, &narrowing).await?;
            let further = ids.len() > limit;
            ids.truncate(limit);
            let items = workflow_listing::rows(&mut tx, tenant, &ids).await?;
            tx.commit().await?;
            let uuids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
            let (next, previous) = cursors(narrowing.cursor, &uuids, further);
            Ok(Page { items, next, previous, narrow, as_of })
        })
        .await
    }

    /// One workflow.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for one of another tenant.
    pub async fn workflow(
        &self,
        by: &StaffCaller,
        id: WorkflowId,
    ) -> Result<WorkflowDetail, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by, tenant) = (self.clone(), by.clone(), by.tenant_id());
        Self::detached(async move {
            let at = Address { tenant, id };
            let not_found = || EngineError::refused(Code::NotFound);
            let mut tx = engine.pools.begin_console(tenant).await?;
            let row = workflow_listing::rows(&mut tx, tenant, &[id])
                .await?
                .pop()
                .ok_or_else(not_found)?;
            let more = workflow_listing::more(&mut tx, at).await?.ok_or_else(not_found)?;
            let artifacts = artifact::list(&mut tx, at).await?;
            let steps = shown(step::of(&mut tx, at).await?, &artifacts);
            let masking = masking(&mut tx, at, &steps).await?;
            let (timeline, timeline_older) =
                workflow_listing::timeline(&mut tx, at, MAX_MOVES).await?;
            let plan = plan_of_workflow(&mut tx, &engine.settings.limits, at).await?;
            let calls = flow_links::calls(&mut tx, at).await?;
            let subject = Subject::new(TargetType::Workflow, id.to_string());
            let approvals = open_requests(&mut tx, &by, &subject).await?;
            let audit = audit::of_record(&mut tx, tenant, &subject.id).await?;
            tx.commit().await?;
            let served_here = engine.workflows.get(&row.kind, row.definition_version).is_some();
            let mut actions = offers(&by, TargetType::Workflow, row.status.as_str());
            for offer in &mut actions {
                let waits = approvals.iter().any(|asked| asked.verb == offer.verb);
                offer.refusal = offer.refusal.or(waits.then_some(Code::ApprovalPending));
            }
            Ok(WorkflowDetail {
                masking,
                actions,
                calls,
                approvals,
                audit,
                row,
                as_of: more.now,
                input_bytes: more.input_bytes,
                created_by: more.created_by,
                owner: more.owner,
                fence: more.fence,
                cancel_asked: more.cancel_asked,
                served_here,
                steps,
                plan,
                timeline,
                timeline_older,
            })
        })
        .await
    }
}

/// A filter as the store takes it, with what its search finds, and whether the search matches more than
/// is read.
pub(super) async fn found(
    engine: &Engine,
    tx: &mut PgConnection,
    by: &StaffCaller,
    filter: &WorkflowFilter,
) -> Result<(Narrowing, bool), EngineError> {
    let mut narrowing = narrow(by, filter, &engine.settings.limits)?;
    let Some(q) = bounds::given(&filter.q) else { return Ok((narrowing, false)) };
    let (first, last) = beginning(&q);
    let text = (first.as_str(), last.as_str());
    let (found, more) =
        workflow_listing::search(tx, by.tenant_id(), text, id_range(&q), MAX_MATCHES).await?;
    narrowing.found = Some(found);
    Ok((narrowing, more))
}

/// Which kinds of the steps mask fields. One that is gone masks all: nobody can say any more what.
async fn masking(tx: &mut Tx, at: Address, steps: &[StepView]) -> Result<Vec<String>, EngineError> {
    let kinds: BTreeSet<_> = steps.iter().filter_map(|step| step.operation.clone()).collect();
    let mut masking = Vec::new();
    for name in kinds {
        let kind = kind::find(tx, at.tenant, &name).await?;
        if kind.is_none_or(|kind| !kind.masked_pointers.is_empty()) {
            masking.push(name);
        }
    }
    Ok(masking)
}

fn narrow(
    by: &StaffCaller,
    filter: &WorkflowFilter,
    limits: &Limits,
) -> Result<Narrowing, EngineError> {
    let (cursor, limit) = bounds::page(
        &[("q", &filter.q), ("kind", &filter.kind)],
        &filter.cursor,
        filter.limit,
        limits,
    )?;
    Ok(Narrowing {
        tenant: by.tenant_id(),
        status: filter.status.map(|status| status.as_str().to_owned()),
        kind: filter.kind.clone().filter(|kind| !kind.is_empty()),
        found: None,
        cursor,
        limit,
    })
}
