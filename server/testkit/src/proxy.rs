//! A TCP proxy that hurts what goes through it: for connections to providers, brokers and the
//! database.
//!
//! Guards against tests that stop the other side instead of the network between: a stopped server
//! says goodbye, a cut connection does not.

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
    task::JoinHandle,
};

/// What happens to connections from now on, those that are open included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    Pass,
    /// Every piece waits so long.
    Delay(Duration),
    /// The connection is closed once so many bytes have come back from the other side.
    CutAfterReply(u64),
    /// The connection is closed once so many bytes have been sent to the other side.
    CutAfterSent(u64),
    /// The connection is reset (RST) as soon as the other side begins to answer.
    ResetReply,
    /// New connections are refused: nobody listens. Open ones are reset.
    Refuse,
}

/// Where a proxy leads.
#[derive(Clone, Debug)]
pub enum Upstream {
    /// To an address.
    Tcp(SocketAddr),
    /// To a socket in the file system, as PostgreSQL's.
    Unix(PathBuf),
}

/// A running proxy; it ends when dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    fault: watch::Sender<Fault>,
    hurt: Arc<AtomicU64>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Starts one on a free port of the loopback.
    ///
    /// # Panics
    /// Where no port can be had.
    pub async fn start(upstream: Upstream) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (fault, told) = watch::channel(Fault::Pass);
        let hurt = Arc::new(AtomicU64::new(0));
        let accepting = tokio::spawn(accept(listener, upstream, told, hurt.clone()));
        Self { address, fault, hurt, accepting }
    }

    /// A proxy before the database server that a URL names, and the URL that leads through it.
    ///
    /// # Panics
    /// Where the URL is not understood.
    pub async fn before_database(url: &str) -> (Self, String) {
        let mut url = url::Url::parse(url).expect("a database URL");
        let port = url.port().unwrap_or(5432);
        let socket = url.query_pairs().find(|(name, _)| name == "host").map(|(_, folder)| folder);
        let upstream = match socket {
            Some(folder) if folder.starts_with('/') => {
                Upstream::Unix(PathBuf::from(&*folder).join(format!(".s.PGSQL.{port}")))
            }
            _ => {
                let host = url.host_str().unwrap_or("127.0.0.1");
                let addresses = tokio::net::lookup_host((host, port)).await.expect("a known host");
                Upstream::Tcp({ addresses }.next().expect("an address"))
            }
        };
        let proxy = Self::start(upstream).await;
        url.set_query(None);
        url.set_host(Some("127.0.0.1")).expect("an address fits");
        url.set_port(Some(proxy.address.port())).expect("a port fits");
        (proxy, url.into())
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on.
    pub fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }

    /// How many connections it has cut, reset or refused.
    #[must_use]
    pub fn hurt(&self) -> u64 {
        self.hurt.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    listener: TcpListener,
    upstream: Upstream,
    mut fault: watch::Receiver<Fault>,
    hurt: Arc<AtomicU64>,
) {
    let address = listener.local_addr().expect("an address");
    let mut listener = Some(listener);
    loop {
        let refusing = *fault.borrow_and_update() == Fault::Refuse;
        match (&listener, refusing) {
            // The port is given up, so that the kernel itself refuses.
            (Some(_), true) => listener = None,
            (None, false) => match TcpListener::bind(address).await {
                Ok(bound) => listener = Some(bound),
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            },
            (None, true) => {
                if fault.changed().await.is_err() {
                    return;
                }
            }
            (Some(open), false) => tokio::select! {
                connection = open.accept() => if let Ok((client, _)) = connection {
                    tokio::spawn(serve(client, upstream.clone(), fault.clone(), hurt.clone()));
                },
                changed = fault.changed() => if changed.is_err() { return },
            },
        }
    }
}

async fn serve(
    client: TcpStream,
    upstream: Upstream,
    fault: watch::Receiver<Fault>,
    hurt: Arc<AtomicU64>,
) {
    let _ = client.set_nodelay(true);
    let served = match upstream {
        Upstream::Tcp(address) => match TcpStream::connect(address).await {
            Ok(server) => relay(&client, server, fault).await,
            Err(error) => Err(error),
        },
        Upstream::Unix(path) => match UnixStream::connect(path).await {
            Ok(server) => relay(&client, server, fault).await,
            Err(error) => Err(error),
        },
    };
    match served {
        Ok(End::Closed) => {}
        Ok(End::Cut) => {
            hurt.fetch_add(1, Ordering::Relaxed);
        }
        Ok(End::Reset) | Err(_) => {
            hurt.fetch_add(1, Ordering::Relaxed);
            // Nothing more is sent, and the other side is told by RST.
            let _ = client.set_zero_linger();
        }
    }
}

enum End {
    Closed,
    Cut,
    Reset,
}

/// Copies both ways until one side closes or the fault in force ends it.
async fn relay<S: AsyncRead + AsyncWrite + Unpin>(
    client: &TcpStream,
    server: S,
    mut fault: watch::Receiver<Fault>,
) -> io::Result<End> {
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let (mut sent, mut replied) = (0_u64, 0_u64);
    let (mut up, mut down) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    loop {
        let now = *fault.borrow_and_update();
        if now == Fault::Refuse {
            return Ok(End::Reset);
        }
        tokio::select! {
            readable = client.readable() => {
                readable?;
                let read = match client.try_read(&mut up) {
                    Ok(0) => return Ok(End::Closed),
                    Ok(read) => read,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                    Err(error) => return Err(error),
                };
                if let Fault::Delay(pause) = now {
                    tokio::time::sleep(pause).await;
                }
                let (keep, cut) = match now {
                    Fault::CutAfterSent(limit) => within(limit, sent, read),
                    _ => (read, false),
                };
                to_server.write_all(&up[..keep]).await?;
                to_server.flush().await?;
                sent += read as u64;
                if cut { return Ok(End::Cut) }
            }
            read = from_server.read(&mut down) => {
                let read = read?;
                if read == 0 { return Ok(End::Closed) }
                match now {
                    Fault::ResetReply => return Ok(End::Reset),
                    Fault::Delay(pause) => tokio::time::sleep(pause).await,
                    _ => {}
                }
                let (keep, cut) = match now {
                    Fault::CutAfterReply(limit) => within(limit, replied, read),
                    _ => (read, false),
                };
                write_all(client, &down[..keep]).await?;
                replied += read as u64;
                if cut { return Ok(End::Cut) }
            }
            changed = fault.changed() => if changed.is_err() { return Ok(End::Closed) },
        }
    }
}

/// How much of a piece still passes, and whether that was the last of it.
fn within(limit: u64, before: u64, read: usize) -> (usize, bool) {
    let left = usize::try_from(limit.saturating_sub(before)).unwrap_or(usize::MAX);
    if read >= left { (left, true) } else { (read, false) }
}

async fn write_all(client: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        client.writable().await?;
        match client.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
