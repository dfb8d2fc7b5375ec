//! The bearer token of a request: one token or none, never a part of another header or scheme.
#![no_main]

use axum::http::{HeaderMap, HeaderValue, header};
use libfuzzer_sys::fuzz_target;

#[path = "../../src/v1/bearer.rs"]
mod token;

use token::bearer;

fuzz_target!(|lines: Vec<Vec<u8>>| {
    let mut headers = HeaderMap::new();
    for line in lines.iter().take(8).filter_map(|line| HeaderValue::from_bytes(line).ok()) {
        headers.append(header::AUTHORIZATION, line);
    }
    let Some(found) = bearer(&headers) else { return };
    assert!(!found.is_empty() && found.len() <= 512);
    assert_eq!(found.trim(), found);
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let whole = sent.next().and_then(|line| line.to_str().ok()).expect("it was read from there");
    assert!(sent.next().is_none(), "one of two headers was chosen");
    let (scheme, rest) = whole.split_at(6);
    assert!(scheme.eq_ignore_ascii_case("bearer") && rest.starts_with(' '));
    assert_eq!(rest.trim(), found, "a part of the header was taken for the whole");
});
