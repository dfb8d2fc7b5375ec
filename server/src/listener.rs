//! The accept loop: bounds on connections, and on how long one may keep its place without asking
//! for anything (F6, T39).
//!
//! `axum::serve` sets no timer, so a client that never sends a header holds a socket for ever; and
//! hyper's own timer takes a connection that rests between two requests for one with a slow header.
//! Here each connection has one clock for what it is doing (`activity`), TLS or not.

mod activity;
mod certificate;
mod connection;
mod pace;
mod places;

use std::{
    io,
    net::{self, SocketAddr},
    time::Duration,
};

use axum::Router;
use socket2::{Domain, Socket, Type};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time,
};

pub use certificate::{Certificate, CertificateFault, SOON, TlsFiles};
pub use places::raise_file_limit;

use crate::shutdown::stopped;
use connection::Way;
use places::{Place, Places};

/// Connections that wait to be accepted, as far as the system allows (Linux: `net.core.somaxconn`, by
/// itself as many); the standard library asks for 128.
const NOT_YET_ACCEPTED: i32 = 4_096;

/// How long what the kernel has accepted before a stop may take to be handed over.
const QUEUE: Duration = Duration::from_millis(20);

/// What connections may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Connections open at a time.
    pub connections: usize,
    /// The same from one address.
    pub address_connections: usize,
    /// How long a connection may take from its beginning, TLS included, to the end of its first
    /// header, and from the first byte of a header to its last.
    pub header: Duration,
    /// Bytes of a header.
    pub header_bytes: usize,
    /// How long a whole body may take to come.
    pub body: Duration,
    /// How long a connection may rest between two requests, or take no byte of its answer.
    pub idle: Duration,
    /// How long requests under way may take once the program stops.
    pub drain: Duration,
}

/// Listens at an address, without blocking. Whoever connects waits in a queue of the system until it is
/// accepted; where a burst overflows that queue, those that say nothing are dropped without a word and
/// take themselves for connected.
///
/// # Errors
/// Where the address cannot be had.
pub fn bind(addr: SocketAddr) -> io::Result<net::TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
    // A program that starts again does not wait for the connections that the last one left behind.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    socket.listen(NOT_YET_ACCEPTED)?;
    Ok(socket.into())
}

/// Serves what [`bind`] gave until `stop` turns true, then lets requests under way end.
///
/// # Errors
/// Where the listener itself fails for good.
pub async fn serve(
    listener: net::TcpListener,
    router: Router,
    bounds: Bounds,
    certificate: Option<Certificate>,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let places = Places::new(bounds);
    let way = Way { router, bounds, certificate, stop: stop.clone() };
    let mut open = JoinSet::new();
    loop {
        let place = tokio::select! {
            place = places.one_more() => place,
            () = stopped(&mut stop) => break,
        };
        tokio::select! {
            biased;
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => begin(&mut open, &way, place.of(peer.ip()), stream, peer),
                Err(error) => {
                    // Out of file descriptors, or a client that left: the next accept may do.
                    tracing::warn!(%error, "a connection was not accepted");
                    time::sleep(Duration::from_millis(50)).await;
                }
            },
            () = stopped(&mut stop) => break,
        }
        while open.try_join_next().is_some() {}
    }
    // Clients of these have connected and may have asked already: nobody else will answer them.
    while let Some(place) = places.try_one_more()
        && let Ok(Ok((stream, peer))) = time::timeout(QUEUE, listener.accept()).await
    {
        begin(&mut open, &way, place.of(peer.ip()), stream, peer);
    }
    drop(listener);
    let all = async { while open.join_next().await.is_some() {} };
    let drained = time::timeout(bounds.drain, all).await;
    if drained.is_err() {
        tracing::warn!(connections = open.len(), "requests were cut off at the end");
    }
    Ok(())
}

/// Serves one connection in a task of its own, where its address has a place left.
fn begin(
    open: &mut JoinSet<()>,
    way: &Way,
    place: Option<Place>,
    stream: TcpStream,
    peer: SocketAddr,
) {
    let Some(place) = place else {
        tracing::debug!(%peer, "refused: too many connections from one address");
        return;
    };
    let way = way.clone();
    open.spawn(async move {
        way.serve(stream, peer).await;
        drop(place);
    });
}
