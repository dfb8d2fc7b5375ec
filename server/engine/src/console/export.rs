//! Exports of lists: the rows that a list's filter finds, to be kept outside the console.
//!
//! What leaves is fixed before anything is sent: the ids, at most one more than the limit allows. So an
//! export that would be too large is refused whole, and its rows are read in batches, each in a short
//! transaction of its own under the reader's tenant, as fast as whoever asked takes them (T36). The rows
//! are the list's own, masked alike (T33). One audit row says who took what.

use std::ops::Range;

use chrono::{DateTime, Utc};
use domain::{
    ids::{MessageId, OperationId, WorkflowId},
    listing::{Cursor, List, ListQuery, Parts},
    problem::Code,
    view::{
        ApprovalView, AuditRow, ConflictRow, EventRow, IncidentRow, LeaseRow, MessageRow,
        OperationRow, WorkflowRow,
    },
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    approvals, audit as audit_console, bounds::unfit, conflicts, inbox, incidents, leases,
    list as operations, outbox, told::entry, workflows,
};
use crate::{
    Engine, StaffCaller,
    actions::approval_view,
    database::Tx,
    error::EngineError,
    store::{
        approval, audit, audit_listing, conflict_listing, inbox_listing, incident_listing, lease,
        lease_listing, listing, outbox_listing, workflow_listing,
    },
};

/// Rows of one batch.
pub const MAX_BATCH: usize = 200;
/// Bounded stretches of a list that an export looks at, where no index serves its filter.
const MAX_STRETCHES: usize = 50;
/// The most of one filter's value that the audit log keeps, in characters.
const MAX_KEPT: usize = 200;
/// Filters that the audit log quotes. What was searched for is not among them: it may be a masked
/// field's value.
const QUOTED: [&str; 20] = [
    "status",
    "operation",
    "kind",
    "needs_manual",
    "conflict",
    "from",
    "to",
    "consumer",
    "source",
    "topic",
    "aggregate",
    "holder",
    "cause",
    "mine",
    "others",
    "decided",
    "actor",
    "verb",
    "target",
    "denied",
];

/// An export that was granted: which rows, fixed when it was asked for.
#[derive(Clone, Debug)]
pub struct Export {
    list: List,
    keys: Keys,
    as_of: DateTime<Utc>,
}

#[derive(Clone, Debug)]
enum Keys {
    Ids(Vec<Uuid>),
    /// Places in the audit log.
    Places(Vec<i64>),
}

impl Keys {
    fn len(&self) -> usize {
        match self {
            Self::Ids(ids) => ids.len(),
            Self::Places(places) => places.len(),
        }
    }
}

impl Export {
    /// Of which list.
    #[must_use]
    pub const fn list(&self) -> List {
        self.list
    }

    /// How many rows were found. Fewer come where one has gone since, such as a lease.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.keys.len()
    }

    /// When they were found, by the database's clock.
    #[must_use]
    pub const fn as_of(&self) -> DateTime<Utc> {
        self.as_of
    }
}

/// A batch of rows, as the list shows them.
#[derive(Clone, Debug)]
pub enum ExportedRows {
    /// Operations.
    Operations(Vec<OperationRow>),
    /// Workflows.
    Workflows(Vec<WorkflowRow>),
    /// Events.
    Outbox(Vec<EventRow>),
    /// Messages.
    Inbox(Vec<MessageRow>),
    /// Payload conflicts.
    Conflicts(Vec<ConflictRow>),
    /// Leases.
    Leases(Vec<LeaseRow>),
    /// Requests for a second person.
    Approvals(Vec<ApprovalView>),
    /// Incidents.
    Incidents(Vec<IncidentRow>),
    /// Entries of the audit log.
    Audit(Vec<AuditRow>),
}

