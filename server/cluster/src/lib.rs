//! A private PostgreSQL cluster that lives and ends with the program that needs it.
//!
//! Used where `DATABASE_URL` is not set: by the demo, with data kept between runs, and
//! by test runs, with a throwaway folder. Everything here blocks; call it outside an
//! async context or through `spawn_blocking`.
//!
//! Guards against the ways a home-made server goes wrong: it never runs with
//! `fsync=off`, never as root, is never open to other users of the machine (TCP on the
//! loopback asks for a password, the Unix socket lies in a folder of mode 0700), is
//! never shared by two programs unawares, and never outlives its owner, not even one
//! killed outright.

mod account;
mod binaries;
mod error;
mod folder;
mod postmaster;
mod watcher;

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

pub use error::ClusterError;

use binaries::Binaries;
use error::IoContext;
use folder::Folder;
use postmaster::{Failure, Postmaster};
use watcher::Watcher;

/// How often a port may be snatched away between our look and the server's.
const PORT_TRIES: u32 = 5;
/// How long the children of a killed server may need to leave.
const LEAVING_LIMIT: Duration = Duration::from_secs(15);

/// How a cluster is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Use a new folder inside the given one, and remove it at the end.
    pub throwaway: bool,
}

impl Options {
    /// For test runs: nothing is left behind.
    #[must_use]
    pub fn throwaway() -> Self {
        Self { throwaway: true }
    }
}

/// A running server. Dropping it stops the server.
#[derive(Debug)]
pub struct Cluster {
    server: Postmaster,
    watcher: Watcher,
    folder: Folder,
    port: u16,
    password: String,
    notes: Vec<String>,
    stopped: bool,
}

impl Cluster {
    /// Starts a server on the data in `data_dir`, which is created on first use.
    ///
    /// `data_dir` must be absent, empty, or the folder of an earlier run. With
    /// [`Options::throwaway`] it is the place for a new folder (such as
    /// [`std::env::temp_dir`]). Under root the server runs as the owner of existing
    /// data, else as `postgres` or `nobody`; where that user cannot get to `data_dir`,
    /// the data lies under `/var/tmp` and [`Cluster::notes`] says so.
    ///
    /// # Errors
    /// [`ClusterError`]; each is a sentence for the person at the terminal.
    pub fn start(data_dir: &Path, options: Options) -> Result<Self, ClusterError> {
        let (folder, mut notes) = Folder::open(data_dir, options.throwaway)?;
        let mut watcher = Watcher::start(&folder)?;
        match Self::run_in(&folder, &mut watcher, &mut notes) {
            Ok((server, port, password)) => {
                Ok(Self { server, watcher, folder, port, password, notes, stopped: false })
            }
            Err(problem) => {
                watcher.dismiss();
                Err(problem)
            }
        }
    }

    fn run_in(
        folder: &Folder,
        watcher: &mut Watcher,
        notes: &mut Vec<String>,
    ) -> Result<(Postmaster, u16, String), ClusterError> {
        let pgdata = folder.pgdata();
        let wanted = fs::read_to_string(pgdata.join("PG_VERSION"))
            .ok()
            .and_then(|text| text.trim().parse().ok());
        let binaries = Binaries::find_for(&pgdata, wanted)?;
        folder.account().can_run(&binaries)?;
        let (password, password_file) = folder.password()?;
        notes.extend(postmaster::clear_leftover(folder)?);
        postmaster::prepare(folder, &binaries, &password_file)?;

        let begun = Instant::now();
        let mut tries = 0;
        loop {
            let last = folder.last_port().filter(|_| tries == 0);
            let port = free_port(last)?;
            match Postmaster::start(folder, &binaries, port, |pid| watcher.guard(pid)) {
                Ok(mut server) => {
                    if let Err(problem) = folder.keep_port(port) {
                        server.stop()?;
                        return Err(problem);
                    }
                    return Ok((server, port, password));
                }
                Err(Failure::PortTaken) if tries < PORT_TRIES => tries += 1,
                Err(Failure::StillLeaving) if begun.elapsed() < LEAVING_LIMIT => {
                    std::thread::park_timeout(Duration::from_millis(200));
                }
                Err(Failure::Final(problem)) => return Err(problem),
                Err(Failure::PortTaken | Failure::StillLeaving) => {
                    return Err(ClusterError::NotStarted {
                        reason: "its port or its memory stayed taken".to_owned(),
                        log: folder.log(),
                        tail: "see there".to_owned(),
                    });
                }
            }
        }
    }

    /// The address of `database` over TCP on the loopback, for the superuser role
    /// `postgres`, password included. Any PostgreSQL client understands it.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!(
            "postgres://postgres:{}@127.0.0.1:{}/{}",
            self.password,
            self.port,
            percent_encoded(database)
        )
    }

    /// The same through the Unix socket: cheaper, without a password, only for
    /// processes of the user that owns the folder and for root.
    #[must_use]
    pub fn socket_url(&self, database: &str) -> String {
        format!(
            "postgres://postgres@localhost:{}/{}?host={}",
            self.port,
            percent_encoded(database),
            percent_encoded(&self.folder.socket().to_string_lossy())
        )
    }

    /// The TCP port on 127.0.0.1. May differ from run to run.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The postmaster's process id, for programs that test its death.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Where the cluster lies; its `server.log` is inside.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sentences a person should read: another place or user than expected, a server
    /// that an earlier run had left behind.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Stops the server and, when throwaway, removes its folder.
    ///
    /// # Errors
    /// When the server does not end within 40 seconds, or the folder cannot be removed.
    pub fn stop(mut self) -> Result<(), ClusterError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), ClusterError> {
        if self.stopped {
            return Ok(());
        }
        self.stopped = true;
        let ended = self.server.stop();
        self.watcher.dismiss();
        ended.and_then(|()| self.folder.remove_if_throwaway())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Nobody is left to tell; `stop` is for those who want to know.
        let _ = self.end();
    }
}

/// The last port if nobody has it now, else any free one.
fn free_port(last: Option<u16>) -> Result<u16, ClusterError> {
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let listener = match last.map(bind) {
        Some(Ok(listener)) => listener,
        _ => bind(0).doing("find a free port on", Path::new("127.0.0.1"))?,
    };
    let address = listener.local_addr().doing("find a free port on", Path::new("127.0.0.1"))?;
    Ok(address.port())
}

/// For a path or query part of a URL: everything but unreserved characters.
fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
        encoded
    })
}
