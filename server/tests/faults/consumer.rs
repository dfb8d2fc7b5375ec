//! A consumer of events by webhook: keeps what it was sent, in order, and answers 200. What it saw
//! is the oracle of the outbox.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{invariants::Violation, scene::Scene};

/// One delivery.
#[derive(Clone, Debug)]
struct Delivery {
    id: String,
    aggregate: String,
    seq: i64,
}

pub struct Consumer {
    pub url: String,
    seen: Arc<Mutex<Vec<Delivery>>>,
    accepting: JoinHandle<()>,
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Consumer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/events", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = seen.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, kept.clone()));
            }
        });
        Self { url, seen, accepting }
    }

    /// What a process is told so that it publishes here.
    pub fn settings(&self) -> [(&'static str, String); 2] {
        [
            ("ONCEOVER_DESTINATIONS", format!("consumer={}", self.url)),
            ("ONCEOVER_PRIVATE_DESTINATIONS", "consumer".into()),
        ]
    }

    /// How often something came again.
    pub fn repeats(&self) -> usize {
        let seen = self.seen.lock().unwrap();
        seen.len() - seen.iter().map(|one| one.id.as_str()).collect::<HashSet<_>>().len()
    }

    /// I11: every event came, and none before one that stands before it in its aggregate.
    pub async fn judge(&self, scene: &Scene, found: &mut Vec<Violation>) {
        let stored: Vec<(String, String)> = sqlx::query_as("select id::text, status from outbox")
            .fetch_all(scene.database.owner_pool())
            .await
            .unwrap();
        let seen = self.seen.lock().unwrap();
        let ids: HashSet<_> = seen.iter().map(|one| one.id.as_str()).collect();
        for (id, status) in stored {
            if status != "published" || !ids.contains(id.as_str()) {
                let what = format!("event {id} is {status}, seen: {}", ids.contains(id.as_str()));
                found.push(Violation { invariant: "loss", what });
            }
        }
        let (mut heads, mut known) = (HashMap::new(), HashSet::new());
        for one in seen.iter().filter(|one| known.insert(one.id.clone())) {
            let head = heads.entry(one.aggregate.clone()).or_insert(0);
            if one.seq != *head + 1 {
                let what = format!("{one:?} came after {head}");
                found.push(Violation { invariant: "I11 no inversion or gap", what });
            }
            *head = one.seq;
        }
    }
}

async fn serve(stream: TcpStream, seen: Arc<Mutex<Vec<Delivery>>>) {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut length, mut lines) = (0, 0);
        loop {
            let mut line = String::new();
            match stream.read_line(&mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => lines += 1,
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        if lines < 2 || stream.read_exact(&mut body).await.is_err() {
            return;
        }
        let Ok(event) = serde_json::from_slice::<Value>(&body) else { return };
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        seen.lock().unwrap().push(Delivery {
            id: text("id"),
            aggregate: text("partitionkey"),
            seq: text("sequence").parse().unwrap_or_default(),
        });
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        if stream.get_mut().write_all(answer).await.is_err() {
            return;
        }
    }
}
