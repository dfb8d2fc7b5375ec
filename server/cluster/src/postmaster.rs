//! The server process: prepared, started, waited for, stopped.
//!
//! Guards against two servers on one data folder, against a stale `postmaster.pid`,
//! and against ending a process that is not ours: a pid is signalled only after it
//! was seen to be the postmaster of this very data folder.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::binaries::Binaries;
use crate::error::{ClusterError, IoContext};
use crate::folder::Folder;

/// Crash recovery of a large data folder takes its time; a hang does not deserve more.
const START_LIMIT: Duration = Duration::from_secs(180);
/// A fast shutdown writes a checkpoint.
const FAST_LIMIT: Duration = Duration::from_secs(30);
const IMMEDIATE_LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);
/// A log beyond this is set aside at the next start.
const LOG_LIMIT: u64 = 10 * 1024 * 1024;

/// Given on the command line, where neither a file nor `ALTER SYSTEM` overrides them.
/// Durability stays on always: an acknowledged write that a crash loses would turn
/// "once" into a guess.
const SETTINGS: [&str; 12] = [
    "fsync=on",
    "full_page_writes=on",
    "synchronous_commit=on",
    "shared_buffers=256MB",
    "max_connections=200",
    "max_wal_size=2GB",
    "random_page_cost=1.1",
    "jit=off",
    "timezone=UTC",
    "log_timezone=UTC",
    "listen_addresses=127.0.0.1",
    "logging_collector=off",
];

/// A running server, child of this process.
#[derive(Debug)]
pub(crate) struct Postmaster {
    child: Child,
}

/// Why a start did not lead to a ready server.
pub(crate) enum Failure {
    /// The port was taken by somebody between our look and the server's.
    PortTaken,
    /// The last server's children are still leaving the shared memory.
    StillLeaving,
    /// Anything else.
    Final(ClusterError),
}

/// Runs `initdb` unless the data folder exists. An interrupted one leaves no data folder.
pub(crate) fn prepare(
    folder: &Folder,
    binaries: &Binaries,
    password_file: &Path,
) -> Result<(), ClusterError> {
    let pgdata = folder.pgdata();
    if pgdata.join("PG_VERSION").exists() {
        return Ok(());
    }
    let unfinished = folder.path().join("pgdata.new");
    let mut output = String::new();
    // Without C.UTF-8 (older macOS) plain C: the encoding is UTF-8 either way.
    for locale in ["C.UTF-8", "C"] {
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).doing("remove", &unfinished)?;
        }
        let done = folder
            .account()
            .command(&binaries.initdb())
            .args(["--username=postgres", "--encoding=UTF8"])
            .args(["--auth-local=trust", "--auth-host=scram-sha-256"])
            .arg(format!("--locale={locale}"))
            .arg(format!("--pwfile={}", password_file.display()))
            .arg(format!("--pgdata={}", unfinished.display()))
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .doing("run", &binaries.initdb())?;
        if done.status.success() {
            return fs::rename(&unfinished, &pgdata).doing("rename", &unfinished);
        }
        output = format!(
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
        if !output.contains("locale") {
            break;
        }
    }
    Err(ClusterError::Initdb { pgdata, output: last_lines(&output) })
}

/// Stops a server that a killed owner left running, and clears a `postmaster.pid` whose
/// number another process has by now.
///
/// Called with the folder's lock held, so nobody else's server can be meant.
pub(crate) fn clear_leftover(folder: &Folder) -> Result<Option<String>, ClusterError> {
    let pgdata = folder.pgdata();
    let Some(pid) = PidFile::read(&pgdata).map(|file| file.pid) else {
        return Ok(None);
    };
    if test_kill_process(pid).is_err() {
        // Dead: the server itself replaces such a file.
        return Ok(None);
    }
    if !is_postmaster_of(pid, &pgdata) {
        let file = pgdata.join("postmaster.pid");
        fs::remove_file(&file).doing("remove", &file)?;
        return Ok(None);
    }
    let gone = || !is_postmaster_of(pid, &pgdata);
    stop_by(pid, gone)?;
    Ok(Some(format!(
        "Stopped the server (process {}) that an earlier run left behind.",
        pid.as_raw_nonzero()
    )))
}

impl Postmaster {
    /// Starts the server and waits until it accepts connections; `guard` hears its
    /// process id as soon as there is one.
    pub(crate) fn start(
        folder: &Folder,
        binaries: &Binaries,
        port: u16,
        guard: impl FnOnce(u32) -> Result<(), ClusterError>,
    ) -> Result<Self, Failure> {
        let log = folder.log();
        let from = set_aside_large(&log).map_err(Failure::Final)?;
        let output = open_log(&log).map_err(Failure::Final)?;
        let mut command = folder.account().command(&binaries.postgres());
        command.arg("-D").arg(folder.pgdata());
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command
            .args(["-c", &format!("port={port}")])
            .arg("-c")
            .arg(format!("unix_socket_directories={}", folder.socket().display()))
            // macOS needs a locale that is not looked up in threads.
            .env("LC_ALL", "C");
        let mut server =
            Self { child: spawn(command, output, &binaries.postgres()).map_err(Failure::Final)? };
        if let Err(problem) = guard(server.pid()) {
            let _ = server.stop();
            return Err(Failure::Final(problem));
        }
        let reason = match server.wait_until_ready(&folder.pgdata()) {
            Ok(()) => return Ok(server),
            Err(reason) => reason,
        };
        // Only now, when the child is gone or about to be.
        let _ = server.stop();
        let said = read_from(&log, from);
        Err(if said.contains("Address already in use") {
            Failure::PortTaken
        } else if said.contains("shared memory block") && said.contains("still in use") {
            Failure::StillLeaving
        } else {
            Failure::Final(ClusterError::NotStarted { reason, log, tail: last_lines(&said) })
        })
    }

