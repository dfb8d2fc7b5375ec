//! Identifiers as types, so that an operation's id never stands where a staff member's is meant.
//!
//! Every id is a UUID; version 7 where order by age matters. Its text is the plain hyphenated
//! form at every layer (database, JSON, URL), so one can be pasted from any of them into another.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A text that is no identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an identifier: expected 32 hexadecimal digits")]
pub struct InvalidId;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID that the database gave.
            #[must_use]
            pub const fn new(id: Uuid) -> Self {
                Self(id)
            }

            /// The UUID, for binding into SQL.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Uuid::try_parse(text).map(Self).map_err(|_| InvalidId)
            }
        }
    )*};
}

ids! {
    /// One business effect; also the key that the provider sees (D15).
    OperationId;
    /// A customer of the console whose rows no other tenant sees (D02).
    TenantId;
    /// A person who signs in.
    StaffId;
    /// A bearer token, of a service or of a person.
    TokenId;
    /// A signed-in browser.
    SessionId;
    /// A piece of evidence on an operation.
    EvidenceId;
    /// A problem that stays open until a person closes it.
    IncidentId;
    /// A process of several steps, each done once.
    WorkflowId;
    /// The link of an operation to its undo.
    CompensationId;
    /// An event waiting to be told.
    EventId;
    /// A message from others, taken in once.
    MessageId;
    /// A request for a second person.
    ApprovalId;
    /// Another payload under a key that was taken.
    ConflictId;
    /// One verb for many records.
    BulkId;
    /// Masked fields of one record, shown to one person for a short time.
    RevealId;
}