impl Engine {
    /// Grants an export of a list: finds what its filter finds and says so in the audit log. Where a page
    /// begins and how long it is says nothing here.
    ///
    /// # Errors
    /// Refused, with one audit row: `permission_missing`; `filter_invalid` with the part named, also where
    /// the rows would be more than the limit.
    pub async fn begin_export(
        &self,
        by: &StaffCaller,
        list: List,
        parts: Vec<(String, String)>,
        format: &'static str,
    ) -> Result<Export, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let granted = engine.begin_export_untold(&by, list, parts, format).await;
            engine.told(&by, "export", ("list", list.as_str()), granted).await
        })
        .await
    }

    async fn begin_export_untold(
        &self,
        by: &StaffCaller,
        list: List,
        parts: Vec<(String, String)>,
        format: &'static str,
    ) -> Result<Export, EngineError> {
        by.require(list.right())?;
        let asked: Vec<_> = parts
            .into_iter()
            .filter(|(name, _)| !matches!(name.as_str(), "cursor" | "limit"))
            .collect();
        let quoted = quoted(&asked);
        let query = Parts::new(asked)
            .and_then(|mut parts| ListQuery::read(list, &mut parts))
            .map_err(|bad| unfit(&bad.name, bad.why.to_string()))?;
        let most = self.settings.limits.export_rows;
        let mut tx = self.pools.begin_console(by.tenant_id()).await?;
        let as_of = lease::clock(&mut tx).await?;
        let (keys, cut) = self.keys(&mut tx, by, &query, as_of, most + 1).await?;
        if cut {
            let detail = "more match than are looked through: an export would leave some out";
            return Err(unfit("q", detail));
        }
        if i64::try_from(keys.len()).is_ok_and(|found| found > most) {
            let detail = format!("an export has at most {most} rows, and the list has more");
            return Err(unfit("rows", detail));
        }
        let after = json!({ "format": format, "filter": quoted, "rows": keys.len() });
        let done = entry(by, "export", ("list", list.as_str()), None);
        audit::add(&mut tx, audit::Entry { after: Some(after), ..done }).await?;
        tx.commit().await?;
        Ok(Export { list, keys, as_of })
    }

    /// What a filter finds, in the list's order, and whether a search leaves some out.
    async fn keys(
        &self,
        tx: &mut Tx,
        by: &StaffCaller,
        query: &ListQuery,
        now: DateTime<Utc>,
        most: i64,
    ) -> Result<(Keys, bool), EngineError> {
        let (ids, cut) = match query {
            ListQuery::Operations(filter) => {
                let (mut found, cut) = operations::found(self, tx, by, filter, now).await?;
                found.limit = most;
                let ids = listing::ids(tx, &found).await?;
                (ids.into_iter().map(OperationId::uuid).collect(), cut)
            }
            ListQuery::Workflows(filter) => {
                let (mut found, cut) = workflows::found(self, tx, by, filter).await?;
                found.limit = most;
                let ids = workflow_listing::ids(tx, &found).await?;
                (ids.into_iter().map(WorkflowId::uuid).collect(), cut)
            }
            ListQuery::Outbox(filter) => {
                let (mut found, cut) = outbox::found(self, tx, by, filter, now).await?;
                found.limit = most;
                (outbox_listing::ids(tx, &found).await?, cut)
            }
            ListQuery::Inbox(filter) => {
                let (mut found, cut) = inbox::found(self, tx, by, filter, now).await?;
                found.limit = most;
                let ids = inbox_listing::ids(tx, &found).await?;
                (ids.into_iter().map(MessageId::uuid).collect(), cut)
            }
            ListQuery::Conflicts(filter) => {
                let (found, cut) = conflicts::found(self, tx, by, filter, now).await?;
                (conflict_ids(tx, found, most).await?, cut)
            }
            ListQuery::Leases(filter) => {
                let (found, cut) = leases::found(self, tx, by, filter, now).await?;
                (lease_ids(tx, found, most).await?, cut)
            }
            ListQuery::Approvals(filter) => {
                let mut found = approvals::found(self, by, filter, now)?;
                found.limit = most;
                (approval::ids(tx, &found).await?, false)
            }
            ListQuery::Incidents(filter) => {
                let (mut found, cut) = incidents::found(self, tx, by, filter, now).await?;
                found.limit = most;
                (incident_listing::ids(tx, &found).await?, cut)
            }
            ListQuery::Audit(filter) => {
                let mut found = audit_console::found(self, by, filter, now)?;
                found.limit = most;
                return Ok((Keys::Places(audit_listing::places(tx, &found).await?), false));
            }
        };
        Ok((Keys::Ids(ids), cut))
    }

    /// The rows of a part of an export, in its order; at most [`MAX_BATCH`].
    ///
    /// # Errors
    /// Refused: `permission_missing`.
    pub async fn export_batch(
        &self,
        by: &StaffCaller,
        export: &Export,
        part: Range<usize>,
    ) -> Result<ExportedRows, EngineError> {
        by.require(export.list.right())?;
        let end = part.end.min(part.start + MAX_BATCH).min(export.rows());
        let start = part.start.min(end);
        let keys = match &export.keys {
            Keys::Ids(ids) => Keys::Ids(ids[start..end].to_vec()),
            Keys::Places(places) => Keys::Places(places[start..end].to_vec()),
        };
        let (engine, by, list, now) = (self.clone(), by.clone(), export.list, export.as_of);
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            let rows = rows(&mut tx, &by, list, &keys, now).await?;
            tx.commit().await?;
            Ok(rows)
        })
        .await
    }
}

