//! What can go wrong in a command: a refusal that the caller is told in full, or a fault that is
//! logged with its cause and told by its code alone (T41).

use domain::{problem::Code, view::Refusal};

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A rule says no; nothing was done.
    #[error("refused: {}", .0.code)]
    Refused(Box<Refusal>),
    /// The database did not answer, or answered with a fault.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// A pooler stands between this program and PostgreSQL.
    #[error(
        "the database's address leads through a connection pooler that {0}; nothing was done. Connect \
         to PostgreSQL itself: roles, time limits, prepared statements and LISTEN belong to a session \
         of its own (docs/configuration.md, Poolers)"
    )]
    Pooled(&'static str),
    /// The schema could not be brought up to date, or is not.
    #[error("the migration failed")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// A provider's endpoint cannot be used as configured.
    #[error("the provider {0} cannot be used: {1}")]
    Provider(String, String),
    /// A workflow's definition cannot be used.
    #[error("a workflow cannot be registered")]
    Definition(#[from] crate::definition::DefinitionError),
    /// A destination of events cannot be used as configured.
    #[error("the destination {0} cannot be used: {1}")]
    Destination(String, String),
    /// The audit row of a command could not be written, so the command was not carried out (T29).
    #[error("the audit log could not be written; nothing was done")]
    Unaudited(#[source] sqlx::Error),
    /// The heads of the audit chains did not arrive at a place outside the database.
    #[error("the heads of the audit log were not kept in the {0}: {1}")]
    Anchor(&'static str, String),
    /// A row holds what this build cannot read: a newer binary wrote it, or somebody by hand.
    #[error("the stored value cannot be read: {0}")]
    Unreadable(String),
    /// The command panicked; its transaction was rolled back.
    #[error("the command panicked")]
    Panicked,
}

impl EngineError {
    /// A refusal without particulars.
    #[must_use]
    pub fn refused(code: Code) -> Self {
        Self::refused_with(code, |_| {})
    }

    /// A refusal with particulars.
    #[must_use]
    pub fn refused_with(code: Code, fill: impl FnOnce(&mut Refusal)) -> Self {
        let mut refusal = Refusal {
            code,
            field: None,
            detail: None,
            missing: None,
            current: None,
            receipt: None,
            retry_at: None,
            decided_at: None,
        };
        fill(&mut refusal);
        Self::Refused(Box::new(refusal))
    }

    /// A refusal that names a field and what is wrong with it.
    #[must_use]
    pub fn field(code: Code, field: &str, detail: impl Into<String>) -> Self {
        Self::refused_with(code, |refusal| {
            refusal.field = Some(field.into());
            refusal.detail = Some(detail.into());
        })
    }

    /// What the caller is told: the refusal, or a code for a fault without any internal text.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        let code = match self {
            Self::Refused(refusal) => return (**refusal).clone(),
            Self::Database(error) if is_bad_statement(error) => Code::Internal,
            Self::Database(_) | Self::Unaudited(_) | Self::Migration(_) => Code::Unavailable,
            Self::Provider(..)
            | Self::Destination(..)
            | Self::Anchor(..)
            | Self::Pooled(_)
            | Self::Definition(_)
            | Self::Unreadable(_)
            | Self::Panicked => Code::Internal,
        };
        match Self::refused(code) {
            Self::Refused(refusal) => *refusal,
            _ => unreachable!("refused() makes a refusal"),
        }
    }

    /// Whether this is our fault or the database's, to be logged, rather than an answer.
    #[must_use]
    pub const fn is_fault(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }

    /// Whether the transaction lost a race that a fresh one may win: deadlock (40P01) or
    /// serialisation failure (40001).
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Database(sqlx::Error::Database(error))
            | Self::Unaudited(sqlx::Error::Database(error))
            if matches!(error.code().as_deref(), Some("40001" | "40P01")))
    }
}

/// A statement that the database refused is a fault of ours; that it cannot be reached, is full or
/// shuts down (classes 08, 53, 57, 58) is not.
fn is_bad_statement(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => !error.code().is_some_and(|code| {
            ["08", "25", "40", "53", "55", "57", "58"].iter().any(|class| code.starts_with(class))
        }),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => false,
        _ => true,
    }
}
