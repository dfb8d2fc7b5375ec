//! The local stand-in for a model: writes a draft from its prompt and a fixed seed, and nothing else.
//!
//! Guards the test of "the model is never asked again" (I13): the text says nothing about how often
//! it was asked, so only the ledger can, which gets a line for every call.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::effect::Request;
use crate::SplitMix64;

const DIGEST: &str = "prompt_sha256";

const SUBJECTS: [&str; 4] =
    ["A word from us", "News about your account", "What changes next month", "Before the holidays"];
const OPENINGS: [&str; 4] = ["Dear reader,", "In short:", "A word beforehand.", "Good news."];
const MIDDLES: [&str; 4] = [
    "the figures of this quarter are in order",
    "the change reaches you without any step of yours",
    "the second edition corrects the table on page four",
    "the service stays open during the holidays",
];
const ENDS: [&str; 3] = ["Questions reach us as ever.", "More next week.", "That is all."];

/// Writes subject and text into a request for a draft, and the prompt's digest beside them.
pub(super) fn write(seed: u64, request: &mut Request) {
    let prompt = Value::Object(request.fields.clone()).to_string();
    let mut rng = SplitMix64::keyed(seed, &prompt);
    let subject = rng.pick(&SUBJECTS);
    let text = format!("{} {}. {}", rng.pick(&OPENINGS), rng.pick(&MIDDLES), rng.pick(&ENDS));
    let digest = hex::encode(Sha256::digest(&prompt));
    for (name, value) in [("subject", subject.to_owned()), ("text", text), (DIGEST, digest)] {
        request.fields.insert(name.into(), value.into());
    }
}

/// The digest of the prompt that a draft was written from.
pub(super) fn prompt(request: &Request) -> String {
    request.fields.get(DIGEST).and_then(Value::as_str).unwrap_or_default().to_owned()
}