/// What a filter finds, gathered stretch by stretch.
struct Stretches {
    all: Vec<Uuid>,
    most: i64,
    left: usize,
}

impl Stretches {
    const fn new(most: i64) -> Self {
        Self { all: Vec::new(), most, left: MAX_STRETCHES }
    }

    /// How many rows are still wanted.
    fn wanted(&self) -> i64 {
        self.most - i64::try_from(self.all.len()).unwrap_or(self.most)
    }

    /// Takes a stretch in, and where it stopped without filling up; says where the next one begins.
    fn take<P>(
        &mut self,
        found: impl IntoIterator<Item = Uuid>,
        stopped: Option<P>,
    ) -> Result<Option<P>, EngineError> {
        self.all.extend(found);
        self.left -= 1;
        let next = stopped.filter(|_| self.wanted() > 0);
        if next.is_some() && self.left == 0 { Err(too_wide()) } else { Ok(next) }
    }
}

async fn conflict_ids(
    tx: &mut Tx,
    mut found: conflict_listing::Narrowing,
    most: i64,
) -> Result<Vec<Uuid>, EngineError> {
    let mut stretches = Stretches::new(most);
    loop {
        found.limit = stretches.wanted();
        let (ids, stopped) = conflict_listing::ids(tx, &found).await?;
        let Some(id) = stretches.take(ids, stopped)? else { return Ok(stretches.all) };
        found.cursor = Some(Cursor { id, backwards: false });
    }
}

async fn lease_ids(
    tx: &mut Tx,
    mut found: lease_listing::Narrowing,
    most: i64,
) -> Result<Vec<Uuid>, EngineError> {
    let mut stretches = Stretches::new(most);
    loop {
        found.limit = stretches.wanted();
        let (places, stopped) = lease_listing::places(tx, &found).await?;
        let ids = places.into_iter().map(|(_, id)| id);
        let Some(place) = stretches.take(ids, stopped)? else { return Ok(stretches.all) };
        found.after = place;
    }
}

fn too_wide() -> EngineError {
    unfit("from", "the list is too long to look through for this filter: give a narrower span")
}

async fn rows(
    tx: &mut Tx,
    by: &StaffCaller,
    list: List,
    keys: &Keys,
    now: DateTime<Utc>,
) -> Result<ExportedRows, EngineError> {
    let tenant = by.tenant_id();
    let ids = match keys {
        Keys::Places(places) => {
            return Ok(ExportedRows::Audit(audit_listing::at(tx, tenant, places).await?));
        }
        Keys::Ids(ids) => ids,
    };
    Ok(match list {
        List::Operations => {
            let ids: Vec<_> = ids.iter().copied().map(OperationId::new).collect();
            ExportedRows::Operations(listing::rows(tx, tenant, &ids, now).await?)
        }
        List::Workflows => {
            let ids: Vec<_> = ids.iter().copied().map(WorkflowId::new).collect();
            ExportedRows::Workflows(workflow_listing::rows(tx, tenant, &ids).await?)
        }
        List::Outbox => ExportedRows::Outbox(outbox_listing::rows(tx, tenant, ids).await?),
        List::Inbox => {
            let ids: Vec<_> = ids.iter().copied().map(MessageId::new).collect();
            ExportedRows::Inbox(inbox_listing::rows(tx, tenant, &ids).await?)
        }
        List::Conflicts => ExportedRows::Conflicts(conflict_listing::rows(tx, tenant, ids).await?),
        List::Leases => ExportedRows::Leases(lease_listing::rows(tx, tenant, ids, now).await?),
        List::Approvals => {
            let stored = approval::rows(tx, tenant, ids).await?;
            let shown = stored.iter().map(|stored| approval_view(stored, by.staff_id()));
            ExportedRows::Approvals(shown.collect::<Result<_, _>>()?)
        }
        List::Incidents => ExportedRows::Incidents(incidents::rows(tx, tenant, ids).await?),
        List::Audit => return Err(EngineError::refused(Code::Internal)),
    })
}

/// The filter as the audit log keeps it.
fn quoted(parts: &[(String, String)]) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in parts.iter().filter(|(_, value)| !value.is_empty()) {
        if name == "q" {
            kept.insert(name.clone(), json!(true));
        } else if QUOTED.contains(&name.as_str()) {
            let value: String = value.chars().filter(|c| *c != '\0').take(MAX_KEPT).collect();
            kept.insert(name.clone(), json!(value));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_keeps_what_narrowed_an_export_and_not_what_was_searched_for() {
        let parts = [("status", "dead"), ("q", "4111-0001"), ("utm", "x"), ("topic", "")];
        let parts = parts.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(Value::Object(quoted(&parts)), json!({ "status": "dead", "q": true }));
    }
}
