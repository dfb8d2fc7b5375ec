//! The router behind the real listener, and requests as the bytes that they are.

use std::{fmt::Write as _, io, net::SocketAddr, time::Duration};

use axum::{
    Router,
    http::{HeaderName, HeaderValue},
};
use server::{
    config::Config,
    listener::{self, Bounds, Certificate},
};
use testkit::within;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::watch,
    task::JoinHandle,
};

use crate::support::{Answer, HOST};

/// How long anything may take that happens by itself.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A listener that serves in this process.
pub struct Served {
    pub addr: SocketAddr,
    pub stop: watch::Sender<bool>,
    pub server: JoinHandle<io::Result<()>>,
}

/// What connections may take where nothing else is said.
pub fn bounds() -> Bounds {
    Config::read(&[], None).unwrap().bounds
}

impl Served {
    pub fn plain(router: Router) -> Self {
        Self::with(router, bounds(), None)
    }

    pub fn with(router: Router, bounds: Bounds, certificate: Option<Certificate>) -> Self {
        let listener = listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let addr = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        let serving = listener::serve(listener, router, bounds, certificate, stopped);
        Self { addr, stop, server: tokio::spawn(serving) }
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.addr).await.unwrap()
    }

    /// Stops it, and waits for its end.
    pub async fn end(self) {
        self.stop.send_replace(true);
        within("the server ends", LIMIT, self.server).await.unwrap().unwrap();
    }
}

/// A request as bytes; more than one may go over a connection unless a header says otherwise.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {HOST}\r\n");
    for (name, value) in headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    if !body.is_empty() {
        let _ = write!(text, "Content-Length: {}\r\n", body.len());
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

/// An answer out of its bytes.
pub fn parsed(answer: &str) -> Answer {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap();
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
        (HeaderName::try_from(name).unwrap(), HeaderValue::try_from(value).unwrap())
    });
    Answer {
        status: status.parse().unwrap(),
        headers: headers.collect(),
        body: body.to_owned().into(),
    }
}

/// What comes until the other side closes; an abrupt end is an end as well.
pub async fn rest(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// One answer of a connection that stays open, head and body.
pub async fn one_answer(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut answer = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase();
            let length = length.split("content-length: ").nth(1).unwrap_or("0");
            let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
            if body.len() >= length {
                return text;
            }
        }
        let mut piece = [0; 4_096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return text,
            Ok(read) => answer.extend_from_slice(&piece[..read]),
        }
    }
}

/// Sends bytes over a connection of their own and reads to the end. What is refused early is no
/// longer read by the other side, so a failed write is no fault.
pub async fn exchange(addr: SocketAddr, bytes: &[u8]) -> String {
    let stream = TcpStream::connect(addr).await.unwrap();
    let (mut from, mut to) = stream.into_split();
    let (_, answer) = tokio::join!(to.write_all(bytes), rest(&mut from));
    answer
}
