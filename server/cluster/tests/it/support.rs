//! What several tests need: a folder that goes away, a bounded wait, a connection.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};

/// A folder name that does not exist yet; removed with the test.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let unique = hex::encode(rand::random::<[u8; 6]>());
        Self(std::env::temp_dir().join(format!("cluster-{name}-{unique}")))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits for the machine to agree, at most a minute.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// One value of a query, as text.
pub fn ask(url: &str, query: &'static str) -> Result<String, sqlx::Error> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(
        async {
            let mut connection = PgConnection::connect(url).await?;
            sqlx::query_scalar(query).fetch_one(&mut connection).await
        },
    )
}

/// Whether the process exists and is no zombie.
pub fn lives(pid: u32) -> bool {
    if !Path::new("/proc/self").exists() {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        return pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
    }
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").starts_with(" Z"))
}

/// The postmaster of a cluster's folder, by its pid file.
pub fn postmaster(folder: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(folder.join("pgdata/postmaster.pid")).ok()?;
    text.lines().next()?.parse().ok()
}
