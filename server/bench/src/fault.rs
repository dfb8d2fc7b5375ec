//! Why a figure could not be measured.

use std::io;

/// A sentence for the person at the terminal, with its cause.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The engine refused or failed.
    #[error("the engine refused or failed")]
    Engine(#[from] engine::EngineError),
    /// A statement of the bench's own failed.
    #[error("a statement of the bench failed")]
    Database(#[from] sqlx::Error),
    /// No private PostgreSQL.
    #[error("no private PostgreSQL")]
    Cluster(#[from] cluster::ClusterError),
    /// The system refused.
    #[error("could not {0}")]
    Io(String, #[source] io::Error),
    /// Anything else.
    #[error("{0}")]
    Said(String),
}

impl Fault {
    /// The whole chain in one line.
    pub fn chain(&self) -> String {
        let mut told = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            told.push_str(": ");
            told.push_str(&error.to_string());
            cause = error.source();
        }
        told
    }
}

/// Names what was tried, for errors of the system.
pub fn trying(what: &str) -> impl FnOnce(io::Error) -> Fault {
    let what = what.to_owned();
    move |error| Fault::Io(what, error)
}
