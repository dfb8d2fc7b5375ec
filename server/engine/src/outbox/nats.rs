//! Delivery to NATS JetStream: acknowledged by the stream, with the event's id as `Nats-Msg-Id`, so
//! that the broker itself drops a repeat within its duplicate window.

use std::{
    error::Error as _,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_nats::{
    ConnectOptions, Event, HeaderMap, ServerError,
    connection::State,
    header::NATS_MESSAGE_ID,
    jetstream::{
        self, Context,
        context::{GetStreamByNameErrorKind, PublishError, PublishErrorKind},
    },
};
use tokio::sync::OnceCell;
use url::Url;

use super::{
    envelope::{CONTENT_TYPE, Envelope},
    publish::{Delivery, MAX_BYTES, PublishResult, Publisher, words},
};
use crate::settings::Destination;

const CONNECT: Duration = Duration::from_secs(3);
/// How long the stream may take to acknowledge.
const ACK: Duration = Duration::from_secs(5);

/// One broker; the connection is made with the first event and kept.
pub(super) struct NatsPublisher {
    address: String,
    token: Option<String>,
    /// Stands before each topic, its dot included.
    prefix: String,
    jetstream: OnceCell<Context>,
    complaints: Complaints,
}

/// What the broker said without being asked, such as a denied permission, until somebody looks.
#[derive(Clone, Default)]
struct Complaints(Arc<Mutex<Vec<String>>>);

impl Complaints {
    const MOST: usize = 64;

    fn add(&self, said: String) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == Self::MOST {
            all.remove(0);
        }
        all.push(said);
    }

    /// Takes out what says that a subject is denied.
    fn denied(&self, subject: &str) -> Option<String> {
        let named = format!("\"{subject}\"");
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|said| {
            said.to_ascii_lowercase().contains("permissions violation") && said.contains(&named)
        })?;
        Some(all.remove(at))
    }
}

impl NatsPublisher {
    pub(super) fn new(destination: &Destination, mut url: Url) -> Result<Self, String> {
        if url.host_str().is_none_or(str::is_empty) {
            return Err("its address has no host".into());
        }
        let path = url.path().trim_matches('/');
        if !path.is_empty() && !is_subject(path) {
            return Err("the path of its address is no NATS subject".into());
        }
        let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
        url.set_path("");
        Ok(Self {
            address: url.into(),
            token: destination.secret.clone(),
            prefix,
            jetstream: OnceCell::new(),
            complaints: Complaints::default(),
        })
    }

    async fn connected(&self) -> Result<&Context, String> {
        self.jetstream
            .get_or_try_init(async || {
                let complaints = self.complaints.clone();
                let mut options = ConnectOptions::new()
                    .name("onceover")
                    .connection_timeout(CONNECT)
                    .event_callback(move |event| {
                        if let Event::ServerError(ServerError::Other(said)) = event {
                            complaints.add(said);
                        }
                        std::future::ready(())
                    });
                if let Some(token) = &self.token {
                    options = options.token(token.clone());
                }
                let client =
                    options.connect(self.address.as_str()).await.map_err(|error| causes(&error))?;
                let mut context = jetstream::new(client);
                context.set_timeout(ACK);
                Ok(context)
            })
            .await
    }

    async fn send(&self, envelope: &Envelope) -> PublishResult {
        let subject = format!("{}{}", self.prefix, envelope.topic);
        if !is_subject(&subject) {
            return PublishResult::Refused("the topic is no NATS subject".into());
        }
        if envelope.body.len() > MAX_BYTES {
            return PublishResult::Refused(format!(
                "the event has {} bytes; {MAX_BYTES} is the most that is sent",
                envelope.body.len()
            ));
        }
        let context = match self.connected().await {
            Ok(context) => context,
            Err(error) => return PublishResult::TransportDown(words(&error)),
        };
        // What is handed to a client that has no connection waits in its memory instead of ours.
        if context.client().connection_state() != State::Connected {
            return PublishResult::TransportDown("the connection to the broker is lost".into());
        }
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, envelope.id.to_string());
        headers.insert("Content-Type", CONTENT_TYPE);
        let sent =
            context.publish_with_headers(subject.clone(), headers, envelope.body.clone().into());
        let acknowledged = match sent.await {
            Ok(pending) => pending.await,
            Err(error) => Err(error),
        };
        match acknowledged {
            Ok(ack) if ack.duplicate => PublishResult::Duplicate,
            Ok(_) => PublishResult::Published,
            Err(error) => self.judged(context, &subject, &error).await,
        }
    }

    /// Whether a failure is about this event or about the broker.
    async fn judged(
        &self,
        context: &Context,
        subject: &str,
        error: &PublishError,
    ) -> PublishResult {
        let said = words(&causes(error));
        match error.kind() {
            PublishErrorKind::MaxPayloadExceeded
            | PublishErrorKind::WrongLastMessageId
            | PublishErrorKind::WrongLastSequence => PublishResult::Refused(said),
            // Nobody answered: either no stream takes the subject, or the one that does is down.
            PublishErrorKind::StreamNotFound => match context.stream_by_subject(subject).await {
                Err(error) if matches!(error.kind(), GetStreamByNameErrorKind::NotFound) => {
                    PublishResult::Refused(format!(
                        "no stream takes the subject {}",
                        words(subject)
                    ))
                }
                _ => PublishResult::TransportDown(said),
            },
            // A denied subject is told beside the exchange, and the answer never comes.
            PublishErrorKind::TimedOut => match self.complaints.denied(subject) {
                Some(denied) => PublishResult::Refused(words(&denied)),
                None => PublishResult::TransportDown(said),
            },
            PublishErrorKind::Other => {
                let code = error
                    .source()
                    .and_then(|cause| cause.downcast_ref::<jetstream::Error>())
                    .map(jetstream::Error::code);
                match code {
                    Some(400..500) => PublishResult::Refused(said),
                    _ => PublishResult::TransportDown(said),
                }
            }
            PublishErrorKind::BrokenPipe | PublishErrorKind::MaxAckPending => {
                PublishResult::TransportDown(said)
            }
        }
    }
}

impl Publisher for NatsPublisher {
    fn publish<'a>(&'a self, envelope: &'a Envelope) -> Delivery<'a> {
        Box::pin(self.send(envelope))
    }
}

/// A subject that can be published to: printable tokens between dots, no wildcard.
fn is_subject(text: &str) -> bool {
    text.split('.').all(|token| {
        !token.is_empty()
            && !matches!(token, "*" | ">")
            && token.chars().all(|c| !c.is_whitespace() && !c.is_control())
    })
}

fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_plain_tokens() {
        for good in ["operation.succeeded", "a", "invoice.paid.v1", "zahlung.ü"] {
            assert!(is_subject(good), "{good}");
        }
        for bad in ["", ".", "a..b", "a.", ".a", "a.*", ">", "a b", "a\nPUB x", "a.\u{7f}"] {
            assert!(!is_subject(bad), "{bad:?}");
        }
    }
}
