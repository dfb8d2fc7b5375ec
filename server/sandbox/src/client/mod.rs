//! How a careful service talks: to the engine's API, to a provider, to the provider's controls.
//!
//! Owns D43 on the caller's side: no client in here ever sends a request twice
//! by itself, no idle connection is reused for an effect, and every request has
//! a deadline. A lost answer is reported as lost.

mod api;
mod consumer;
mod control;
mod desk;
mod flows;
mod provider;
mod types;

use std::sync::Arc;

pub use self::{
    api::{Api, TenantApi},
    consumer::ConsumerControl,
    control::{ControlError, ProviderControl},
    desk::{Decision, Desk},
    flows::{Message, Started},
    provider::{Answer, Call, Outcome, ProviderClient, provider_body},
    types::{ApiError, Claimed, Finished, Lease, Reserve, Reserved},
};

/// The HTTP client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The TLS settings were refused.
    #[error("TLS settings")]
    Tls(#[from] rustls::Error),
    /// The client's settings were refused.
    #[error("HTTP client settings")]
    Http(#[from] reqwest::Error),
}

/// A client for loopback: no proxy, no redirect, no retry, no reused connection.
///
/// It trusts no certificate authority, so an `https` address fails instead of
/// leaving the machine; and it installs no process-wide crypto provider.
pub(crate) fn http_client() -> Result<reqwest::Client, ClientError> {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .retry(reqwest::retry::never())
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(0)
        .http1_only()
        .no_proxy()
        .build()?;
    Ok(client)
}