    /// The postmaster's process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the server: fast, and when that does not help at once.
    pub(crate) fn stop(&mut self) -> Result<(), ClusterError> {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return Ok(());
        }
        let pid = Pid::from_child(&self.child);
        let child = &mut self.child;
        stop_by(pid, || matches!(child.try_wait(), Ok(Some(_))))
    }

    fn wait_until_ready(&mut self, pgdata: &Path) -> Result<(), String> {
        let begun = Instant::now();
        while begun.elapsed() < START_LIMIT {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("it ended with {status}"));
            }
            if PidFile::read(pgdata)
                .is_some_and(|file| file.ready && file.pid == Pid::from_child(&self.child))
            {
                return Ok(());
            }
            std::thread::park_timeout(POLL);
        }
        Err(format!("it was not ready after {} seconds", START_LIMIT.as_secs()))
    }
}

fn spawn(mut command: Command, output: File, program: &Path) -> Result<Child, ClusterError> {
    let errors = output.try_clone().doing("open the log for", program)?;
    command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn().doing("run", program)
}

/// SIGINT is the server's "fast", SIGQUIT its "immediate" shutdown.
fn stop_by(pid: Pid, mut gone: impl FnMut() -> bool) -> Result<(), ClusterError> {
    for (signal, limit) in [(Signal::INT, FAST_LIMIT), (Signal::QUIT, IMMEDIATE_LIMIT)] {
        // An error means that it is gone already, which `gone` confirms.
        let _ = kill_process(pid, signal);
        let begun = Instant::now();
        while begun.elapsed() < limit {
            if gone() {
                return Ok(());
            }
            std::thread::park_timeout(POLL);
        }
    }
    Err(ClusterError::NotStopped {
        pid: pid.as_raw_nonzero().get(),
        seconds: (FAST_LIMIT + IMMEDIATE_LIMIT).as_secs(),
    })
}

/// What a server writes beside its data: pid, folder, start, port, socket, address,
/// shared memory, status; one a line.
struct PidFile {
    pid: Pid,
    ready: bool,
}

impl PidFile {
    fn read(pgdata: &Path) -> Option<Self> {
        let text = fs::read_to_string(pgdata.join("postmaster.pid")).ok()?;
        let mut lines = text.lines();
        let pid = Pid::from_raw(lines.next()?.trim().parse().ok()?)?;
        let ready = lines.nth(6).is_some_and(|status| status.trim() == "ready");
        Some(Self { pid, ready })
    }
}

/// Whether this process is a PostgreSQL server that works in `pgdata`.
fn is_postmaster_of(pid: Pid, pgdata: &Path) -> bool {
    let number = pid.as_raw_nonzero();
    let proc = Path::new("/proc").join(number.to_string());
    if Path::new("/proc/self").exists() {
        // A server's working directory is its data folder. A zombie has none.
        let pgdata = fs::canonicalize(pgdata).unwrap_or_else(|_| pgdata.to_owned());
        return fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd == pgdata)
            && fs::read_to_string(proc.join("comm")).is_ok_and(|name| name.trim() == "postgres");
    }
    let told = Command::new("ps").args(["-o", "command=", "-p", &number.to_string()]).output();
    told.is_ok_and(|answer| {
        let line = String::from_utf8_lossy(&answer.stdout).into_owned();
        line.contains("postgres") && line.contains(&*pgdata.to_string_lossy())
    })
}

/// Where this run's lines will begin.
fn set_aside_large(log: &Path) -> Result<u64, ClusterError> {
    let length = fs::metadata(log).map_or(0, |found| found.len());
    if length < LOG_LIMIT {
        return Ok(length);
    }
    fs::rename(log, log.with_extension("log.1")).doing("set aside", log)?;
    Ok(0)
}

fn open_log(log: &Path) -> Result<File, ClusterError> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().create(true).append(true).mode(0o600).open(log).doing("open", log)
}

fn read_from(log: &Path, offset: u64) -> String {
    let mut said = Vec::new();
    if let Ok(mut file) = File::open(log)
        && file.seek(SeekFrom::Start(offset)).is_ok()
    {
        // A log that cannot be read is an empty one: the reason is told besides.
        let _ = file.read_to_end(&mut said);
    }
    String::from_utf8_lossy(&said).into_owned()
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(8)..].join(" | ")
}
