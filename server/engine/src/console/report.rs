//! An incident as a report: the content of the pages in one piece, with a hash over it.
//!
//! It is made of the same rows and words as the pages, holds no payload, and says nothing of its
//! reader: one state of an incident has one hash, whoever takes the report.

use domain::{
    access::Permission,
    action::{Subject, TargetType},
    idempotency::canonical,
    ids::{IncidentId, OperationId},
    json::Json,
    listing::StoryCursor,
    view::{IncidentReport, ReportDecision, ReportNote, SealedReport},
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{gathered::whole, stake::stake, story};
use crate::{
    Engine, StaffCaller,
    actions::entry,
    error::EngineError,
    store::{
        audit::{self, Entry},
        incident_story::{self, Cast},
        lease,
        person::People,
    },
};

/// Things that the timeline of a report holds.
const MAX_STEPS: usize = 5_000;
/// Decisions, and notes, that a report holds.
const MAX_ROWS: usize = 1_000;

/// `sha256:` and the hash of bytes, in hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// The hash of a report's content: over its canonical JSON (names sorted, no white space, numbers as
/// exact decimals), so that neither layout nor order of names changes it. `None` for what is no JSON.
#[must_use]
pub fn content_hash(json: &[u8]) -> Option<String> {
    let content = Json::parse(json).ok()?;
    Some(sha256(canonical(&content).as_bytes()))
}

impl Engine {
    /// An incident's report with the hash of its content.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for one of another tenant.
    pub async fn incident_report(
        &self,
        by: &StaffCaller,
        id: IncidentId,
    ) -> Result<SealedReport, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let tenant = by.tenant_id();
            let max = i64::try_from(MAX_ROWS).unwrap_or(i64::MAX);
            let mut tx = engine.pools.begin_console(tenant).await?;
            let as_of = lease::clock(&mut tx).await?;
            let whole = whole(&mut tx, tenant, id).await?;
            let (whose, start) = ((id, whole.names.as_slice()), StoryCursor::start());
            let (timeline, next) = story::page(&mut tx, tenant, whose, &start, MAX_STEPS).await?;
            let cast = Cast::new(id.uuid(), &whole.names);
            let mut decisions = incident_story::decisions(&mut tx, tenant, &cast, max + 1).await?;
            let mut notes = incident_story::notes(&mut tx, tenant, &cast, max + 1).await?;
            let emails =
                decisions.iter().flat_map(|made| [Some(&made.actor), made.approved_by.as_ref()]);
            let emails: Vec<_> = emails.flatten().cloned().collect();
            let people = People::of(&mut tx, &emails).await?;
            tx.commit().await?;
            let (decisions_cut, notes_cut) = (decisions.len() > MAX_ROWS, notes.len() > MAX_ROWS);
            decisions.truncate(MAX_ROWS);
            notes.truncate(MAX_ROWS);
            let report = IncidentReport {
                tenant: by.tenant_slug().to_owned(),
                zone: "UTC".into(),
                opened_reason: whole.opened_reason,
                closed_reason: whole.reason,
                stake: stake(whole.records.iter().map(|record| &record.now)),
                incident: whole.row,
                records: whole.records,
                timeline,
                timeline_cut: next.is_some(),
                decisions: decisions
                    .into_iter()
                    .map(|decided| ReportDecision {
                        at: decided.at,
                        actor: people.told(&decided.actor),
                        approved_by: decided.approved_by.map(|email| people.told(&email)),
                        action: decided.action,
                        record: decided.name.record,
                        id: decided.name.id.to_string(),
                        reason: decided.reason,
                        receipt: OperationId::new(decided.receipt),
                    })
                    .collect(),
                decisions_cut,
                notes: notes
                    .into_iter()
                    .map(|note| ReportNote {
                        record: note.name.record,
                        id: note.name.id.to_string(),
                        author: note.author,
                        at: note.at,
                        text: note.text,
                    })
                    .collect(),
                notes_cut,
            };
            let unreadable = |what: String| EngineError::Unreadable(format!("report {id}: {what}"));
            let bytes =
                serde_json::to_vec(&report).map_err(|error| unreadable(error.to_string()))?;
            let content_hash =
                content_hash(&bytes).ok_or_else(|| unreadable("its own JSON".into()))?;
            Ok(SealedReport { report, content_hash, as_of })
        })
        .await
    }

    /// Puts on record that somebody takes a report away: in which format, and the hashes of its
    /// content and of the file. Where that cannot be written, nothing is handed out (T29).
    ///
    /// # Errors
    /// The database's.
    pub async fn report_taken(
        &self,
        by: &StaffCaller,
        id: IncidentId,
        format: &str,
        (content, file): (&str, &str),
    ) -> Result<(), EngineError> {
        by.require(Permission::Read)?;
        let (engine, by) = (self.clone(), by.clone());
        let after = json!({ "format": format, "content_hash": content, "file_hash": file });
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            let target = Subject::new(TargetType::Incident, id.to_string());
            let entry = Entry { after: Some(after), ..entry(&by, "export_report", &target, "") };
            audit::add(&mut tx, entry).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }
}
