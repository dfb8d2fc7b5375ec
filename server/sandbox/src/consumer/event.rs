//! One event as the consumer reads it, and as its ledger keeps it.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::clock;

/// An envelope that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub id: String,
    /// From the source `/onceover/{tenant}`.
    pub tenant: String,
    /// The envelope's `type`.
    pub topic: String,
    /// The envelope's `subject`.
    pub aggregate: String,
    /// Counts within tenant and aggregate.
    pub sequence: u64,
    pub operation_id: Option<String>,
    /// The envelope's `time`.
    pub time: String,
    pub data: Value,
    /// Of the whole body, hexadecimal: each delivery brings the same bytes.
    pub sha256: String,
}

impl Event {
    /// Reads a body, or says what is wrong with it.
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        let envelope: Map<String, Value> = serde_json::from_slice(body)
            .map_err(|error| format!("the body is no JSON object: {error}"))?;
        let text = |name: &str| match envelope.get(name).and_then(Value::as_str) {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(format!("{name} is missing")),
        };
        if text("specversion")? != "1.0" {
            return Err("specversion is not 1.0".into());
        }
        let source = text("source")?;
        let tenant = source.strip_prefix("/onceover/").ok_or("source is not /onceover/{tenant}")?;
        let aggregate = text("subject")?;
        if text("partitionkey")? != format!("{tenant}/{aggregate}") {
            return Err("partitionkey is not {tenant}/{subject}".into());
        }
        let sequence = text("sequence")?.parse().map_err(|_| "sequence is no number")?;
        let data = ["data", "data_base64"].into_iter().find_map(|name| envelope.get(name));
        Ok(Self {
            id: text("id")?,
            tenant: tenant.to_owned(),
            topic: text("type")?,
            aggregate,
            sequence,
            operation_id: text("operationid").ok(),
            time: text("time")?,
            data: data.cloned().unwrap_or_default(),
            sha256: hex::encode(Sha256::digest(body)),
        })
    }
}

/// An event that was taken: one entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub event: Event,
    /// When, by this service's clock, Unix milliseconds.
    pub at_ms: i64,
    /// How often it came.
    pub deliveries: u64,
}

impl Taken {
    /// The ledger's line.
    pub(super) fn line(&self) -> Map<String, Value> {
        let event = &self.event;
        let line = json!({
            "id": event.id,
            "tenant": event.tenant,
            "topic": event.topic,
            "aggregate": event.aggregate,
            "sequence": event.sequence,
            "operation_id": event.operation_id,
            "time": event.time,
            "data": event.data,
            "sha256": event.sha256,
            "at": clock::rfc3339(self.at_ms),
            "at_ms": self.at_ms,
            "deliveries": self.deliveries,
        });
        match line {
            Value::Object(line) => line,
            _ => Map::new(),
        }
    }

    /// The inverse of [`Self::line`].
    pub(super) fn from_line(line: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| line.get(name)?.as_str().map(str::to_owned);
        let number = |name: &str| line.get(name)?.as_u64();
        Some(Self {
            event: Event {
                id: text("id")?,
                tenant: text("tenant")?,
                topic: text("topic")?,
                aggregate: text("aggregate")?,
                sequence: number("sequence")?,
                operation_id: text("operation_id"),
                time: text("time")?,
                data: line.get("data")?.clone(),
                sha256: text("sha256")?,
            },
            at_ms: line.get("at_ms")?.as_i64()?,
            deliveries: number("deliveries")?,
        })
    }

    /// Whether the query term `name=value` meets it; none: no such term.
    pub(super) fn meets(&self, name: &str, value: &str) -> Option<bool> {
        let event = &self.event;
        Some(match name {
            "id" => event.id == value,
            "tenant" => event.tenant == value,
            "topic" => event.topic == value,
            "aggregate" => event.aggregate == value,
            "operation_id" => event.operation_id.as_deref() == Some(value),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope() -> Value {
        json!({
            "specversion": "1.0", "id": "e-1", "source": "/onceover/acme", "type": "invoice.paid",
            "subject": "INV-1", "time": "2026-11-29T12:00:00.000000Z",
            "sequence": "00000000000000000007", "partitionkey": "acme/INV-1", "data": {"n": 1},
        })
    }

    #[test]
    fn an_envelope_is_read_and_kept() {
        let event = Event::parse(envelope().to_string().as_bytes()).expect("an event");
        assert_eq!((event.tenant.as_str(), event.sequence), ("acme", 7));
        let taken = Taken { event, at_ms: 5, deliveries: 1 };
        assert_eq!(Taken::from_line(&taken.line()), Some(taken));
    }

    #[test]
    fn what_is_no_event_is_refused() {
        for (name, value) in [
            ("specversion", json!("0.3")),
            ("id", json!("")),
            ("source", json!("/other/acme")),
            ("type", json!(null)),
            ("sequence", json!("first")),
            ("partitionkey", json!("globex/INV-1")),
        ] {
            let mut bad = envelope();
            bad[name] = value;
            assert!(Event::parse(bad.to_string().as_bytes()).is_err(), "{name}");
        }
        assert!(Event::parse(b"[]").is_err());
        assert!(Event::parse(b"\xff").is_err());
    }
}
