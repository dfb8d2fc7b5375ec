//! Child processes of the program under test; each ends with its owner.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

/// A running `onceover …`.
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a command and waits for its first line, which must begin with `ready`; returns what
    /// follows it.
    pub fn start(arguments: &[&str], environment: &[(&str, &str)], ready: &str) -> (Self, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_onceover"))
            .args(arguments)
            .env_clear()
            .envs(environment.iter().copied())
            // A pipe of ours: a child that watches it ends with this process.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told = line
            .trim()
            .strip_prefix(ready)
            .unwrap_or_else(|| panic!("{arguments:?} said {line:?}"))
            .to_owned();
        (Self { child }, told)
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// SIGKILL: no destructor, no farewell.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGSTOP: the process and its beats stand still.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// SIGCONT.
    pub fn wake(&self) {
        self.signal(Signal::CONT);
    }

    /// SIGTERM.
    pub fn ask_to_stop(&self) {
        self.signal(Signal::TERM);
    }

    /// The exit code, once it has ended.
    pub fn end(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// SIGTERM, and the exit code.
    pub fn stop(self) -> Option<i32> {
        self.ask_to_stop();
        self.end()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
