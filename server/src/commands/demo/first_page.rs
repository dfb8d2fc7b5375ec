//! Whether the first page can be opened: asked over the wire, as a browser would.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::commands::Failure;

const LIMIT: Duration = Duration::from_secs(15);

/// Waits until the sign-in page answers 200.
pub(super) async fn opens(addr: SocketAddr) -> Result<(), Failure> {
    match timeout(LIMIT, ask(addr)).await {
        Ok(Ok(head)) if head.starts_with("HTTP/1.1 200 ") => Ok(()),
        Ok(Ok(head)) => {
            let first = head.lines().next().unwrap_or_default();
            Err(Failure::new(format!("the first page answers {first:?}; see the log")))
        }
        Ok(Err(error)) => Err(Failure::doing("the first page does not answer", &error)),
        Err(_) => Err(Failure::new("the first page did not answer within 15 seconds")),
    }
}

async fn ask(addr: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(addr).await?;
    let request = format!(
        "GET /sign-in HTTP/1.1\r\nHost: {addr}\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
