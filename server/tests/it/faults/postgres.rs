//! A PostgreSQL that a test may restart, as by a crash. Shared with the fault suite.

use cluster::{Cluster, Options};
use rustix::process::{Pid, Signal, kill_process};

/// A server of a test's own, in a folder that outlives each of its lives.
pub struct Server {
    running: Option<Cluster>,
    folder: std::path::PathBuf,
}

impl Server {
    pub fn start() -> Self {
        let folder = std::env::temp_dir()
            .join(format!("onceover-restarts-{}", hex::encode(rand::random::<[u8; 6]>())));
        let running = Cluster::start(&folder, Options::default()).unwrap();
        let folder = running.folder().to_owned();
        Self { running: Some(running), folder }
    }

    pub fn url(&self) -> String {
        self.running.as_ref().unwrap().url("postgres")
    }

    /// SIGQUIT, PostgreSQL's *immediate*: every session is cut, and what was not committed is gone;
    /// then recovery from the log.
    pub fn restart(&mut self) {
        let running = self.running.take().unwrap();
        let (pid, port) = (i32::try_from(running.pid()).unwrap(), running.port());
        kill_process(Pid::from_raw(pid).unwrap(), Signal::QUIT).unwrap();
        running.stop().unwrap();
        let again = Cluster::start(&self.folder, Options::default()).unwrap();
        assert_eq!(again.port(), port, "the same address");
        self.running = Some(again);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.running.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
