//! A fresh number per request for the content security policy (T08).
//!
//! Minted in the outermost layer, so that the header and the page name the same one: Leptos
//! mints its own otherwise, and the browser would refuse every script of the page.

use std::{fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// The nonce of one response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce(Arc<str>);

impl Nonce {
    /// 144 random bits, in letters that need no escaping in a header or an attribute.
    #[must_use]
    pub fn mint() -> Self {
        Self(URL_SAFE_NO_PAD.encode(rand::random::<[u8; 18]>()).into())
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
