//! A payload's canonical form (D22): it reads back as itself, and no reader of JSON disagrees that
//! what was taken is JSON.
#![no_main]

use domain::{idempotency::canonical, json::Json};
use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = Json::parse(bytes) else { return };
    assert!(serde_json::from_slice::<IgnoredAny>(bytes).is_ok(), "taken, and not JSON");
    let form = canonical(&value);
    let again = Json::parse(form.as_bytes()).expect("a canonical form is JSON");
    assert_eq!(canonical(&again), form, "a canonical form has one form");
    for (pointer, _) in value.leaves() {
        assert!(value.pointer(&pointer).is_some(), "a leaf is found by its own pointer: {pointer}");
    }
    Json::parse(value.pretty().as_bytes()).expect("what is shown is JSON");
});
