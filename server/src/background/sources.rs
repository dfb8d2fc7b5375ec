//! The brokers whose messages come in: one loop per source, begun again after a failure or a panic.
//!
//! Guards against a broker that is down when the program starts, or goes away while it runs: the
//! program goes on, and so does the source once the broker is back.

use std::time::Duration;

use engine::{
    Engine, InboxSource,
    inbox::{Source, SourceError},
};
use tokio::{sync::watch, time::Instant};

use super::driver::rest;
use crate::refusal::chain;

/// The pause after the first failure; doubled by each that follows at once.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause, and how long a source must have run to count as well.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Takes a source's messages in until the stop.
pub(super) async fn keep_consuming(
    engine: Engine,
    source: InboxSource,
    mut stop: watch::Receiver<bool>,
) {
    let mut pause = FIRST_PAUSE;
    while !*stop.borrow() {
        let begun = Instant::now();
        let consuming = tokio::spawn(consume(engine.clone(), source.clone(), stop.clone()));
        match consuming.await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => {
                tracing::error!(source = source.name, error = chain(&error), "a source stopped");
            }
            Err(error) => tracing::error!(source = source.name, %error, "a source panicked"),
        }
        pause = if begun.elapsed() >= LONGEST_PAUSE { FIRST_PAUSE } else { pause };
        rest(&mut stop, pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn consume(
    engine: Engine,
    source: InboxSource,
    stop: watch::Receiver<bool>,
) -> Result<(), SourceError> {
    Source::connect(&engine, &source).await?.run(stop).await
}
