//! An event as it leaves: a CloudEvents 1.0 envelope in structured JSON, the same bytes at each
//! delivery.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chrono::{DateTime, SecondsFormat, Utc};
use domain::ids::EventId;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{error::EngineError, store::aggregate::HeldEvent};

/// What every envelope is.
pub(crate) const CONTENT_TYPE: &str = "application/cloudevents+json";

/// An event with the bytes that tell of it.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// The same at each delivery, so that consumers and brokers can tell a repeat (D27).
    pub id: EventId,
    /// What happened.
    pub topic: String,
    /// The database's clock when it was claimed.
    pub sent_at: DateTime<Utc>,
    /// The JSON document: the same whoever publishes it, however often.
    pub body: Vec<u8>,
    /// The page on which a person looks into it, as far as this publisher knows the console's address.
    /// It is in no body: another publisher may know another.
    pub link: Option<String>,
}

/// What an envelope says besides the event: shown to people as it is told to consumers.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// The tenant that it comes from.
    pub(crate) source: String,
    /// Its place in its order, of a fixed width.
    pub(crate) sequence: String,
    /// What it counts within.
    pub(crate) partition_key: String,
    /// What the payload is.
    pub(crate) content_type: &'static str,
}

impl Facts {
    /// The version of the format.
    pub(crate) const SPEC_VERSION: &'static str = "1.0";

    /// Of an event of a tenant.
    pub(crate) fn of(tenant_slug: &str, aggregate: &str, seq: i64, payload: &[u8]) -> Self {
        let is_json = serde_json::from_slice::<&RawValue>(payload).is_ok();
        Self {
            source: format!("/onceover/{tenant_slug}"),
            sequence: format!("{seq:020}"),
            partition_key: format!("{tenant_slug}/{aggregate}"),
            content_type: if is_json { "application/json" } else { "application/octet-stream" },
        }
    }
}

/// The document. `sequence` has leading zeros, for its order is that of texts; `partitionkey` is
/// what it counts within.
#[derive(Serialize)]
struct CloudEvent<'a> {
    specversion: &'static str,
    id: EventId,
    source: String,
    r#type: &'a str,
    subject: &'a str,
    time: String,
    sequence: String,
    partitionkey: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    operationid: Option<String>,
    datacontenttype: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
}

impl Envelope {
    /// Wraps an event, with the link to its page where the console's address is known. Its payload
    /// stays as it was written, byte by byte; one that is no JSON
    /// travels in base64.
    pub(crate) fn of(event: &HeldEvent, console: Option<&str>) -> Result<Self, EngineError> {
        let data = serde_json::from_slice::<&RawValue>(&event.payload).ok();
        let facts = Facts::of(&event.tenant_slug, &event.aggregate, event.seq, &event.payload);
        let document = CloudEvent {
            specversion: Facts::SPEC_VERSION,
            id: event.id,
            source: facts.source,
            r#type: &event.topic,
            subject: &event.aggregate,
            time: event.created_at.to_rfc3339_opts(SecondsFormat::Micros, true),
            sequence: facts.sequence,
            partitionkey: facts.partition_key,
            operationid: event.operation.map(|id| id.to_string()),
            datacontenttype: facts.content_type,
            data,
            data_base64: data.is_none().then(|| STANDARD.encode(&event.payload)),
        };
        let body = serde_json::to_vec(&document)
            .map_err(|error| EngineError::Unreadable(error.to_string()))?;
        Ok(Self {
            id: event.id,
            topic: event.topic.clone(),
            sent_at: event.now,
            body,
            link: console.and_then(|console| link(console, event)),
        })
    }
}

/// The page on which a person looks into it: the request, the incident or the operation.
fn link(console: &str, event: &HeldEvent) -> Option<String> {
    let named = |member: &str| {
        let payload: serde_json::Value = serde_json::from_slice(&event.payload).ok()?;
        let id: uuid::Uuid = payload.get(member)?.as_str()?.parse().ok()?;
        Some(id.to_string())
    };
    let page = match event.topic.as_str() {
        "approval.requested" => format!("/approvals/{}", named("approval_id")?),
        "incident.opened" => format!("/incidents/{}", named("incident_id")?),
        _ => format!("/operations/{}", event.operation?),
    };
    Some(format!("{}{page}", console.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use domain::ids::{OperationId, TenantId};
    use uuid::Uuid;

    use super::*;

    fn event(payload: &[u8]) -> HeldEvent {
        HeldEvent {
            tenant: TenantId::new(Uuid::nil()),
            tenant_slug: "acme".into(),
            id: EventId::new(Uuid::nil()),
            aggregate: "INV-1".into(),
            seq: 7,
            topic: "invoice.paid".into(),
            payload: payload.to_vec(),
            operation: None,
            attempts: 0,
            fence: 1,
            created_at: DateTime::UNIX_EPOCH,
            destination: "broker".into(),
            now: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_payload_is_told_as_it_was_written() {
        let raw = br#"{"amount":1.10,  "big":12345678901234567890123}"#;
        let body = String::from_utf8(Envelope::of(&event(raw), None).unwrap().body).unwrap();
        assert!(
            body.contains(r#""data":{"amount":1.10,  "big":12345678901234567890123}"#),
            "{body}"
        );
        for part in [
            r#""specversion":"1.0""#,
            r#""source":"/onceover/acme""#,
            r#""type":"invoice.paid""#,
            r#""subject":"INV-1""#,
            r#""sequence":"00000000000000000007""#,
            r#""time":"1970-01-01T00:00:00.000000Z""#,
        ] {
            assert!(body.contains(part), "{part} in {body}");
        }
    }

    #[test]
    fn an_event_leads_to_the_page_on_which_a_person_looks_into_it() {
        let id = "0199b2c4-7d1e-7c3a-9f51-0242ac120002";
        let link = |topic: &str, payload: &str, operation: Option<OperationId>| {
            let event = HeldEvent { topic: topic.into(), operation, ..event(payload.as_bytes()) };
            let here = Envelope::of(&event, Some("https://console.example/")).unwrap();
            let elsewhere = Envelope::of(&event, None).unwrap();
            assert_eq!(here.body, elsewhere.body, "one event, one body, whoever publishes it");
            here.link
        };
        let request = format!(r#"{{"approval_id":"{id}"}}"#);
        let asked = link("approval.requested", &request, None);
        assert_eq!(asked, Some(format!("https://console.example/approvals/{id}")));
        let incident = format!(r#"{{"incident_id":"{id}"}}"#);
        let opened = link("incident.opened", &incident, None);
        assert_eq!(opened, Some(format!("https://console.example/incidents/{id}")));
        let needs = link("needs_manual", "{}", id.parse().ok());
        assert_eq!(needs, Some(format!("https://console.example/operations/{id}")));
        // What a service tells cannot make one of its own.
        assert_eq!(link("approval.requested", r#"{"approval_id":"//evil"}"#, None), None);
        assert_eq!(link("invoice.paid", "{}", None), None);
    }

    #[test]
    fn what_is_no_json_travels_in_base64() {
        for raw in [&b"\xff\x00"[..], b"{", b""] {
            let body = String::from_utf8(Envelope::of(&event(raw), None).unwrap().body).unwrap();
            assert!(body.contains(r#""data_base64":""#) && !body.contains(r#""data":"#), "{body}");
        }
    }
}
