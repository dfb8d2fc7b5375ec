//! What happened to the records of an incident, in words.

use domain::{
    ids::{IncidentId, OperationId, TenantId},
    listing::StoryCursor,
    money::Money,
    operation::Event,
    record::{RecordName, RecordType},
    told,
    view::{IncidentStep, MoveView},
};
use serde_json::Value;
use sqlx::PgConnection;

use super::timeline::{refused, says, source, understood};
use crate::{
    error::EngineError,
    store::{
        incident_story::{self, Cast, Happened},
        machine_event,
        person::People,
    },
};

/// Things that a page of a story holds.
pub(super) const PAGE: usize = 100;

/// One page of the story of an incident and its records, and where it goes on.
pub(super) async fn page(
    db: &mut PgConnection,
    tenant: TenantId,
    (incident, names): (IncidentId, &[RecordName]),
    from: &StoryCursor,
    max: usize,
) -> Result<(Vec<IncidentStep>, Option<StoryCursor>), EngineError> {
    let cast = Cast::new(incident.uuid(), names);
    let limit = i64::try_from(max).unwrap_or(i64::MAX).saturating_add(1);
    let mut happened = incident_story::after(db, tenant, &cast, from, limit).await?;
    let further = happened.len() > max;
    happened.truncate(max);
    let next = happened.last().filter(|_| further).map(|last| last.cursor.clone());
    let people = People::of(db, &said(&happened)).await?;
    Ok((happened.into_iter().map(|happened| step(happened, &people)).collect(), next))
}

/// Whether a thing names a person by email; a note has its author's name, which may look like one.
fn names_an_email(by_person: bool, rule: &str) -> bool {
    by_person && rule != "note"
}

/// Whom of the staff a story names by email.
fn said(happened: &[Happened]) -> Vec<String> {
    let mut said = Vec::new();
    for happened in happened.iter().filter(|it| names_an_email(it.by_person, &it.rule)) {
        said.push(happened.actor.clone());
        said.extend(happened.detail.as_ref().and_then(|detail| text(detail, "approved_by")));
    }
    said
}

fn step(happened: Happened, people: &People) -> IncidentStep {
    let Happened { cursor, name, rule, from, to, version, by_person, actor, detail } = happened;
    let detail = detail.unwrap_or(Value::Null);
    let actor = if names_an_email(by_person, &rule) { people.told(&actor) } else { actor };
    let (sentence, detail, receipt) = match (rule.as_str(), name.record) {
        ("evidence", _) => {
            let from = text(&detail, "source").unwrap_or_default();
            let said = says(to.as_deref().unwrap_or_default());
            let sentence = format!("Evidence from {}: {said}.", source(&from));
            (Some(sentence), proof(&detail), None)
        }
        ("conflict", _) => {
            let times = detail.get("count").and_then(Value::as_i64).unwrap_or(1);
            (Some(refused(times)), Vec::new(), None)
        }
        ("note", _) => {
            (Some("Somebody wrote a note.".into()), pairs(&detail, &[("text", "Note")]), None)
        }
        ("audit", record) => {
            let receipt = text(&detail, "receipt").and_then(|receipt| receipt.parse().ok());
            let mut shown = pairs(&detail, &[("reason", "reason")]);
            let second = text(&detail, "approved_by").map(|email| people.told(&email));
            shown.extend(second.map(|second| ("approved by".to_owned(), second)));
            (Some(decided(to.as_deref().unwrap_or_default(), record).into()), shown, receipt)
        }
        (rule, _) if rule.starts_with('S') => {
            let name = text(&detail, "step").unwrap_or_default();
            let to = to.as_deref().unwrap_or_default();
            let sentence = format!("Step {}", told::step(&name, rule, to));
            (Some(sentence), machine_event::told(&detail), None)
        }
        (rule, RecordType::Operation) => {
            let (shown, receipt) = understood(&detail);
            let event = rule.parse::<Event>().ok();
            (event.map(|event| event.sentence().to_owned()), shown, receipt)
        }
        _ => (None, machine_event::told(&detail), receipt(&detail)),
    };
    IncidentStep {
        anchor: format!("s{}-{}", cursor.source, cursor.place.trim_start_matches('0')),
        record: name.record,
        id: name.id.to_string(),
        sentence,
        step: MoveView {
            at: cursor.at,
            rule,
            from,
            to: to.unwrap_or_default(),
            version: version.unwrap_or_default(),
            by_person,
            actor,
            detail,
        },
        receipt,
    }
}

fn text(detail: &Value, name: &str) -> Option<String> {
    detail.get(name)?.as_str().map(str::to_owned)
}

fn receipt(detail: &Value) -> Option<OperationId> {
    text(detail, "receipt")?.parse().ok()
}

/// The members of these names that say something.
fn pairs(detail: &Value, names: &[(&str, &str)]) -> Vec<(String, String)> {
    names
        .iter()
        .filter_map(|(name, label)| Some(((*label).to_owned(), text(detail, name)?)))
        .collect()
}

fn proof(detail: &Value) -> Vec<(String, String)> {
    let mut shown = pairs(detail, &[("external_reference", "Reference")]);
    let amount = detail.get("amount_minor").and_then(Value::as_i64);
    if let Some((amount_minor, currency)) = amount.zip(text(detail, "currency")) {
        shown.push(("Amount".into(), Money { amount_minor, currency }.to_string()));
    }
    shown.extend(pairs(detail, &[("text", "Text")]));
    shown
}

/// What a person did that no machine's move tells.
fn decided(action: &str, record: RecordType) -> &'static str {
    match (action, record) {
        ("open", _) => "A person opened the incident.",
        ("add", _) => "More records were gathered.",
        ("remove", _) => "Records were taken out.",
        ("close", _) => "The incident was closed.",
        ("correct", _) => "A confirmation was corrected.",
        ("take", _) => "Somebody looks at it.",
        _ => "Nobody looks at it any more.",
    }
}
