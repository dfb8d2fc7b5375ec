//! The signature of a provider's message: taken where it is ours, and for nothing else.
#![no_main]

use hmac::{Hmac, KeyInit, Mac};
use libfuzzer_sys::fuzz_target;
use sha2::Sha256;

#[path = "../../engine/src/inbox/signature.rs"]
mod signature;

use signature::signed_at;

const SECRET: &str = "a secret that only the provider and we know";

fn sign(time: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any length is a key");
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    format!("t={time},v1={}", hex::encode(mac.finalize().into_bytes()))
}

fuzz_target!(|message: (&str, i64, &[u8])| {
    let (header, time, body) = message;
    assert_eq!(signed_at(SECRET, header, body), None, "a signature that nobody made was taken");
    let ours = sign(&time.to_string(), body);
    assert_eq!(signed_at(SECRET, &ours, body), Some(time));
    assert_eq!(signed_at("another secret", &ours, body), None);
    let longer = [body, b"."].concat();
    assert_eq!(signed_at(SECRET, &ours, &longer), None);
    let moved = ours.replacen(&time.to_string(), &time.wrapping_add(1).to_string(), 1);
    assert_eq!(signed_at(SECRET, &moved, body), None);
});
