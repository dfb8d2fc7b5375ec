//! What the figures were measured on: without it they say nothing.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
    time::Instant,
};

use serde::Serialize;

use crate::stats::median;

/// Flushes that are timed; the median of so many is steady on a quiet disk.
const FLUSHES: usize = 100;
/// A page of PostgreSQL's log, which is what a small commit flushes.
const PAGE: [u8; 8192] = [0x5a; 8192];

/// A machine and what runs on it.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub memory_mib: u64,
    pub system: String,
    pub postgresql: String,
    pub rust: String,
    pub commit: String,
    pub build: &'static str,
}

impl Machine {
    /// Reads what the system tells; what it does not is `unknown`.
    pub fn look(postgresql: String) -> Self {
        let told = |name: &str| std::env::var(name).unwrap_or_else(|_| "unknown".into());
        Self {
            processor: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: field("/proc/meminfo", "MemTotal")
                .and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok())
                .map_or(0, |kib| kib / 1024),
            system: format!("{} {}", std::env::consts::OS, release()),
            postgresql,
            rust: told("BENCH_RUST"),
            commit: told("BENCH_COMMIT"),
            build: if cfg!(debug_assertions) { "debug: not for comparison" } else { "release" },
        }
    }

    /// In two lines.
    pub fn in_words(&self) -> String {
        format!(
            "{} cores ({}), {} MiB, {}\nPostgreSQL {} with fsync on, Rust {}, {} build of commit {}",
            self.cores,
            self.processor,
            self.memory_mib,
            self.system,
            self.postgresql,
            self.rust,
            self.build,
            self.commit,
        )
    }
}

/// How long a flush takes in a folder now, in microseconds: what every durable figure rests on.
pub fn flush_us(folder: &Path) -> io::Result<f64> {
    let path = folder.join(format!("onceover-flush-{}", std::process::id()));
    let mut file = File::create(&path)?;
    let mut took = Vec::with_capacity(FLUSHES);
    for _ in 0..FLUSHES {
        file.write_all(&PAGE)?;
        let begun = Instant::now();
        file.sync_data()?;
        took.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    drop(file);
    fs::remove_file(&path)?;
    Ok(median(&took))
}

/// How many processes wanted to run in the last minute, where the system tells.
pub fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| String::new(), |text| text.trim().to_owned())
}

/// The value of the first `name : value` line of a file.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
