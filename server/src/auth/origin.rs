//! Where a sign-in came from, for its person to know it by.

use std::convert::Infallible;

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};
use engine::identity::Origin;

use crate::security::client::Client;

/// The client's address, as far as trusted proxies tell (T40), and what the browser says about itself.
#[derive(Debug, Clone)]
pub struct CameFrom(pub Origin);

impl<S: Sync> FromRequestParts<S> for CameFrom {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let agent = parts.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        Ok(Self(Origin {
            address: parts.extensions.get::<Client>().map(|client| client.0.to_string()),
            agent: agent.map(str::to_owned),
        }))
    }
}
