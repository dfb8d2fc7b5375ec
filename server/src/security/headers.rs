//! The headers that every response carries, refusals and faults included (T08, T44).

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};

use super::nonce::Nonce;

/// Headers whose value never changes.
const FIXED: [(HeaderName, &str); 7] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::STRICT_TRANSPORT_SECURITY, "max-age=31536000"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // `no-referrer` would lose the error of a form posted without JavaScript.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// The content security policy under one nonce.
#[must_use]
pub fn policy(nonce: &Nonce) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval'; \
         style-src 'self' 'nonce-{nonce}'; img-src 'self'; font-src 'self'; connect-src 'self'{}; \
         form-action 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'",
        reload_source()
    )
}

/// The socket on which `cargo leptos watch` tells the page to reload; a release never has one.
fn reload_source() -> String {
    if !cfg!(debug_assertions) || std::env::var_os("LEPTOS_WATCH").is_none() {
        return String::new();
    }
    std::env::var("LEPTOS_RELOAD_PORT")
        .ok()
        .and_then(|port| port.parse::<u16>().ok())
        .map(|port| format!(" ws://127.0.0.1:{port}"))
        .unwrap_or_default()
}

/// The outermost layer: mints the nonce and sets the headers on whatever comes back.
pub async fn secure(mut request: Request, next: Next) -> Response {
    let nonce = Nonce::mint();
    request.extensions_mut().insert(nonce.clone());
    let mut response = next.run(request).await;
    set(response.headers_mut(), &nonce);
    response
}

fn set(headers: &mut HeaderMap, nonce: &Nonce) {
    let policy =
        HeaderValue::try_from(policy(nonce)).expect("a policy of visible ASCII is a header value");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Files that may be kept say so themselves; everything else shows a person's data.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_handler_says_about_caching_stands_and_silence_means_no_store() {
        let mut headers = HeaderMap::new();
        set(&mut headers, &Nonce::mint());
        assert_eq!(headers[header::CACHE_CONTROL], "no-store");
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=1"));
        set(&mut headers, &Nonce::mint());
        assert_eq!(headers[header::CACHE_CONTROL], "max-age=1");
    }
}
