//! What a person sees of their own account.

use chrono::{DateTime, Utc};

use crate::ids::SessionId;

/// A person's sessions and factors, for that person alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountView {
    /// Whether a second factor counts.
    pub second_factor: bool,
    /// Recovery codes that still work.
    pub recovery_codes: i64,
    /// Until when what was last given counts for money, reveals and force; `None`: no longer.
    pub proved_until: Option<DateTime<Utc>>,
    /// Browsers that are signed in, last used first.
    pub sessions: Vec<SessionView>,
    /// The last sign-ins, newest first.
    pub sign_ins: Vec<SignInView>,
}

/// A browser that is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionView {
    /// Its id.
    pub id: SessionId,
    /// When it was opened.
    pub begun: DateTime<Utc>,
    /// Its last request, to the minute.
    pub seen: DateTime<Utc>,
    /// Where the sign-in came from, as the server saw it.
    pub address: Option<String>,
    /// The browser in words.
    pub browser: String,
    /// The tenant that it stands in.
    pub tenant: String,
    /// Whether it is the one that asks.
    pub current: bool,
}

/// A sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInView {
    /// When.
    pub at: DateTime<Utc>,
    /// From where.
    pub address: Option<String>,
    /// The browser in words.
    pub browser: String,
    /// Whether its session still stands.
    pub open: bool,
}
