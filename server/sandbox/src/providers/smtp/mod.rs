//! The mail provider's SMTP side: a server on loopback that delivers into the mail ledger.
//!
//! One message is one effect: each accepted DATA adds a ledger line, for SMTP honours no key. The
//! `Message-ID` is what the line records as its key, so that a message sent twice shows as two lines
//! under one key. Offered are `SIZE`, `8BITMIME` and `ENHANCEDSTATUSCODES`; one recipient a message;
//! no pipelining, no relaying, no authentication, no TLS.
//!
//! | mode | what a client sees |
//! |---|---|
//! | `normal`, `wrong_amount` | 250 with the ledger's id: `queued as msg_…` |
//! | `throttle` | 450 to RCPT, nothing done |
//! | `reject` | 550 to RCPT with the code in its text, nothing done |
//! | `fail_500` | 554 to the message, nothing done |
//! | `apply_drop` | delivered, then the connection is reset before any reply |
//! | `apply_500` | delivered, then 451 |
//! | `slow`, `hang` | delivered late, or delivered and never answered |
//! | `garbage`, `nul`, `huge` | delivered, then a reply that is none, holds a U+0000, or never seems to end |
//!
//! At RCPT a rule can name the recipient's local part or address alone; campaign and key are known
//! once the message has been read, and a `throttle` or `reject` that names those is then a 452 or 554
//! to the message.

mod command;
mod message;
mod session;
mod wire;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
};

use super::handlers::Shared;

/// Most connections at once; further ones wait to be greeted.
const MAX_CONNECTIONS: usize = 256;

/// What one session may take.
#[derive(Clone, Copy, Debug)]
pub struct SmtpLimits {
    /// How long a client may leave the server waiting for a line.
    pub idle: Duration,
    /// The largest message, bytes as sent.
    pub message: usize,
}

impl Default for SmtpLimits {
    fn default() -> Self {
        Self { idle: Duration::from_mins(1), message: 1024 * 1024 }
    }
}

/// A server that holds its port.
pub(super) struct SmtpServer {
    listener: TcpListener,
    limits: SmtpLimits,
}

impl SmtpServer {
    pub(super) async fn bind(listen: SocketAddr, limits: SmtpLimits) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(listen).await?, limits })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until stopped. Sessions under way end with the returned future: a message that was
    /// read is delivered by a task of its own, as everywhere in here.
    pub(super) async fn run(self, shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
        let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut sessions = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = stop.wait_for(|stopped| *stopped) => break,
            };
            while sessions.try_join_next().is_some() {}
            match accepted {
                Ok((stream, _)) => {
                    let (shared, slots, limits) =
                        (Arc::clone(&shared), Arc::clone(&slots), self.limits);
                    sessions.spawn(async move {
                        let Ok(_slot) = slots.acquire().await else { return };
                        serve(stream, shared, limits).await;
                    });
                }
                // Out of file handles, or a client that left before it was accepted.
                Err(error) => {
                    tracing::warn!(%error, "an SMTP connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        // Sessions that wait for a client have nothing to lose.
        sessions.shutdown().await;
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>, limits: SmtpLimits) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "no TCP_NODELAY");
    }
    if let Err(error) = session::Session::new(stream, shared, limits).run().await {
        tracing::debug!(%error, "an SMTP session broke off");
    }
}
