//! Child processes of the program under test; each ends with its owner. Shared with the fault suite.

#![allow(dead_code, reason = "each of the two programs that share it uses its part")]

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
    /// Starts a command and waits for the line that begins with `ready`; returns what follows it.
    pub fn start(arguments: &[&str], environment: &[(&str, &str)], ready: &str) -> (Self, String) {
        Self::start_program(env!("CARGO_BIN_EXE_onceover"), arguments, environment, ready)
    }

    /// The same for any program; lines before the one that says that it is ready are passed over.
    pub fn start_program(
        program: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
        ready: &str,
    ) -> (Self, String) {
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(environment.iter().copied())
            // A pipe of ours: a child that watches it ends with this process.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let told = lines
            .find_map(|line| line.trim().strip_prefix(ready).map(str::to_owned))
            .unwrap_or_else(|| panic!("{arguments:?} ended before it was ready"));
        (Self { child }, told)
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// How much memory it holds.
    pub fn resident_kib(&self) -> u64 {
        self.told_kib("VmRSS:")
    }

    /// The most that it has held since it began.
    pub fn peak_kib(&self) -> u64 {
        self.told_kib("VmHWM:")
    }

    fn told_kib(&self, line: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|each| each.strip_prefix(line));
        line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or_default()
    }

    /// SIGHUP.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Whether the kernel holds it stopped.
    pub fn is_stopped(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))
            .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T")))
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
