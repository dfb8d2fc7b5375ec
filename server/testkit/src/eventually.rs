//! Waiting for something that another task or process does, without guessing how long.

use std::time::{Duration, Instant};

/// Between two looks: short against any test, long against a query.
const INTERVAL: Duration = Duration::from_millis(10);

/// Looks again and again until `holds` answers true.
///
/// # Panics
/// With `what` in its message once `limit` is over. The last look begins after the
/// limit, so a slow machine gets one fair chance.
pub async fn eventually(what: &str, limit: Duration, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    loop {
        let last = begun.elapsed() >= limit;
        if holds().await {
            return;
        }
        assert!(!last, "not within {limit:?}: {what}");
        tokio::time::sleep(INTERVAL).await;
    }
}

/// The outcome of `work`.
///
/// # Panics
/// With `what` in its message where it takes longer than `limit`.
pub async fn within<T>(what: &str, limit: Duration, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(limit, work).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => panic!("not within {limit:?}: {what}"),
    }
}
