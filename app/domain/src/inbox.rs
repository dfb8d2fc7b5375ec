//! Messages from others, each taken in once (N1 to N6, D29): the states of a message, the fingerprint
//! by which a redelivery is told from another message under the same id, and the key of the
//! operation that a message starts.
//!
//! Guards against the redelivery that comes after everybody forgot: what is older than its window
//! and not on record is kept apart, never run.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    idempotency::{Fingerprint, HASH_VERSION, canonical},
    json::Json,
    machine::{Machine, Rule},
};

/// The longest consumer name, in characters.
pub const MAX_CONSUMER_CHARS: usize = 128;
/// The longest source name, in characters.
pub const MAX_SOURCE_CHARS: usize = 256;
/// The longest message id, in characters.
pub const MAX_MESSAGE_ID_CHARS: usize = 512;
/// How far a message may come from the future, in minutes: clocks of producers differ.
pub const MAX_AHEAD_MINUTES: i64 = 10;
/// Consumers whose names begin so belong to the engine: providers' signed messages come in by them.
pub const PROVIDER_PREFIX: &str = "provider:";

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InboxState {
    /// Its effect is under way in the transaction that took it in; nobody else ever sees this.
    Processing,
    /// Its effect is done, or it had none.
    Processed,
    /// Older than its window and not on record: it may have been done and forgotten. Left by a
    /// person alone.
    Quarantined,
    /// Its effect failed as often as its consumer allows. Left by a person alone.
    Dead,
    /// A person decided that it has no effect.
    Dropped,
}

impl InboxState {
    /// The words that people read.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Processing => "processing",
            Self::Processed => "processed",
            Self::Quarantined => "quarantined",
            Self::Dead => "dead",
            Self::Dropped => "dropped",
        }
    }

    /// Whether it waits for a person (N5).
    #[must_use]
    pub const fn needs_person(self) -> bool {
        matches!(self, Self::Quarantined | Self::Dead)
    }
}

impl std::str::FromStr for InboxState {
    type Err = crate::operation::UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        <Self as Machine>::parse(text)
    }
}

const fn rule(rule: &'static str, from: Option<InboxState>, to: InboxState) -> Rule<InboxState> {
    Rule { rule, from, to }
}

impl Machine for InboxState {
    const NAME: &'static str = "inbox";
    const ALL: &'static [Self] =
        &[Self::Dead, Self::Quarantined, Self::Processing, Self::Processed, Self::Dropped];
    const RULES: &'static [Rule<Self>] = &[
        rule("N1", None, Self::Processing),
        rule("N2", Some(Self::Processing), Self::Processed),
        rule("N3", None, Self::Dead),
        rule("N4", None, Self::Quarantined),
        rule("N5", Some(Self::Dead), Self::Processed),
        rule("N5", Some(Self::Dead), Self::Dropped),
        rule("N5", Some(Self::Quarantined), Self::Processed),
        rule("N5", Some(Self::Quarantined), Self::Dropped),
        rule("N6", Some(Self::Processed), Self::Processed),
        rule("N6", Some(Self::Dropped), Self::Dropped),
    ];

    fn as_str(self) -> &'static str {
        self.label()
    }
}

/// What a message says: read as JSON where it is JSON, else the bytes as they came.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// A value.
    Json(&'a Json),
    /// Bytes that are no JSON, or none that two readers would read alike.
    Bytes(&'a [u8]),
}

/// The fingerprint of a message: of its payload and of what it asks to start, within its tenant,
/// consumer and source. `None` for a version that this build does not know.
#[must_use]
pub fn fingerprint(
    version: i16,
    tenant: &str,
    consumer: &str,
    source: &str,
    content: Content<'_>,
    effect: Option<&Json>,
) -> Option<Fingerprint> {
    if version != HASH_VERSION {
        return None;
    }
    let text = |text: &str| Json::String(text.into());
    let (form, value) = match content {
        Content::Json(value) => ("json", value.clone()),
        Content::Bytes(bytes) => ("bytes", Json::String(hex(&Sha256::digest(bytes)))),
    };
    let asked = Json::Array(vec![
        text("inbox v1"),
        text(tenant),
        text(consumer),
        text(source),
        text(form),
        value,
        effect.cloned().unwrap_or(Json::Null),
    ]);
    Some(Fingerprint { version, hash: Sha256::digest(canonical(&asked).as_bytes()).to_vec() })
}

/// The key of the operation or workflow that a message starts where it names none: one message,
/// one key, whatever characters its names hold. The consumer stands in it for people to read.
#[must_use]
pub fn derived_key(consumer: &str, source: &str, message_id: &str) -> String {
    let text = |text: &str| Json::String(text.into());
    let named = Json::Array(vec![text(consumer), text(source), text(message_id)]);
    let hash = hex(&Sha256::digest(canonical(&named).as_bytes()));
    let consumer: String = consumer.chars().filter(|c| !c.is_control()).collect();
    format!("in:{consumer}:{}", &hash[..40])
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a String cannot fail");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(payload: &str, effect: Option<&str>) -> Vec<u8> {
        let payload = Json::parse(payload.as_bytes()).unwrap();
        let effect = effect.map(|text| Json::parse(text.as_bytes()).unwrap());
        fingerprint(1, "t", "c", "s", Content::Json(&payload), effect.as_ref()).unwrap().hash
    }

    #[test]
    fn a_redelivery_is_known_by_what_it_says_and_asks_not_by_its_spelling() {
        assert_eq!(of(r#"{"a":1.10,"b":2}"#, None), of(r#"{ "b":2, "a":11e-1 }"#, None));
        assert_ne!(of("[1]", None), of("[2]", None));
        assert_ne!(of("[1]", None), of("[1]", Some(r#"{"operation":{}}"#)));
        let bytes =
            |bytes| fingerprint(1, "t", "c", "s", Content::Bytes(bytes), None).unwrap().hash;
        assert_eq!(bytes(b"\xff"), bytes(b"\xff"));
        assert_ne!(bytes(b"\xff"), bytes(b"\xfe"));
        assert_ne!(bytes(b"[1]"), of("[1]", None));
        assert!(fingerprint(2, "t", "c", "s", Content::Bytes(b""), None).is_none());
    }

    #[test]
    fn one_message_has_one_key_and_no_other_message_has_it() {
        let key = derived_key("billing", "orders", "m-1");
        assert_eq!(key, derived_key("billing", "orders", "m-1"));
        assert!(key.starts_with("in:billing:"));
        assert_ne!(key, derived_key("billing", "orders", "m-2"));
        assert_ne!(derived_key("a", "b:c", "d"), derived_key("a", "b", "c:d"));
        let longest = "x".repeat(MAX_CONSUMER_CHARS);
        assert!(
            crate::idempotency::IdempotencyKey::from_service(
                &derived_key(&longest, "", ""),
                crate::idempotency::MAX_KEY_CHARS
            )
            .is_ok()
        );
    }

    #[test]
    fn every_state_is_known_by_its_word_and_only_a_person_leaves_what_waits_for_one() {
        for state in InboxState::ALL {
            assert_eq!(InboxState::parse(state.as_str()), Ok(*state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
            let left_by: Vec<_> =
                InboxState::RULES.iter().filter(|rule| rule.from == Some(*state)).collect();
            assert_eq!(state.needs_person(), left_by.iter().any(|rule| rule.rule == "N5"));
        }
    }
}
