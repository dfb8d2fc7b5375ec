//! What was asked, checked before anything is stored (D08, D22): the payload's form, the amount it
//! names, the terms it is found by, and what of it nobody may see.

use domain::{
    idempotency::canonical,
    json::Json,
    money::{Money, parse_currency},
    problem::Code,
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::{error::EngineError, settings::Limits, store::kind::KindPolicy};

/// The longest search term, in characters.
const MAX_TERM_CHARS: usize = 512;

/// Reads a payload and bounds it.
pub(crate) fn parse(bytes: &[u8], limits: &Limits) -> Result<Json, EngineError> {
    let payload = Json::parse_within(bytes, limits.payload_depth).map_err(|error| {
        EngineError::field(
            Code::PayloadInvalid,
            &format!("payload{}", error.pointer),
            format!("payload: {error}"),
        )
    })?;
    let size = canonical(&payload).len();
    let limit = limits.payload_bytes;
    if size > limit {
        return Err(EngineError::field(
            Code::PayloadInvalid,
            "payload",
            format!("the payload has {size} bytes in canonical form; the limit is {limit} bytes"),
        ));
    }
    Ok(payload)
}

/// The amount of record: beside the payload, inside it, or both alike.
pub(crate) fn amount(
    kind: &KindPolicy,
    payload: &Json,
    beside_minor: Option<i64>,
    beside_currency: Option<&str>,
) -> Result<Option<Money>, EngineError> {
    let inside_minor = match pointed(payload, kind.amount_pointer.as_deref()) {
        Some((pointer, value)) => Some(integer(pointer, value)?),
        None => None,
    };
    let inside_currency = match pointed(payload, kind.currency_pointer.as_deref()) {
        Some((pointer, Json::String(text))) => Some(checked_currency(pointer, text)?),
        Some((pointer, _)) => {
            return Err(bad(pointer, "a currency is a string of three capital letters"));
        }
        None => None,
    };
    let beside_currency =
        beside_currency.map(|text| checked_currency("currency", text)).transpose()?;
    let amount_minor = same(inside_minor, beside_minor, "amount_minor")?;
    let currency = same(inside_currency, beside_currency, "currency")?;
    match (amount_minor, currency) {
        (Some(amount_minor), _) if amount_minor < 0 => Err(EngineError::field(
            Code::PayloadInvalid,
            "amount_minor",
            "an amount is not negative",
        )),
        (Some(amount_minor), Some(currency)) => Ok(Some(Money { amount_minor, currency })),
        (None, None) if !kind.money => Ok(None),
        (None, None) => Err(EngineError::field(
            Code::PayloadInvalid,
            "amount_minor",
            format!("{} moves money: amount_minor and currency are required", kind.name),
        )),
        (Some(_), None) => Err(EngineError::field(
            Code::PayloadInvalid,
            "currency",
            "an amount needs its currency",
        )),
        (None, Some(_)) => Err(EngineError::field(
            Code::PayloadInvalid,
            "amount_minor",
            "a currency needs its amount",
        )),
    }
}

fn pointed<'a>(payload: &'a Json, pointer: Option<&'a str>) -> Option<(&'a str, &'a Json)> {
    let pointer = pointer?;
    Some((pointer, payload.pointer(pointer)?))
}

fn integer(pointer: &str, value: &Json) -> Result<i64, EngineError> {
    let digits = value.scalar_text().unwrap_or_default();
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad(pointer, "an amount is an integer of minor units, never a fraction"));
    }
    digits.parse().map_err(|_| bad(pointer, "the amount is larger than any that can be kept"))
}

fn checked_currency(pointer: &str, text: &str) -> Result<String, EngineError> {
    parse_currency(text).map_err(|error| bad(pointer, &error.to_string()))
}

fn bad(pointer: &str, detail: &str) -> EngineError {
    let field =
        if pointer.starts_with('/') { format!("payload{pointer}") } else { pointer.to_owned() };
    EngineError::field(Code::PayloadInvalid, &field, format!("{field}: {detail}"))
}

fn same<T: PartialEq>(
    inside: Option<T>,
    beside: Option<T>,
    field: &str,
) -> Result<Option<T>, EngineError> {
    match (inside, beside) {
        (Some(inside), Some(beside)) if inside != beside => Err(EngineError::field(
            Code::AmountMismatch,
            field,
            format!("the payload names another {field} than the request beside it"),
        )),
        (inside, beside) => Ok(inside.or(beside)),
    }
}

/// The terms that search finds an operation by; those of masked fields as keyed hashes.
pub(crate) fn terms(kind: &KindPolicy, payload: &Json, secret: &[u8]) -> Vec<String> {
    kind.search_pointers
        .iter()
        .filter_map(|pointer| Some((pointer, payload.pointer(pointer)?.scalar_text()?)))
        .filter(|(_, text)| !text.is_empty() && text.chars().count() <= MAX_TERM_CHARS)
        .map(|(pointer, text)| {
            if kind.masked_pointers.contains(pointer) {
                hashed_term(secret, text)
            } else {
                text.to_owned()
            }
        })
        .collect()
}

/// The keyed hash under which a masked field's term is kept: found exactly, never by prefix.
pub(crate) fn hashed_term(secret: &[u8], text: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
    mac.update(text.as_bytes());
    // U+0001 begins no term that a person can type.
    format!("\u{1}{}", hex::encode(mac.finalize().into_bytes()))
}

/// A payload without what nobody may see.
pub(crate) struct Masking {
    pub(crate) payload: Json,
    pub(crate) masked: u32,
}

/// Masks a kind's fields.
pub(crate) fn masked(mut payload: Json, pointers: &[String]) -> Masking {
    let mut masked = 0;
    for pointer in pointers {
        if payload.replace(pointer, Json::String("\u{2022}\u{2022}\u{2022}\u{2022}".into())) {
            masked += 1;
        }
    }
    Masking { payload, masked }
}

/// Cuts a text at a bound without splitting a character; says whether it did.
pub(crate) fn bounded(mut text: String, max: usize) -> (String, bool) {
    if text.len() <= max {
        return (text, false);
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    (text, true)
}
