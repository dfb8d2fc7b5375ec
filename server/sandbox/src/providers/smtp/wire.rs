//! The bytes of a session: lines, messages and replies, each within its limit and its time.
//!
//! Guards against smuggling: a line ends in CRLF alone and a message in CRLF.CRLF alone, whatever
//! lone CR or LF, or line without end, a client sends to make two readers disagree.

use std::io;

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    time::timeout,
};

use super::SmtpLimits;

/// The longest line of a message with CRLF (RFC 5321, 4.5.3.1).
const TEXT_LINE: usize = 1_000;

/// A client's connection.
pub(super) struct Wire {
    stream: BufReader<TcpStream>,
    limits: SmtpLimits,
}

/// A line as it was read.
pub(super) enum Line {
    /// Its bytes, without the CRLF.
    Good(Vec<u8>),
    /// Too long, or with a CR or LF of its own.
    Bad { ends_in_crlf: bool },
    /// The client has left.
    End,
}

/// A message as it was read.
pub(super) enum Read {
    Whole(Vec<u8>),
    TooLarge,
    Malformed,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, limits: SmtpLimits) -> Self {
        Self { stream: BufReader::new(stream), limits }
    }

    /// Whether the client sent more than it was asked for.
    pub(super) fn is_ahead(&self) -> bool {
        !self.stream.buffer().is_empty()
    }

    /// Makes the end of the connection a reset instead of an end in good order.
    pub(super) fn cut(&self) -> io::Result<()> {
        self.stream.get_ref().set_zero_linger()
    }

    /// Ends the connection in good order.
    pub(super) async fn close(&mut self) -> io::Result<()> {
        self.stream.get_mut().shutdown().await
    }

    /// Waits for the client to leave.
    pub(super) async fn until_closed(&mut self) {
        let mut rest = [0; 64];
        while self.stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
    }

    /// Reads a message to its end, dots unstuffed.
    pub(super) async fn message(&mut self) -> io::Result<Read> {
        let mut message = Vec::new();
        let (mut too_large, mut malformed) = (false, false);
        let mut after_crlf = true;
        let mut lines: usize = 0;
        loop {
            lines += 1;
            // Shorter lines than a mail has: whoever sends so many sends no mail.
            if lines > self.limits.message {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            let line = match self.line(TEXT_LINE).await? {
                Line::Good(line) => line,
                Line::Bad { ends_in_crlf } => {
                    malformed = true;
                    after_crlf = ends_in_crlf;
                    continue;
                }
                Line::End => return Err(io::ErrorKind::UnexpectedEof.into()),
            };
            match line.as_slice() {
                b"." if !after_crlf => {}
                b"." if malformed => return Ok(Read::Malformed),
                b"." if too_large => return Ok(Read::TooLarge),
                b"." => return Ok(Read::Whole(message)),
                line => {
                    let line = line.strip_prefix(b".").unwrap_or(line);
                    too_large |= message.len() + line.len() + 2 > self.limits.message;
                    // What is too large or malformed is read to its end and kept nowhere.
                    if !too_large && !malformed {
                        message.extend_from_slice(line);
                        message.extend_from_slice(b"\r\n");
                    }
                }
            }
            after_crlf = true;
        }
    }

    /// Reads a line to its end, however long it is.
    pub(super) async fn line(&mut self, limit: usize) -> io::Result<Line> {
        let mut line = Vec::new();
        self.chunk(limit, &mut line).await?;
        let mut too_long = false;
        while line.len() == limit && !line.ends_with(b"\n") {
            too_long = true;
            // A CRLF that falls between two chunks is one all the same.
            line.drain(..limit - 1);
            self.chunk(limit - 1, &mut line).await?;
        }
        Ok(match line.strip_suffix(b"\r\n") {
            Some(line) if !too_long && !line.contains(&b'\r') => Line::Good(line.to_vec()),
            Some(_) => Line::Bad { ends_in_crlf: true },
            None if line.ends_with(b"\n") => Line::Bad { ends_in_crlf: false },
            // Perhaps in mid-line.
            None => Line::End,
        })
    }

    /// Reads up to the next LF, but not more than `limit` bytes.
    async fn chunk(&mut self, limit: usize, line: &mut Vec<u8>) -> io::Result<()> {
        let mut bounded = (&mut self.stream).take(limit as u64);
        timeout(self.limits.idle, bounded.read_until(b'\n', line))
            .await
            .map_err(|_| io::ErrorKind::TimedOut)??;
        Ok(())
    }

    /// Sends a reply.
    pub(super) async fn reply(&mut self, text: &str) -> io::Result<()> {
        let line = format!("{text}\r\n");
        // A client that does not read its replies is as gone as one that says nothing.
        timeout(self.limits.idle, self.stream.get_mut().write_all(line.as_bytes()))
            .await
            .map_err(|_| io::ErrorKind::TimedOut)?
    }
}
