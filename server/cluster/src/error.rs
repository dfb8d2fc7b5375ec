//! What can go wrong with the private cluster, each as a sentence that says what to do.
//!
//! Guards against a bare `os error 13`: whoever reads the message may never have
//! run PostgreSQL before.

use std::io;
use std::path::{Path, PathBuf};

/// Why the cluster could not be started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No server binaries of a version we can use.
    #[error(
        "No PostgreSQL server of version 15 or newer was found{found}. Install it (Debian and \
         Ubuntu: `apt-get install postgresql`; Fedora: `dnf install postgresql-server`; macOS: \
         `brew install postgresql@17`), or set DATABASE_URL to a server that runs already."
    )]
    NoServer {
        /// What was found instead, in words, or empty.
        found: String,
    },
    /// The data was written by another major version than any installed here.
    #[error(
        "The data in {} was written by PostgreSQL {wanted}, and no server of that version is \
         installed. Install `postgresql-{wanted}`, or move the folder away to begin anew.",
        pgdata.display()
    )]
    OtherVersion {
        /// The data folder.
        pgdata: PathBuf,
        /// Its major version.
        wanted: u32,
    },
    /// Root may not run PostgreSQL, and there is nobody else to run it as.
    #[error(
        "PostgreSQL refuses to run as root, and neither a user `postgres` nor `nobody` exists. \
         Create one (`useradd --system postgres`), start this program as an ordinary user, or set \
         DATABASE_URL."
    )]
    NoAccount,
    /// The unprivileged user cannot execute the server.
    #[error("The user `{account}` cannot run {}: {reason}. Let that user read it, or set DATABASE_URL.", program.display())]
    NotExecutable {
        /// Who was to run it.
        account: String,
        /// The server binary.
        program: PathBuf,
        /// What the attempt said.
        reason: String,
    },
    /// The folder holds something that is not a cluster of ours.
    #[error(
        "{} holds other files and will not be turned into a database folder. Name an empty \
         folder or one that does not exist yet.",
        folder.display()
    )]
    ForeignFolder {
        /// The folder that was named.
        folder: PathBuf,
    },
    /// Another program runs this cluster now.
    #[error(
        "The database in {} is in use by process {owner}. Stop that program first, or set \
         DATABASE_URL to share its server.",
        folder.display()
    )]
    InUse {
        /// The cluster's folder.
        folder: PathBuf,
        /// The process id that holds it, as it wrote it down.
        owner: String,
    },
    /// A folder that must be private is not.
    #[error("{} exists already and {problem}. Remove it, then start again.", folder.display())]
    UnsafeFolder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// `initdb` failed.
    #[error("initdb could not prepare {}: {output}", pgdata.display())]
    Initdb {
        /// The data folder.
        pgdata: PathBuf,
        /// The end of what it printed.
        output: String,
    },
    /// The server did not come up.
    #[error("PostgreSQL did not start: {reason}. The end of {} says: {tail}", log.display())]
    NotStarted {
        /// What was seen.
        reason: String,
        /// The server's log.
        log: PathBuf,
        /// Its last lines.
        tail: String,
    },
    /// The server did not end, not even when told to at once.
    #[error("PostgreSQL (process {pid}) did not stop within {seconds} seconds.")]
    NotStopped {
        /// The postmaster.
        pid: i32,
        /// How long we waited.
        seconds: u64,
    },
    /// A file or process operation failed.
    #[error("Could not {doing} {}", path.display())]
    Io {
        /// What was attempted, as a verb.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Adds the attempted verb and the path to an I/O error.
pub(crate) trait IoContext<T> {
    /// Names what was done to which path when it failed.
    fn doing(self, verb: &'static str, path: &Path) -> Result<T, ClusterError>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn doing(self, verb: &'static str, path: &Path) -> Result<T, ClusterError> {
        self.map_err(|source| ClusterError::Io { doing: verb, path: path.to_owned(), source })
    }
}
