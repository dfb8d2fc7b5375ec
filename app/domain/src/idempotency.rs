//! The key under which an effect happens once, and the fingerprint of what was asked (D01, D02,
//! D22).
//!
//! Guards against two requests that look alike and are not (a big number rounded), and against
//! two that look different and are the same (white space, order of names, `1.10` and `1.1`).

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::json::{Json, write_string};

/// The longest key that the database keeps, in Unicode scalar values; a server may be configured
/// to take shorter ones only.
pub const MAX_KEY_CHARS: usize = 512;

/// A client's idempotency key: 1 to [`MAX_KEY_CHARS`] characters, any but control characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdempotencyKey(String);

/// Why a key is refused (D01, D02).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKey {
    /// Missing or empty: the engine never invents one.
    #[error(
        "the idempotency key is missing; send one that stays the same when you repeat the request"
    )]
    Missing,
    /// Longer than the limit.
    #[error("the idempotency key has {length} characters; the limit is {limit}")]
    TooLong {
        /// Its characters.
        length: usize,
        /// The most that are taken.
        limit: usize,
    },
    /// Holds a control character.
    #[error("the idempotency key holds a control character")]
    ControlCharacter,
    /// Begins as the engine's own keys do.
    #[error(
        "keys that begin with wf: or comp: and operations named console.* belong to the engine"
    )]
    Reserved,
}

impl IdempotencyKey {
    /// Reads a key of at most `limit` characters as it comes from a service; the engine's own
    /// prefixes are refused here alone.
    ///
    /// # Errors
    /// See [`InvalidKey`].
    pub fn from_service(text: &str, limit: usize) -> Result<Self, InvalidKey> {
        if text.starts_with("wf:") || text.starts_with("comp:") {
            return Err(InvalidKey::Reserved);
        }
        Self::of(text, limit.min(MAX_KEY_CHARS))
    }

    /// Reads a key that the engine derived itself.
    ///
    /// # Errors
    /// See [`InvalidKey`].
    pub fn internal(text: &str) -> Result<Self, InvalidKey> {
        Self::of(text, MAX_KEY_CHARS)
    }

    fn of(text: &str, limit: usize) -> Result<Self, InvalidKey> {
        if text.is_empty() {
            return Err(InvalidKey::Missing);
        }
        let length = text.chars().count();
        if length > limit {
            return Err(InvalidKey::TooLong { length, limit });
        }
        if text.chars().any(char::is_control) {
            return Err(InvalidKey::ControlCharacter);
        }
        Ok(Self(text.to_owned()))
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// SHA-256 over the canonical form of what was asked, and the version of that form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// Version of the canonical form; a row is compared under its own (D22).
    pub version: i16,
    /// 32 bytes.
    pub hash: Vec<u8>,
}

/// The version that new rows get.
pub const HASH_VERSION: i16 = 1;

impl Fingerprint {
    /// Hashes what was asked under the given version; `None` for a version that this build does
    /// not know (a newer binary wrote the row).
    #[must_use]
    pub fn of(
        version: i16,
        tenant: &str,
        operation: &str,
        amount_minor: Option<i64>,
        currency: Option<&str>,
        payload: &Json,
    ) -> Option<Self> {
        if version != HASH_VERSION {
            return None;
        }
        let asked = Json::Array(vec![
            Json::String("v1".into()),
            Json::String(tenant.into()),
            Json::String(operation.into()),
            amount_minor.map_or(Json::Null, |n| Json::Number(n.to_string())),
            currency.map_or(Json::Null, |c| Json::String(c.into())),
            payload.clone(),
        ]);
        let hash = Sha256::digest(canonical(&asked).as_bytes()).to_vec();
        Some(Self { version, hash })
    }
}

/// The canonical text of D22: names sorted by UTF-16 units, no white space, numbers as exact
/// decimals.
#[must_use]
pub fn canonical(value: &Json) -> String {
    let mut out = String::new();
    write_canonical(&mut out, value);
    out
}

fn write_canonical(out: &mut String, value: &Json) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(text) => out.push_str(&exact_decimal(text)),
        Json::String(text) => write_string(out, text),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(out, item);
            }
            out.push(']');
        }
        Json::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (name, value)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(out, name);
                out.push(':');
                write_canonical(out, value);
            }
            out.push('}');
        }
    }
}

