//! The publisher of this process: tells events until the stop, then lets its deliveries end.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use engine::{Engine, EngineError, background::Report, outbox::Relay};
use tokio::{sync::watch, time};

use super::{
    board::Board,
    driver::{LONGEST_PAUSE, count, longer, rest},
};
use crate::{refusal::chain, shutdown::stopped};

/// How the publisher is called among the tasks.
const NAME: &str = "publish events";
/// How long a publisher rests after a fault.
const EVERY: Duration = Duration::from_millis(500);

/// The publisher, begun again after a panic.
pub(super) async fn keep_publishing(
    engine: Engine,
    board: Arc<Board>,
    mut stop: watch::Receiver<bool>,
    drain: Duration,
) {
    while !*stop.borrow() {
        match tokio::spawn(publish(engine.clone(), Arc::clone(&board), stop.clone(), drain)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::error!(error = chain(&error), "no event is published"),
            Err(error) => tracing::error!(%error, "the publisher panicked"),
        }
        rest(&mut stop, LONGEST_PAUSE).await;
    }
}

async fn publish(
    engine: Engine,
    board: Arc<Board>,
    mut stop: watch::Receiver<bool>,
    drain: Duration,
) -> Result<(), EngineError> {
    let mut relay = Relay::new(&engine)?;
    let (mut pause, mut looked) = (EVERY, None);
    while !*stop.borrow() {
        let begun = Instant::now();
        let claimed = relay.claim_some().await;
        let took = begun.elapsed();
        let report = claimed.as_ref().map(|some| Report { handled: u64::from(*some) });
        board.ran(NAME, took, report.map_err(ToString::to_string));
        count(&engine, &board, NAME, backlog, &mut looked).await;
        match claimed {
            Ok(true) => pause = EVERY,
            Ok(false) => {
                pause = EVERY;
                tokio::select! {
                    () = relay.woken() => {}
                    () = stopped(&mut stop) => {}
                }
            }
            Err(error) => {
                tracing::error!(error = chain(&error), "no event was claimed");
                pause = longer(pause, EVERY);
                rest(&mut stop, pause).await;
            }
        }
    }
    if time::timeout(drain, relay.drain()).await.is_err() {
        tracing::warn!("deliveries were left under way; their leases run out");
    }
    Ok(())
}

fn backlog(engine: Engine) -> super::Waiting {
    Box::pin(async move { engine.backlog(engine::background::Queue::Events).await })
}
