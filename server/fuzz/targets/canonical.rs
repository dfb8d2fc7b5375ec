//! A payload's canonical form (D22): it reads back as itself, and no reader of JSON disagrees that
//! what was taken is JSON.
#![no_main]

use domain::{
    idempotency::canonical,
    json::{Json, JsonFault},
};
use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = Json::parse(bytes) else { return };
    assert!(serde_json::from_slice::<IgnoredAny>(bytes).is_ok(), "taken, and not JSON");
    let form = canonical(&value);
    match Json::parse(form.as_bytes()) {
        Ok(again) => assert_eq!(canonical(&again), form, "a canonical form has one form"),
        // Zeros of a number at the bound of what is taken may go into an exponent beyond it: only hashed,
        // such a form is never read.
        Err(error) => assert_eq!(error.reason, JsonFault::NumberRange, "a canonical form is JSON"),
    }
    for (pointer, _) in value.leaves() {
        assert!(value.pointer(&pointer).is_some(), "a leaf is found by its own pointer: {pointer}");
    }
    Json::parse(value.pretty().as_bytes()).expect("what is shown is JSON");
});
