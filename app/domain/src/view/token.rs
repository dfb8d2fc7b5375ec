//! Bearer tokens, as their list and their own pages show them: everything but the secret.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::operation::ActionOffer;
use crate::{
    ids::TokenId,
    token::{TokenState, TokenVerb},
};

/// A token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenView {
    /// Its id.
    pub id: TokenId,
    /// Grows when it is revoked; a decision names it.
    pub version: i64,
    /// What it is called.
    pub name: String,
    /// Whose it is: a person by email; `None`: a service's.
    pub person: Option<String>,
    /// Kinds of operation that it covers; empty: all of the tenant's.
    pub kinds: Vec<String>,
    /// Calls that it covers; empty: all that its bearer may make.
    pub verbs: Vec<TokenVerb>,
    /// Where it stands.
    pub state: TokenState,
    /// Who made it.
    pub made_by: String,
    /// When.
    pub made_at: DateTime<Utc>,
    /// Until when it works; `None`: until it is revoked.
    pub expires_at: Option<DateTime<Utc>>,
    /// Its last use, to the minute; `None`: never, or before uses were noted.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
    /// By whom.
    pub revoked_by: Option<String>,
    /// What the reader may do with it.
    pub actions: Vec<ActionOffer>,
}
