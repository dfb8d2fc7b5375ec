//! Why the sandbox's servers do not start or go on.

use std::{io, net::SocketAddr, path::PathBuf};

use super::LedgerError;
use crate::client;

/// Why the providers, or the consumer beside them, do not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is open to others.
    #[error("the sandbox listens on loopback only, not on {0}")]
    NotLoopback(SocketAddr),
    /// The address cannot be taken.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A ledger cannot be opened.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The kept rules cannot be read.
    #[error("cannot read the rules in {path}")]
    Modes {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The HTTP client for webhooks cannot be made.
    #[error(transparent)]
    Client(#[from] client::ClientError),
    /// The server ended by itself.
    #[error("the sandbox server ended")]
    Serve(#[source] io::Error),
}
