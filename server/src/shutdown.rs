//! The stop: SIGTERM or Ctrl-C once for an orderly end, a second time for an end at once.

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// Turns true when the process is told to stop.
///
/// # Errors
/// Where the signals cannot be listened for.
pub fn on_signal() -> std::io::Result<watch::Receiver<bool>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        for first in [true, false] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if first {
                tracing::info!("stopping");
                sender.send_replace(true);
            } else {
                // Impatience of the person in front of it; the engine expects crashes.
                std::process::exit(130);
            }
        }
    });
    Ok(receiver)
}

/// Waits for the stop.
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which is a stop as well.
    let _ = stop.wait_for(|stopped| *stopped).await;
}
