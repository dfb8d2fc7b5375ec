//! Why a sign-in did not come to be. The log is told; the person gets one of three codes (T41).

use domain::problem::Code;
use engine::EngineError;

/// What was wrong. Nothing here holds a token, a code or an address of a person.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// The state is unknown, was used before, is too old, or left from another browser.
    #[error("no sign-in of this browser waits for that answer")]
    NotBegun,
    /// The provider refused, with a word of its own.
    #[error("the provider answered {0}")]
    Declined(String),
    /// RFC 9207: the answer came from another provider than the one asked.
    #[error("the answer names another issuer, or none")]
    OtherIssuer,
    /// Neither a code nor an error.
    #[error("the answer has no code")]
    NoCode,
    /// The provider cannot be asked, or answers what cannot be used.
    #[error("{0}")]
    Unavailable(String),
    /// The ID token does not hold.
    #[error("the ID token {0}")]
    Token(&'static str),
    /// What the provider says of the person does not open this console.
    #[error("the person {0}")]
    Person(&'static str),
    /// The engine refused, or failed.
    #[error("the engine")]
    Engine(#[from] EngineError),
}

impl Fault {
    /// What the person is told.
    pub(super) fn code(&self) -> Code {
        match self {
            Self::NotBegun
            | Self::Declined(_)
            | Self::OtherIssuer
            | Self::NoCode
            | Self::Token(_) => Code::SsoFailed,
            Self::Unavailable(_) => Code::SsoUnavailable,
            Self::Person(_) => Code::SsoRefused,
            Self::Engine(error) => error.refusal().code,
        }
    }
}
