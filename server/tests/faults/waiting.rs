//! Bounded waits for what other processes do; they say whether it came, for some scenes go on without.

use std::time::{Duration, Instant};

use crate::processes::Process;

/// Waits until a process has ended by itself.
pub async fn ended(process: &mut Process, limit: Duration) -> bool {
    until(limit, || process.has_ended()).await
}

/// Waits for something that another process does; says whether it came.
pub async fn until(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if holds() {
            return true;
        }
        if begun.elapsed() > limit {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
