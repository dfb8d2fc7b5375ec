//! The cookie of a session (T05): one token or none, never a part of another cookie.
#![no_main]

use axum::http::{HeaderMap, HeaderValue, header};
use libfuzzer_sys::fuzz_target;

#[path = "../../src/auth/cookie.rs"]
mod cookie;

use cookie::SessionToken;

fuzz_target!(|lines: Vec<Vec<u8>>| {
    let mut headers = HeaderMap::new();
    for line in lines.iter().take(8).filter_map(|line| HeaderValue::from_bytes(line).ok()) {
        headers.append(header::COOKIE, line);
    }
    let Some(token) = SessionToken::of(&headers) else { return };
    assert!(!token.as_str().is_empty());
    assert!(!token.as_str().contains(';'));
    let whole = format!("__Host-sid={}", token.as_str());
    let named = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    assert_eq!(named.flat_map(|line| line.split(';')).filter(|pair| pair.trim() == whole).count(), 1);
});
