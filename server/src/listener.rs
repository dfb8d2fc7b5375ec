//! The accept loop: a bound on connections, and on how long one may keep its place without
//! asking for anything (F6, T39).
//!
//! `axum::serve` sets no timer, so a client that never sends a header holds a socket for ever.
//! Here a silent connection is closed after ten seconds, a slow header after ten, an idle one
//! after a minute, and beyond the bound new connections wait in the kernel's queue.

use std::{
    future::Future,
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{Router, body::Body, http::Request, response::Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time,
};
use tower::ServiceExt as _;

use crate::shutdown::stopped;

/// Connections open at a time.
const MAX_CONNECTIONS: usize = 1_024;
/// How long a new connection may stay silent, and a header may take.
const HEADER_PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection may stay open between two requests.
const IDLE_LIMIT: Duration = Duration::from_secs(60);
/// How long requests under way may take once the program stops.
const DRAIN: Duration = Duration::from_secs(20);

/// Serves until `stop` turns true, then lets requests under way end.
///
/// # Errors
/// Where the listener itself fails for good.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut open = JoinSet::new();
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place.expect("the semaphore is never closed"),
            () = stopped(&mut stop) => break,
        };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, or a client that left: the next accept may do.
                    tracing::warn!(%error, "a connection was not accepted");
                    time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = stopped(&mut stop) => break,
        };
        let (router, stop) = (router.clone(), stop.clone());
        open.spawn(async move {
            connection(stream, router, stop).await;
            drop(place);
        });
        while open.try_join_next().is_some() {}
    }
    drop(listener);
    let drained = time::timeout(DRAIN, async { while open.join_next().await.is_some() {} }).await;
    if drained.is_err() {
        tracing::warn!(connections = open.len(), "requests were cut off at the end");
    }
    Ok(())
}

/// What a connection is doing, for the idle limit.
struct Activity {
    begun: Instant,
    running: AtomicUsize,
    last_ms: AtomicU64,
}

impl Activity {
    fn touch(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(now, Ordering::Relaxed);
    }

    /// How long it has had nothing to do.
    fn idle(&self) -> Duration {
        if self.running.load(Ordering::Relaxed) > 0 {
            return Duration::ZERO;
        }
        self.begun
            .elapsed()
            .saturating_sub(Duration::from_millis(self.last_ms.load(Ordering::Relaxed)))
    }
}

async fn connection(stream: TcpStream, router: Router, mut stop: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let mut first = [0_u8; 1];
    tokio::select! {
        looked = time::timeout(HEADER_PATIENCE, stream.peek(&mut first)) => {
            if !matches!(looked, Ok(Ok(1))) {
                return;
            }
        }
        () = stopped(&mut stop) => return,
    }
    let activity = Arc::new(Activity {
        begun: Instant::now(),
        running: AtomicUsize::new(0),
        last_ms: AtomicU64::new(0),
    });
    let service = service_fn({
        let activity = Arc::clone(&activity);
        move |request: Request<Incoming>| answer(router.clone(), Arc::clone(&activity), request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut ending = false;
    loop {
        tokio::select! {
            // A client that hangs up or sends no HTTP is no fault of ours.
            _ = &mut connection => return,
            () = stopped(&mut stop), if !ending => {
                ending = true;
                connection.as_mut().graceful_shutdown();
            }
            () = idle(&activity), if !ending => {
                ending = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

async fn idle(activity: &Activity) {
    loop {
        let left = IDLE_LIMIT.saturating_sub(activity.idle());
        if left.is_zero() {
            return;
        }
        time::sleep(left).await;
    }
}

fn answer(
    router: Router,
    activity: Arc<Activity>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response, std::convert::Infallible>> {
    activity.running.fetch_add(1, Ordering::Relaxed);
    let running = Running(activity);
    async move {
        let response = router.oneshot(request.map(Body::new)).await;
        drop(running);
        response
    }
}

/// Counts a request until it is answered or dropped.
struct Running(Arc<Activity>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        self.0.touch();
    }
}
