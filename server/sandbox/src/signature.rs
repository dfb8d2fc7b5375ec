//! How the fake providers sign their webhooks.
//!
//! Scheme `v1`: HMAC-SHA-256 under the shared secret over the bytes
//! `{t}.{body}`, where `t` is the sending instant in whole Unix seconds and
//! `body` the exact bytes of the request body. The header carries
//! `t=<unix seconds>,v1=<64 lower-case hex digits>`.
//!
//! A receiver recomputes the code over the raw body *before* parsing it,
//! compares in constant time, and refuses a `t` further than five minutes from
//! its own clock. The engine writes that check itself, from this description:
//! a shared helper could be wrong on both sides and still agree.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The header that carries the signature.
pub const SIGNATURE_HEADER: &str = "onceover-webhook-signature";

/// The header value for `body` sent at `unix_seconds`.
pub fn sign(secret: &[u8], unix_seconds: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
    mac.update(unix_seconds.to_string().as_bytes());
    mac.update(b".");
    mac.update(body);
    format!("t={unix_seconds},v1={}", hex::encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected value by `printf '%s' '1767225600.{"id":"evt_1"}' | openssl dgst -sha256 -hmac whsec_test`.
    #[test]
    fn the_signature_is_plain_hmac_over_time_dot_body() {
        assert_eq!(
            sign(b"whsec_test", 1_767_225_600, br#"{"id":"evt_1"}"#),
            "t=1767225600,v1=45b40331de0325606dc5400202ade162460fbe48daf9401adfdcd0d7b4f35470"
        );
    }
}
