//! A provider and a destination that take every request in and answer with a fault, which repeats what a log
//! must not hold.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};

use serde_json::json;

use super::world::CANARIES;

/// The place, for as long as the test's process lives.
pub struct Down {
    pub addr: SocketAddr,
    asked: Receiver<String>,
}

impl Down {
    pub fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (tell, asked) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let tell = tell.clone();
                std::thread::spawn(move || answer(stream, &tell));
            }
        });
        Self { addr, asked }
    }

    /// The next request that came in whole and was answered; `None` where none comes in time.
    pub fn asked(&self, within: Duration) -> Option<String> {
        self.asked.recv_timeout(within).ok()
    }
}

/// The announced length of a body.
fn length(head: &str) -> usize {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let length = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    length.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or_default()
}

fn answer(mut stream: TcpStream, tell: &Sender<String>) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4_096];
    let request = loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && body.len() >= length(head)
        {
            break text;
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    };
    let [card, iban, token, password] = CANARIES;
    let body = json!({ "error": card, "iban": iban, "token": token, "password": password });
    let body = body.to_string();
    // A provider that fails leaves it open what happened; a destination refuses the event for good.
    let status = if request.starts_with("POST /events") { "400 Bad" } else { "500 Failed" };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nX-Error: {card}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes());
    let _ = tell.send(request);
}
