//! The signature of a provider's message, and nothing else: what strangers send is told from what the
//! provider sends here, so the fuzzer compiles this file by itself.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Checks a signature, `t=<unix seconds>,v1=<hex>`, in constant time; the instant that it was made for,
/// in seconds, or nothing where it is not by this secret over this body.
#[must_use]
pub fn signed_at(secret: &str, signature: &str, body: &[u8]) -> Option<i64> {
    let mut time = None;
    let mut given = None;
    for part in signature.split(',') {
        match part.trim().split_once('=')? {
            ("t", value) => time = Some(value),
            ("v1", value) => given = hex::decode(value).ok(),
            _ => {}
        }
    }
    let (time, given) = (time?, given?);
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    mac.verify_slice(&given).ok()?;
    time.parse().ok()
}
