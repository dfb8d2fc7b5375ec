//! One search over all records: exactly or by prefix, each way by its index, a bounded number of each
//! type. Never a substring, never a count.

use std::collections::HashMap;

use domain::{
    access::Permission,
    ids::OperationId,
    money::parse_amount,
    record::{RecordName, RecordType},
    view::{FoundGroup, FoundRow, MIN_SEARCH_CHARS, Named, SearchView},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::bounds;
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    store::{
        conflict_listing, inbox_listing, incident_listing, lease, listing, outbox_listing,
        search::{self, Found},
        workflow_listing,
    },
};

/// Records of one type that are shown.
const MAX_SHOWN: usize = 10;
/// Matches of each kind that are read: one more shows that there are more.
const MAX_MATCHES: i64 = 11;
/// Operations whose conflicts, requests, undos and incidents are looked for.
const MAX_ABOUT: usize = 11;

/// The ids of one type that were found, and whether there are more.
type Match = (RecordType, Vec<Uuid>, bool);

impl Engine {
    /// What a person's words find among all records of the tenant: ids, keys, references, search terms, an
    /// amount with its currency. What is shorter than three characters is not searched.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `filter_invalid` for what no list would search for.
    pub async fn search(&self, by: &StaffCaller, q: &str) -> Result<SearchView, EngineError> {
        by.require(Permission::Read)?;
        let q = q.trim().to_owned();
        bounds::page(&[("q", &Some(q.clone()))], &None, None, &self.settings.limits)?;
        let (engine, tenant) = (self.clone(), by.tenant_id());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let as_of = lease::clock(&mut tx).await?;
            let mut view = SearchView {
                amount: parse_amount(&q),
                too_short: q.chars().count() < MIN_SEARCH_CHARS,
                whole_id: false,
                named: None,
                groups: Vec::new(),
                as_of,
                q,
            };
            if view.too_short {
                return Ok(view);
            }
            let search = engine.search_for(&view.q, MAX_MATCHES);
            let whole = search.ids.filter(|(first, last)| first == last).map(|(id, _)| id);
            view.whole_id = whole.is_some();
            let (operations, more) = listing::ranked(&mut tx, tenant, &search).await?;
            let exact: HashMap<_, _> = operations.iter().copied().collect();
            let operations: Vec<_> = operations.into_iter().map(|(id, _)| id).collect();
            let mut matches = others(&mut tx, tenant, &search, &operations).await?;
            matches.insert(0, (RecordType::Operation, operations, more));
            let of = |(record, ids, _): &Match| {
                let record = *record;
                ids.clone().into_iter().map(move |id| RecordName::new(record, id))
            };
            let wanted: Vec<_> = matches.iter().flat_map(of).collect();
            let rows = search::rows(&mut tx, tenant, &wanted).await?;
            if let Some(id) = whole {
                view.named = named(&rows, id);
                if view.named.is_none() && search::is_receipt(&mut tx, tenant, id).await? {
                    view.named = Some(Named::Receipt(OperationId::new(id)));
                }
            }
            tx.commit().await?;
            view.groups = groups(&view.q, whole, &exact, &matches, rows);
            Ok(view)
        })
        .await
    }
}

/// What is found beside operations.
async fn others(
    db: &mut PgConnection,
    tenant: domain::ids::TenantId,
    search: &listing::Search,
    operations: &[Uuid],
) -> Result<Vec<Match>, EngineError> {
    let text = (search.text.0.as_str(), search.text.1.as_str());
    let ids = search.ids;
    let about = &operations[..operations.len().min(MAX_ABOUT)];
    let (workflows, more_workflows) =
        workflow_listing::search(db, tenant, text, ids, MAX_MATCHES).await?;
    let (events, more_events) = outbox_listing::search(db, tenant, text, ids, MAX_MATCHES).await?;
    let (messages, more_messages) =
        inbox_listing::search(db, tenant, text, ids, MAX_MATCHES).await?;
    let conflicts = conflict_listing::search(db, tenant, about, ids, MAX_MATCHES).await?;
    let undos = search::undos(db, tenant, about, ids, MAX_MATCHES).await?;
    let approvals = search::approvals(db, tenant, about, ids, MAX_MATCHES).await?;
    let incidents = incident_listing::search(db, tenant, about, ids, MAX_MATCHES).await?;
    Ok(vec![
        (RecordType::Workflow, workflows, more_workflows),
        (RecordType::Event, events, more_events),
        (RecordType::Message, messages, more_messages),
        (RecordType::Conflict, conflicts, false),
        (RecordType::Compensation, undos, false),
        (RecordType::Approval, approvals, false),
        (RecordType::Incident, incidents, false),
    ])
}

/// The record with this id, where there is exactly one.
fn named(rows: &[Found], id: Uuid) -> Option<Named> {
    let mut named = rows.iter().filter(|row| row.id == id);
    let first = named.next()?;
    named.next().is_none().then(|| Named::Record(first.record, id.to_string()))
}

fn groups(
    q: &str,
    whole: Option<Uuid>,
    exact: &HashMap<Uuid, bool>,
    matches: &[Match],
    rows: Vec<Found>,
) -> Vec<FoundGroup> {
    let is_exact = |row: &Found| {
        let operation = row.record == RecordType::Operation;
        row.key == q
            || whole == Some(row.id)
            || (operation && exact.get(&row.id).copied().unwrap_or_default())
    };
    let mut shown: Vec<_> = rows.into_iter().map(|row| (is_exact(&row), row)).collect();
    shown.sort_by(|(a_exact, a), (b_exact, b)| b_exact.cmp(a_exact).then(b.id.cmp(&a.id)));
    matches
        .iter()
        .filter_map(|(record, _, more)| {
            let of: Vec<_> = shown.iter().filter(|(_, row)| row.record == *record).collect();
            let rows: Vec<_> =
                of.iter().take(MAX_SHOWN).map(|(exact, row)| line(row, *exact)).collect();
            let more = *more || of.len() > rows.len();
            (!rows.is_empty()).then_some(FoundGroup { record: *record, rows, more })
        })
        .collect()
}

fn line(row: &Found, exact: bool) -> FoundRow {
    FoundRow {
        id: row.id.to_string(),
        label: row.label.clone(),
        key: row.key.clone(),
        status: row.status.clone(),
        tombstoned: row.tombstoned,
        reference: row.reference.clone(),
        amount: row.amount.clone(),
        at: row.at,
        exact,
    }
}
