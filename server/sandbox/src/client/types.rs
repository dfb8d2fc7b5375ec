//! What a service says to the engine and may hear from it.

use serde_json::Value;

/// The engine is away or does not keep to its interface.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No answer, or a 5xx: the same call may be made again.
    #[error("the engine is away")]
    Away(#[source] Option<reqwest::Error>),
    /// An answer that the interface does not know.
    #[error("unexpected answer {status}: {body}")]
    Unexpected {
        /// HTTP status.
        status: u16,
        /// The beginning of the body.
        body: String,
    },
    /// No token for this tenant.
    #[error("no service token for tenant {0}")]
    NoToken(String),
}

/// What is reserved.
#[derive(Clone, Debug, PartialEq)]
pub struct Reserve<'a> {
    /// Such as `invoice.charge`.
    pub operation: &'a str,
    /// The business key; any UTF-8.
    pub key: &'a str,
    /// The payload.
    pub payload: &'a Value,
    /// Minor units.
    pub amount_minor: Option<i64>,
    /// Three letters.
    pub currency: Option<&'a str>,
    /// Leave it to a worker.
    pub queued: bool,
}

/// The right to carry an operation out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The operation.
    pub id: String,
    /// Dies with the lease.
    pub fence: i64,
    /// The key for the provider.
    pub provider_key: String,
}

/// What became of a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// This caller carries it out.
    Won(Lease),
    /// A worker will.
    Queued {
        /// The operation.
        id: String,
    },
    /// It is done; the stored answer came back.
    Replayed {
        /// Status of the stored answer.
        status: u16,
    },
    /// A refusal, by its stable code.
    Refused {
        /// HTTP status.
        status: u16,
        /// Such as `key_reused`.
        code: String,
    },
}

impl Reserved {
    /// One word for reports: `won`, `queued`, `replayed` or the refusal's code.
    pub fn word(&self) -> &str {
        match self {
            Self::Won(_) => "won",
            Self::Queued { .. } => "queued",
            Self::Replayed { .. } => "replayed",
            Self::Refused { code, .. } => code,
        }
    }
}

/// What became of a finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Written, now or before.
    Recorded,
    /// The fence is lost; the answer is kept as evidence (D17).
    LateEvidenceKept,
    /// A refusal, by its stable code.
    Refused(String),
}

/// Work handed out by `claim`.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// The right to do it.
    pub lease: Lease,
    /// Such as `invoice.charge`.
    pub operation: String,
    /// The payload.
    pub payload: Value,
    /// Minor units.
    pub amount_minor: Option<i64>,
    /// Three letters.
    pub currency: Option<String>,
}
