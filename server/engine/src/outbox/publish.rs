//! What a destination says to an event.

use std::{future::Future, pin::Pin, time::Duration};

use super::envelope::Envelope;

/// How long a delivery may take; shorter than the publisher's lease, so that whoever takes over
/// does not meet it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);
/// The largest event that is sent: what brokers take by default.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;
/// What of a destination's own words is kept, in characters.
const MAX_WORDS: usize = 300;

/// What came of a delivery. Only what is about this one event is refused: whatever may be about
/// the destination is a transport that is down, or an outage would make every event dead (D28).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishResult {
    /// The destination has it.
    Published,
    /// The destination had it already.
    Duplicate,
    /// The destination does not take this event.
    Refused(String),
    /// The destination cannot be reached, or takes nothing now.
    TransportDown(String),
}

impl PublishResult {
    /// The word that the table of deliveries keeps.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Duplicate => "duplicate",
            Self::Refused(_) => "refused",
            Self::TransportDown(_) => "transport_down",
        }
    }

    /// What was said.
    pub(crate) fn error(&self) -> Option<&str> {
        match self {
            Self::Published | Self::Duplicate => None,
            Self::Refused(error) | Self::TransportDown(error) => Some(error),
        }
    }
}

/// A delivery under way.
pub type Delivery<'a> = Pin<Box<dyn Future<Output = PublishResult> + Send + 'a>>;

/// A way to a destination. It sends an event once: trying again is the outbox's business.
pub trait Publisher: Send + Sync {
    /// Hands an event over, and says what became of it.
    fn publish<'a>(&'a self, envelope: &'a Envelope) -> Delivery<'a>;
}

/// Others' words as they may stand in a row and on a page: bounded, without control characters.
pub(crate) fn words(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_WORDS).collect()
}
