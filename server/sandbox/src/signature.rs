//! How the fake providers sign their webhooks, and how the consumer checks the engine's.
//!
//! Scheme `v1`: HMAC-SHA-256 under the shared secret over the bytes
//! `{t}.{body}`, where `t` is the sending instant in whole Unix seconds and
//! `body` the exact bytes of the request body. The header carries
//! `t=<unix seconds>,v1=<64 lower-case hex digits>`.
//!
//! A receiver recomputes the code over the raw body *before* parsing it,
//! compares in constant time, and refuses a `t` further than five minutes from
//! its own clock. The engine writes both sides itself, from this description:
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

/// Why a signature is no proof of who sent a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureFault {
    /// There is no header.
    #[error("there is no signature")]
    Missing,
    /// The header is not of the scheme.
    #[error("the signature is not t=<unix seconds>,v1=<64 hex digits>")]
    Malformed,
    /// It was made too long ago, or in the future.
    #[error("the signature's time is too far from now")]
    Stale,
    /// Another secret, or another body.
    #[error("the signature is not of this body")]
    Wrong,
}

/// Whether `header` signs `body` under `secret`, no further than `tolerance_s` from
/// `now_s`, both in seconds. Compares in constant time.
///
/// # Errors
/// [`SignatureFault`].
pub fn verify(
    secret: &[u8],
    header: Option<&str>,
    now_s: i64,
    tolerance_s: u64,
    body: &[u8],
) -> Result<(), SignatureFault> {
    let header = header.ok_or(SignatureFault::Missing)?;
    let (time, code) = header
        .strip_prefix("t=")
        .and_then(|rest| rest.split_once(",v1="))
        .ok_or(SignatureFault::Malformed)?;
    let unix_seconds: i64 = time.parse().map_err(|_| SignatureFault::Malformed)?;
    let code = hex::decode(code).map_err(|_| SignatureFault::Malformed)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    mac.verify_slice(&code).map_err(|_| SignatureFault::Wrong)?;
    if unix_seconds.abs_diff(now_s) > tolerance_s { Err(SignatureFault::Stale) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_one_body_under_one_secret_for_a_while() {
        let body = br#"{"id":"1"}"#;
        let header = sign(b"secret", 1_000, body);
        let check = |secret: &[u8], header: &str, now, body: &[u8]| {
            verify(secret, Some(header), now, 300, body)
        };
        assert_eq!(check(b"secret", &header, 1_300, body), Ok(()));
        assert_eq!(check(b"secret", &header, 1_301, body), Err(SignatureFault::Stale));
        assert_eq!(check(b"secret", &header, 699, body), Err(SignatureFault::Stale));
        assert_eq!(check(b"other", &header, 1_000, body), Err(SignatureFault::Wrong));
        assert_eq!(check(b"secret", &header, 1_000, b"{}"), Err(SignatureFault::Wrong));
        // The time is signed as well: an old message does not become young.
        let younger = header.replace("t=1000", "t=2000");
        assert_eq!(check(b"secret", &younger, 2_000, body), Err(SignatureFault::Wrong));
        for bad in ["", "v1=00", "t=1000", "t=x,v1=00", "t=1000,v1=zz"] {
            assert_eq!(check(b"secret", bad, 1_000, body), Err(SignatureFault::Malformed), "{bad}");
        }
        assert_eq!(verify(b"secret", None, 1_000, 300, body), Err(SignatureFault::Missing));
    }

    /// Expected value by `printf '%s' '1767225600.{"id":"evt_1"}' | openssl dgst -sha256 -hmac whsec_test`.
    #[test]
    fn the_signature_is_plain_hmac_over_time_dot_body() {
        assert_eq!(
            sign(b"whsec_test", 1_767_225_600, br#"{"id":"evt_1"}"#),
            "t=1767225600,v1=45b40331de0325606dc5400202ade162460fbe48daf9401adfdcd0d7b4f35470"
        );
    }
}
