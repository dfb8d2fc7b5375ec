//! `cluster run`: gives a command a PostgreSQL for as long as it runs.
//!
//! Guards the test targets: whatever way the command ends, its exit code comes
//! through and no server stays behind. Where `DATABASE_URL` is set already, that
//! server is used and nothing is started.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use clap::{Parser, Subcommand};
use cluster::{Cluster, ClusterError, Options};
use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};

/// A private PostgreSQL cluster.
#[derive(Parser)]
#[command(name = "cluster", version)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run a command with `DATABASE_URL` set to a cluster that ends with it.
    Run {
        /// Keep the data in this folder between runs, instead of a throwaway one.
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        /// Leave the throwaway folder in place afterwards, to look into it.
        #[arg(long)]
        keep: bool,
        /// The command and its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    let Verb::Run { data, keep, command } = Arguments::parse().verb;
    match run(data, keep, &command) {
        Ok(code) => code,
        Err(sentence) => {
            eprintln!("cluster: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn run(data: Option<PathBuf>, keep: bool, words: &[OsString]) -> Result<ExitCode, String> {
    let (program, arguments) = words.split_first().ok_or("no command was given")?;
    let mut command = Command::new(program);
    command.args(arguments);
    if std::env::var_os("DATABASE_URL").is_some_and(|url| !url.is_empty()) {
        // Replaces this process, so signals and exit code need no help.
        return Err(could_not_run(program, &command.exec()));
    }
    let cluster = start(data, keep).map_err(|problem| with_cause(&problem))?;
    for note in cluster.notes() {
        eprintln!("cluster: {note}");
    }
    // Through the socket: a test run opens thousands of connections, and the password
    // exchange of each costs more than most of its queries in a debug build.
    command.env("DATABASE_URL", cluster.socket_url("postgres"));
    let ended = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(run_forwarding(command)));
    let folder = cluster.folder().to_owned();
    cluster.stop().map_err(|problem| with_cause(&problem))?;
    if keep {
        eprintln!("cluster: kept {}", folder.display());
    }
    ended.map(exit_code).map_err(|problem| could_not_run(program, &problem))
}

fn start(data: Option<PathBuf>, keep: bool) -> Result<Cluster, ClusterError> {
    match data {
        Some(folder) => Cluster::start(&folder, Options::default()),
        None if keep => {
            let name = format!("onceover-kept-{}", hex::encode(rand::random::<[u8; 8]>()));
            Cluster::start(&std::env::temp_dir().join(name), Options::default())
        }
        None => Cluster::start(&std::env::temp_dir(), Options::throwaway()),
    }
}

/// Waits for the command and passes on what we are told.
async fn run_forwarding(command: Command) -> std::io::Result<ExitStatus> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut child = tokio::process::Command::from(command).spawn()?;
    // A terminal sends Ctrl-C to the whole foreground group, the command included;
    // a second one would tell most programs to quit at once.
    let by_terminal = std::io::stdin().is_terminal();
    loop {
        let told = tokio::select! {
            ended = child.wait() => return ended,
            _ = interrupt.recv() => Signal::INT,
            _ = terminate.recv() => Signal::TERM,
            _ = hangup.recv() => Signal::HUP,
        };
        if told == Signal::INT && by_terminal {
            continue;
        }
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended this instant; the next turn sees that.
            let _ = kill_process(pid, told);
        }
    }
}

/// The command's own code; 128 + n for signal n, as a shell has it.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

fn could_not_run(program: &OsString, problem: &std::io::Error) -> String {
    format!("could not run {}: {problem}", Path::new(program).display())
}

fn with_cause(problem: &ClusterError) -> String {
    match std::error::Error::source(problem) {
        Some(cause) => format!("{problem}: {cause}"),
        None => problem.to_string(),
    }
}
