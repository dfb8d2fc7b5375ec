//! What people do with incidents: open one about records that they picked, gather more, take some out
//! again, close it. No record changes by it.

use domain::{
    action::Verb,
    ids::{IncidentId, TenantId},
    problem::Code,
    record::RecordName,
    view::{ReceiptState, StateWord},
};
use serde_json::json;
use uuid::Uuid;

use super::{
    ActionRequest, carry::Effect, hand::Hand, held::Held, minted, request::unfit, weigh::Weighed,
};
use crate::{
    database::Tx,
    error::EngineError,
    store::{incident, incident_listing, incident_record, outbox, record_ref, subject::Locked},
};

/// The most records that one request gathers or takes out.
pub const MAX_GATHERED_AT_ONCE: usize = 200;
/// The most records that an incident holds.
pub const MAX_GATHERED: usize = 1_000;
/// The longest title, in characters.
const MAX_SUMMARY: usize = 200;

/// The refusal of more records than one request takes.
pub(crate) fn too_many_at_once() -> EngineError {
    unfit("records", &format!("one request takes at most {MAX_GATHERED_AT_ONCE} records"))
}

/// Weighs opening an incident of this id, which the tenant does not have yet.
pub(super) async fn weigh_opening(
    tx: &mut Tx,
    tenant: TenantId,
    id: Uuid,
    request: &ActionRequest,
) -> Result<Weighed, EngineError> {
    on_record(tx, tenant, request).await?;
    // Incidents stand in lists by the time in their ids.
    minted::check(tx, id).await?;
    let summary = request.summary.as_deref().unwrap_or_default();
    if summary.is_empty() || summary.chars().count() > MAX_SUMMARY {
        let words = format!("a title has 1 to {MAX_SUMMARY} characters");
        return Err(unfit("summary", &words));
    }
    Ok(Weighed::default())
}

/// Weighs gathering into an open incident, and taking out of it.
pub(super) async fn weigh(
    tx: &mut Tx,
    tenant: TenantId,
    locked: &Locked,
    request: &ActionRequest,
) -> Result<Weighed, EngineError> {
    let (own, gathered) = names(tx, tenant, locked.id).await?;
    if request.verb == Verb::Remove {
        check_count(&request.records)?;
        if let Some(own) = request.records.iter().find(|name| own.contains(name)) {
            let words = format!("{own} is what the engine opened the incident about; it stays");
            return Err(unfit("records", &words));
        }
        if let Some(other) = request.records.iter().find(|name| !gathered.contains(name)) {
            return Err(unfit("records", &format!("{other} is not in this incident")));
        }
        return Ok(Weighed::default());
    }
    on_record(tx, tenant, request).await?;
    let there = |name: &&RecordName| own.contains(name) || gathered.contains(name);
    let new = request.records.iter().filter(|name| !there(name)).count();
    if new == 0 {
        return Err(unfit("records", "all of these records are in this incident already"));
    }
    let total = own.len() + gathered.len() + new;
    if total > MAX_GATHERED {
        let words = format!(
            "an incident holds at most {MAX_GATHERED} records; with these it would hold {total}"
        );
        return Err(unfit("records", &words));
    }
    Ok(Weighed::default())
}

fn check_count(names: &[RecordName]) -> Result<(), EngineError> {
    match names.len() {
        0 => Err(unfit("records", "name at least one record")),
        1..=MAX_GATHERED_AT_ONCE => Ok(()),
        _ => Err(too_many_at_once()),
    }
}

/// Whether the tenant has all of the records; one of another tenant is none.
async fn on_record(
    tx: &mut Tx,
    tenant: TenantId,
    request: &ActionRequest,
) -> Result<(), EngineError> {
    check_count(&request.records)?;
    let found = record_ref::of(tx, tenant, &request.records).await?;
    let is_there = |name: &&RecordName| {
        let id = name.id.to_string();
        found.iter().any(|found| found.record == name.record && found.id == id)
    };
    match request.records.iter().find(|name| !is_there(name)) {
        None => Ok(()),
        Some(missing) => {
            let words = format!("there is no {missing} here that could be gathered");
            Err(EngineError::field(Code::NotFound, "records", words))
        }
    }
}

/// What the engine opened an incident about, and what was gathered into it.
async fn names(
    tx: &mut Tx,
    tenant: TenantId,
    id: Uuid,
) -> Result<(Vec<RecordName>, Vec<RecordName>), EngineError> {
    let stored = incident_listing::rows(tx, tenant, &[id]).await?.pop();
    let own = stored.map(|stored| stored.about).unwrap_or_default();
    let max = i64::try_from(MAX_GATHERED).unwrap_or(i64::MAX);
    let gathered = incident_record::of(tx, tenant, IncidentId::new(id), max).await?;
    Ok((own, gathered.into_iter().map(|gathered| gathered.name).collect()))
}

/// Opens the incident, and tells of it as of one that the engine opened.
pub(super) async fn open(
    tx: &mut Tx,
    hand: &Hand<'_>,
    held: &Held,
    id: Uuid,
    request: &ActionRequest,
) -> Result<Effect, EngineError> {
    let (tenant, name, reason) = (hand.tenant(), &hand.decides.name, &request.reason);
    let summary = request.summary.as_deref().unwrap_or_default();
    let id = IncidentId::new(id);
    if !incident::open_by_person(tx, tenant, id, summary, name, reason).await? {
        return Err(EngineError::refused(Code::Stale));
    }
    let added = incident_record::add(tx, tenant, id, &request.records, name).await?;
    let payload = json!({
        "incident_id": id,
        "cause": incident::OPENED_BY_PERSON,
        "summary": summary,
        "records": request.records,
        "opened_by": hand.decides.email,
        "link": format!("/incidents/{id}"),
    });
    let payload = payload.to_string().into_bytes();
    outbox::add(tx, tenant, &id.to_string(), "incident.opened", &payload, None).await?;
    let after = ReceiptState { status: StateWord::new("open"), version: 1, needs_manual: false };
    let followed = format!(
        "The incident is open with {}. They keep their states; it stays open until a person closes it.",
        records(added)
    );
    Ok(Effect { before: held.state(), after, followed: vec![followed] })
}

/// Gathers records into a locked incident, or takes them out; says what came of it.
pub(super) async fn change(
    tx: &mut Tx,
    hand: &Hand<'_>,
    locked: &Locked,
    request: &ActionRequest,
) -> Result<String, EngineError> {
    let (tenant, id) = (hand.tenant(), IncidentId::new(locked.id));
    let asked = u64::try_from(request.records.len()).unwrap_or(u64::MAX);
    let words = if request.verb == Verb::Remove {
        let removed = incident_record::remove(tx, tenant, id, &request.records).await?;
        format!("The incident no longer holds {}. They keep their states.", records(removed))
    } else {
        let (own, _) = names(tx, tenant, locked.id).await?;
        let new: Vec<_> =
            request.records.iter().filter(|name| !own.contains(name)).copied().collect();
        let added = incident_record::add(tx, tenant, id, &new, &hand.decides.name).await?;
        let before = match asked.saturating_sub(added) {
            0 => String::new(),
            many => format!(" {} held before.", records(many)),
        };
        format!("{} gathered into the incident; they keep their states.{before}", records(added))
    };
    if !incident::touch(tx, tenant, locked.id, request.version).await? {
        return Err(EngineError::refused(Code::Stale));
    }
    Ok(words)
}

fn records(count: u64) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{count} records") }
}