/// A number as sign, digits and exponent: `1.10`, `1.1` and `110e-2` are all `11e-1`.
fn exact_decimal(text: &str) -> String {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return "0".into();
    }
    // The parser bounds exponents to nine digits, and a payload is far smaller than 2^31 bytes.
    let exponent: i64 = exponent.parse().unwrap_or_default();
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let exponent = exponent - length(fraction) + length(digits) - length(significant);
    if exponent == 0 {
        format!("{sign}{significant}")
    } else {
        format!("{sign}{significant}e{exponent}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(payload: &str) -> Vec<u8> {
        let payload = Json::parse(payload.as_bytes()).unwrap();
        Fingerprint::of(1, "t", "invoice.charge", Some(100), Some("EUR"), &payload).unwrap().hash
    }

    #[test]
    fn numbers_at_the_bound_of_their_exponents_stay_the_numbers_that_they_are() {
        assert_eq!(of("[9990E999999998]"), of("[999e999999999]"));
        assert_ne!(of("[9990E999999999]"), of("[999e999999999]"));
        assert_ne!(of("[0.1e-999999999]"), of("[1e-999999999]"));
    }

    #[test]
    fn order_space_and_spelling_of_a_number_do_not_matter() {
        let base = of(r#"{"a":1.1,"b":[true,null]}"#);
        for same in [
            r#"{ "b" : [ true , null ], "a" : 1.10 }"#,
            r#"{"a":110e-2,"b":[true,null]}"#,
            r#"{"\u0061":0.11E1,"b":[true,null]}"#,
        ] {
            assert_eq!(base, of(same), "{same}");
        }
        assert_eq!(of("[0]"), of("[-0.00e5]"));
        assert_eq!(of("[100]"), of("[1e2]"));
    }

    #[test]
    fn what_a_float_would_merge_stays_apart() {
        assert_ne!(of("[9007199254740992]"), of("[9007199254740993]"));
        assert_ne!(of("[0.1]"), of("[0.1000000000000000055]"));
        assert_ne!(of(r#"["1"]"#), of("[1]"));
        // No Unicode folding: composed and decomposed é differ (doubt is a conflict).
        assert_ne!(of("[\"\u{e9}\"]"), of("[\"e\u{301}\"]"));
    }

    #[test]
    fn tenant_operation_amount_and_currency_are_part_of_it() {
        let payload = Json::parse(b"{}").unwrap();
        let hash = |t, o, a, c| Fingerprint::of(1, t, o, a, c, &payload).unwrap().hash;
        let base = hash("t", "o", Some(1), Some("EUR"));
        assert_ne!(base, hash("u", "o", Some(1), Some("EUR")));
        assert_ne!(base, hash("t", "p", Some(1), Some("EUR")));
        assert_ne!(base, hash("t", "o", Some(2), Some("EUR")));
        assert_ne!(base, hash("t", "o", Some(1), Some("USD")));
        assert_ne!(base, hash("t", "o", None, None));
        assert!(Fingerprint::of(2, "t", "o", None, None, &payload).is_none());
    }

    #[test]
    fn names_sort_by_utf16_units() {
        // U+1F600 begins with the unit D83D and sorts before U+FB33, unlike by code point.
        let value = Json::parse("{\"\u{fb33}\":1,\"\u{1f600}\":2}".as_bytes()).unwrap();
        assert_eq!(canonical(&value), "{\"\u{1f600}\":2,\"\u{fb33}\":1}");
    }

    #[test]
    fn keys_of_512_characters_pass_and_longer_ones_are_refused_with_the_limit() {
        let key = "é😀/%+&:@( )".chars().cycle().take(512).collect::<String>();
        let read = |text: &str| IdempotencyKey::from_service(text, MAX_KEY_CHARS);
        assert_eq!(read(&key).unwrap().as_str(), key);
        assert_eq!(read(&key).unwrap().to_string(), key, "shown as it was sent");
        let too_long = read(&format!("{key}x")).unwrap_err();
        assert_eq!(too_long, InvalidKey::TooLong { length: 513, limit: 512 });
        assert!(too_long.to_string().contains("the limit is 512"));
        assert_eq!(read(""), Err(InvalidKey::Missing));
        assert_eq!(read("a\0"), Err(InvalidKey::ControlCharacter));
        assert_eq!(read("wf:x"), Err(InvalidKey::Reserved));
        assert!(IdempotencyKey::internal("comp:x").is_ok());
    }

    #[test]
    fn a_lower_limit_of_a_server_is_named_and_a_higher_one_means_what_the_database_keeps() {
        let refused = IdempotencyKey::from_service(&"k".repeat(65), 64).unwrap_err();
        assert!(refused.to_string().contains("65 characters; the limit is 64"));
        let key = "k".repeat(MAX_KEY_CHARS + 1);
        assert!(IdempotencyKey::from_service(&key, 4_096).is_err());
    }

    #[test]
    fn where_one_value_ends_and_the_next_begins_matters() {
        assert_ne!(of("[1,23]"), of("[12,3]"), "two payments that share their digits");
        assert_ne!(of("[1,2,3]"), of("[1,23]"));
        assert_ne!(of("[[1],[2]]"), of("[[1,2]]"));
        assert_ne!(of(r#"{"a":1,"b":2}"#), of(r#"{"b":1,"a":2}"#));
        assert_ne!(of("[1,2]"), of("[2,1]"), "the order of a list is what was asked");
    }

    #[test]
    fn the_canonical_form_is_one_text_and_never_changes() {
        let text = r#" {"b": 1.10, "a": [1, "x", {}, [], null, {"d": true, "c": [false]}]} "#;
        let value = Json::parse(text.as_bytes()).unwrap();
        assert_eq!(
            canonical(&value),
            r#"{"a":[1,"x",{},[],null,{"c":[false],"d":true}],"b":11e-1}"#
        );
        // Rows keep their hash: with another one every repeat of theirs would be a conflict.
        let payload = Json::parse(br#"{"b":1.10,"a":[1,"x",{}]}"#).unwrap();
        let asked = Fingerprint::of(1, "t", "invoice.charge", Some(129), Some("EUR"), &payload);
        let hex: String = asked.unwrap().hash.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "d6a5c874fbfb0100e8297747cbb493330e6e3c70df5385f2d59b86ebcedc994c");
    }
}
