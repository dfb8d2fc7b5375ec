//! Signing in with an identity provider: OIDC, authorization code with PKCE (T16).
//!
//! Who somebody is follows from issuer and subject of a signed ID token, which answers a question that
//! this browser asked minutes ago: state, nonce and PKCE verifier tie the three together. What they may
//! do follows from the configuration alone. Guards against answers of another provider, for another
//! console, from another time; and against an e-mail address that only looks like one of ours.

mod fault;
mod keys;
mod metadata;
mod person;
mod provider;
mod routes;
mod token;

use std::sync::Arc;

use crate::config::OidcSettings;
use provider::Provider;

pub use routes::{again, begin, finish};

/// Where a sign-in begins.
pub const BEGIN: &str = "/sign-in/oidc";
/// Where the person of a session proves again who they are.
pub const AGAIN: &str = "/sign-in/oidc/again";
/// Where the provider sends people back to; registered there.
pub const FINISH: &str = "/sign-in/oidc/callback";

/// The identity provider of this console.
#[derive(Clone)]
pub struct Oidc(Arc<Inner>);

struct Inner {
    settings: OidcSettings,
    redirect_uri: String,
    provider: Provider,
}

impl Oidc {
    /// The provider of a console that people open at `public_url`. Asks nothing yet.
    ///
    /// # Errors
    /// A sentence where no client for HTTP can be made.
    pub fn new(settings: OidcSettings, public_url: &str) -> Result<Self, String> {
        let provider = Provider::new(&settings.issuer)?;
        let redirect_uri = format!("{public_url}{FINISH}");
        Ok(Self(Arc::new(Inner { settings, redirect_uri, provider })))
    }

    /// What the sign-in page calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.settings.name
    }

    /// Whether it answers with what a sign-in needs.
    ///
    /// # Errors
    /// What is wrong, in words that follow its name.
    pub async fn look(&self) -> Result<(), String> {
        self.0.provider.metadata().await.map(drop).map_err(|fault| fault.to_string())
    }
}
