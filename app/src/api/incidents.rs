//! Gathering records into incidents, and reading incidents with their reports.

use domain::{
    action::{Subject, TargetType, Verb},
    ids::IncidentId,
    problem::Code,
    record::RecordName,
    view::{Gathering, IncidentDetail, SealedReport},
};
use engine::ActionRequest;

use super::{
    context::{caller, carry_out, engine, read, refuse},
    decision::names,
    found::{Found, find},
    notes::{Noted, noted},
    redirect::{Target, go},
    refused::{Kept, RefusedForm},
};
use crate::error::{ConsoleError, Field, RefusalView};

/// The choice of a new incident.
pub const NEW: &str = "new";

/// An open incident as a choice: with the version that the page shows.
#[must_use]
pub fn choice(id: IncidentId, version: i64) -> String {
    format!("{id}@{version}")
}

/// The fields of the form that gathers, as typed.
pub(super) struct Picked {
    pub(super) records: String,
    pub(super) incident: String,
    pub(super) id: String,
    pub(super) summary: String,
    pub(super) reason: String,
}

impl Picked {
    fn request(&self, records: Vec<RecordName>) -> Result<ActionRequest, RefusalView> {
        let unchosen = || RefusalView::field(Field::Incident);
        let chosen = self.incident.trim();
        let (id, verb, version) = if chosen == NEW {
            (self.id.trim(), Verb::Open, 0)
        } else {
            let (id, version) = chosen.split_once('@').ok_or_else(unchosen)?;
            (id, Verb::Add, version.parse().map_err(|_| unchosen())?)
        };
        let target = Subject::new(TargetType::Incident, id);
        Ok(ActionRequest {
            records,
            summary: Some(self.summary.trim().to_owned()),
            ..ActionRequest::new(target, verb, version, self.reason.trim())
        })
    }
}

/// Gathers, and leads the person to the receipt or back to the form.
pub(super) async fn gather(picked: Picked) -> Result<(), ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    let Ok(records) = names(&picked.records) else {
        return Err(refuse(ConsoleError::code_only(Code::RequestInvalid)));
    };
    let refusal = match picked.request(records.clone()) {
        Err(refusal) => refusal,
        Ok(request) => {
            let by = caller.clone();
            match carry_out(&caller, async move { engine.act(&by, request).await }).await {
                Ok(decided) => {
                    if let Some(acted) = decided.done() {
                        go(&Target::receipt(acted.receipt.id, acted.replayed));
                    }
                    return Ok(());
                }
                Err(ConsoleError(refusal)) => refusal,
            }
        }
    };
    let kept = Kept {
        summary: picked.summary,
        reason: picked.reason,
        form_key: picked.id,
        ..Kept::default()
    };
    // What no request takes does not go into an address either.
    let shown = records.get(..records.len().min(MAX_SHOWN)).unwrap_or_default();
    go(&Target::gather(shown, &RefusedForm { refusal, kept }));
    Ok(())
}

/// Records that the address of a refused form holds: one more than a request takes, so that the page
/// says the same again.
const MAX_SHOWN: usize = 201;

/// The picked records as they are, and where they could go.
///
/// # Errors
/// The engine's refusal.
pub async fn gathering(picked: Vec<RecordName>) -> Result<Gathering, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.gathering(&caller, &picked)).await
}

/// One incident with the page of its story after a place, and its notes.
///
/// # Errors
/// `not_found` for an unknown id and for one of a tenant that is not the person's alike.
pub async fn incident_page(
    id: IncidentId,
    after: Option<String>,
) -> Result<Found<Noted<IncidentDetail>>, ConsoleError> {
    noted(TargetType::Incident, id.uuid(), async move |engine, by| {
        engine.incident(&by, id, after.as_deref()).await
    })
    .await
}

/// One incident, for a form about it.
///
/// # Errors
/// As [`incident_page`].
pub async fn incident(id: IncidentId) -> Result<Found<IncidentDetail>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    find(&engine, &caller, id.uuid(), engine.incident(&caller, id, None)).await
}

/// An incident's report, to be read and printed.
///
/// # Errors
/// As [`incident_page`].
pub async fn report(id: IncidentId) -> Result<Found<SealedReport>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    find(&engine, &caller, id.uuid(), engine.incident_report(&caller, id)).await
}
