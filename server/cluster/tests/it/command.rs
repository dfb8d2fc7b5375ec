//! `cluster run`, as the Makefile uses it, and what is left when it is killed.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cluster::{Cluster, Options};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Scratch, ask, lives, postmaster, wait_until};

/// Prints the address and the server's folder, then waits until its input closes.
const TELL_AND_WAIT: &str = "echo $DATABASE_URL; echo $$; read -r _";

fn run() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cluster"));
    command.arg("run").env_remove("DATABASE_URL");
    command
}

/// Starts the command and reads the address it was given and its own pid.
fn begin(command: &mut Command) -> (Child, String, u32) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("runs");
    let mut lines = BufReader::new(child.stdout.as_mut().expect("piped")).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    let (url, pid) = (next(), next().parse().expect("a pid"));
    (child, url, pid)
}

fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a pid"), signal).expect("delivered");
}

fn folder_of(url: &str) -> PathBuf {
    let pgdata = ask(url, "select current_setting('data_directory')").expect("answers");
    Path::new(&pgdata).parent().expect("a parent").to_owned()
}

#[test]
fn the_exit_code_comes_through_and_nothing_stays() {
    let done = run().args(["--", "sh", "-c", "echo $DATABASE_URL; exit 7"]).output().expect("runs");
    assert_eq!(done.status.code(), Some(7));
    let url = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    assert!(url.contains("/postgres?host="), "{url}");
    assert!(ask(&url, "select 'still there'").is_err());
}

#[test]
fn a_server_that_is_named_already_is_used() {
    let done = run()
        .env("DATABASE_URL", "postgres://elsewhere/x")
        .args(["--", "sh", "-c", "echo $DATABASE_URL; exit 3"])
        .output()
        .expect("runs");
    assert_eq!(done.status.code(), Some(3));
    assert_eq!(done.stdout, b"postgres://elsewhere/x\n");
}

#[test]
fn a_signal_reaches_the_command_and_the_server_ends_with_it() {
    let script = "trap 'echo told; exit 9' TERM; echo $DATABASE_URL; echo $$; \
                  while :; do read -r _ || sleep 0.05; done";
    let (mut child, url, _) = begin(run().args(["--", "sh", "-c", script]));
    let folder = folder_of(&url);
    drop(child.stdin.take());
    send(child.id(), Signal::TERM);
    assert_eq!(child.wait().expect("ends").code(), Some(9));
    assert!(!folder.exists());
}

#[test]
fn a_killed_owner_leaves_no_server_and_no_folder() {
    let (mut child, url, _) = begin(run().args(["--", "sh", "-c", TELL_AND_WAIT]));
    let folder = folder_of(&url);
    let server = postmaster(&folder).expect("runs");
    child.kill().expect("killed");
    child.wait().expect("reaped");
    wait_until("the server ends", || !lives(server));
    wait_until("the folder goes", || !folder.exists());
}

// Finds the watcher among the owner's children, which /proc lists.
#[cfg(target_os = "linux")]
#[test]
fn a_server_left_behind_is_stopped_before_the_next_start() {
    let place = Scratch::new("left");
    let mut command = run();
    command.arg("--data").arg(&place.0);
    let (mut child, _, _) = begin(command.args(["--", "sh", "-c", TELL_AND_WAIT]));
    let server = postmaster(&place.0).expect("runs");
    // The watcher first: nobody is left to tidy up.
    let owner = child.id();
    for name in std::fs::read_to_string(format!("/proc/{owner}/task/{owner}/children"))
        .expect("children")
        .split_whitespace()
    {
        let told = std::fs::read_to_string(format!("/proc/{name}/cmdline")).unwrap_or_default();
        if told.contains("onceover-watcher") {
            send(name.parse().expect("a pid"), Signal::KILL);
        }
    }
    child.kill().expect("killed");
    child.wait().expect("reaped");
    assert!(lives(server), "the server was left behind");

    let next = Cluster::start(&place.0, Options::default()).expect("starts");
    assert!(!lives(server));
    assert!(next.notes().iter().any(|note| note.contains("left behind")), "{:?}", next.notes());
    assert_eq!(ask(&next.url("postgres"), "select 'up'").expect("answers"), "up");
}

#[test]
fn a_kept_folder_is_named_and_stays() {
    let mut child =
        run().args(["--keep", "--", "true"]).stderr(Stdio::piped()).spawn().expect("runs");
    let mut said = String::new();
    child.stderr.as_mut().expect("piped").read_to_string(&mut said).expect("text");
    assert!(child.wait().expect("ends").success());
    let kept = said
        .lines()
        .find_map(|line| line.strip_prefix("cluster: kept "))
        .expect("the folder is named");
    assert!(Path::new(kept).join("pgdata/PG_VERSION").exists());
    std::fs::remove_dir_all(kept).expect("cleaned up");
}
