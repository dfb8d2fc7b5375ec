//! Delivery by HTTP: one POST of the envelope, signed as the project's own webhooks are, under the
//! event's id as `Idempotency-Key`.
//!
//! Guards against redirects (never followed), private addresses ([`super::address`]), and answers
//! that never end.

use std::{error::Error as _, time::Duration};

use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::{Client, Response, StatusCode, Url};
use sha2::Sha256;
use url::Host;

use super::{
    address::{Resolver, is_public},
    envelope::{CONTENT_TYPE, Envelope},
    publish::{DEADLINE, Delivery, MAX_BYTES, PublishResult, Publisher, words},
};
use crate::settings::Destination;

/// As on the way in: `t=<unix seconds>,v1=<hex>` over `<t>.<body>`.
const SIGNATURE: &str = "onceover-webhook-signature";
/// What is read of an answer.
const MAX_ANSWER: usize = 4 * 1024;

/// One address that takes events.
pub(super) struct WebhookPublisher {
    client: Client,
    url: Url,
    secret: Option<String>,
}

impl WebhookPublisher {
    pub(super) fn new(destination: &Destination, url: Url) -> Result<Self, String> {
        // A name goes through the resolver; an address would not.
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            Some(Host::Domain(_)) => None,
            None => return Err("its address has no host".into()),
        };
        if !destination.allow_private {
            if let Some(private) = literal.filter(|address| !is_public(*address)) {
                return Err(format!(
                    "{private} is not a public address, and private ones are not allowed there"
                ));
            }
            if url.scheme() != "https" {
                return Err("it leaves the private network in plain http; use https".into());
            }
        }
        // A second process-wide provider is refused and does no harm.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .retry(reqwest::retry::never())
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(3))
            .timeout(DEADLINE)
            .pool_idle_timeout(Duration::from_secs(5))
            .dns_resolver(Resolver { allow_private: destination.allow_private })
            .no_proxy()
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self { client, url, secret: destination.secret.clone() })
    }

    async fn send(&self, envelope: &Envelope) -> PublishResult {
        if envelope.body.len() > MAX_BYTES {
            return PublishResult::Refused(format!(
                "the event has {} bytes; {MAX_BYTES} is the most that is sent",
                envelope.body.len()
            ));
        }
        let mut request = self
            .client
            .post(self.url.clone())
            .header("content-type", CONTENT_TYPE)
            .header("idempotency-key", envelope.id.to_string())
            .header("user-agent", concat!("onceover/", env!("CARGO_PKG_VERSION")));
        if let Some(secret) = &self.secret {
            request = request.header(SIGNATURE, sign(secret, envelope));
        }
        match request.body(envelope.body.clone()).send().await {
            Ok(response) => interpret(response).await,
            // Whether it arrived or not: it will be sent again under the same id.
            Err(error) => PublishResult::TransportDown(words(&causes(&error))),
        }
    }
}

impl Publisher for WebhookPublisher {
    fn publish<'a>(&'a self, envelope: &'a Envelope) -> Delivery<'a> {
        Box::pin(self.send(envelope))
    }
}

fn sign(secret: &str, envelope: &Envelope) -> String {
    let time = envelope.sent_at.timestamp();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())
        .expect("a key of any length makes an HMAC");
    mac.update(time.to_string().as_bytes());
    mac.update(b".");
    mac.update(&envelope.body);
    format!("t={time},v1={}", hex::encode(mac.finalize().into_bytes()))
}

/// 2xx: taken, or had already where it says `Idempotent-Replayed: true`. Only answers that can be
/// about no single event are the transport's; a receiver that breaks on one event must not stop
/// its neighbours (I18).
async fn interpret(response: Response) -> PublishResult {
    let status = response.status();
    if status.is_success() {
        let replayed = response.headers().get("idempotent-replayed");
        let result = if replayed.is_some_and(|value| value == "true") {
            PublishResult::Duplicate
        } else {
            PublishResult::Published
        };
        // Read so that the connection can be used again; what it says does not matter.
        beginning(response).await;
        return result;
    }
    let said = format!("answered {}: {}", status.as_u16(), words(&beginning(response).await));
    match status {
        StatusCode::UNAUTHORIZED
        | StatusCode::PROXY_AUTHENTICATION_REQUIRED
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::TOO_EARLY
        | StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => PublishResult::TransportDown(said),
        status if status.is_redirection() => {
            PublishResult::Refused(format!("{said} (redirects are not followed)"))
        }
        _ => PublishResult::Refused(said),
    }
}

async fn beginning(mut response: Response) -> String {
    let mut read = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = MAX_ANSWER - read.len();
        read.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if read.len() == MAX_ANSWER {
            break;
        }
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// The whole chain without the address, which may carry a secret in its path or query.
fn causes(error: &reqwest::Error) -> String {
    let mut text = if error.is_timeout() {
        "no answer in time".to_owned()
    } else if error.is_connect() {
        "cannot connect".to_owned()
    } else {
        "the exchange broke".to_owned()
    };
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}
