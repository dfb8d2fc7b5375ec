//! A provider over real HTTP whose every answer a test decides, and that keeps what it was sent.

use std::sync::{Arc, Mutex};

use engine::{Engine, ProviderEndpoint, Settings};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::fixture::Fixture;

/// What a request is answered with.
#[derive(Clone, Debug)]
pub enum Reply {
    Json(u16, String),
    /// So, once it turns true.
    When(watch::Receiver<bool>, u16, String),
    /// Never, while the caller waits.
    Hang,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub key: Option<String>,
    pub body: String,
}

type Answering = Box<dyn FnMut(&Asked) -> Reply + Send>;

pub struct Stub {
    pub url: String,
    seen: Arc<Mutex<Vec<Asked>>>,
    answering: Arc<Mutex<Answering>>,
}

impl Stub {
    pub async fn start(answering: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/effects", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let answering: Arc<Mutex<Answering>> = Arc::new(Mutex::new(Box::new(answering)));
        tokio::spawn({
            let (seen, answering) = (Arc::clone(&seen), Arc::clone(&answering));
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, Arc::clone(&seen), Arc::clone(&answering)));
                }
            }
        });
        Self { url, seen, answering }
    }

    pub fn answer(&self, answering: impl FnMut(&Asked) -> Reply + Send + 'static) {
        *self.answering.lock().unwrap() = Box::new(answering);
    }

    pub fn seen(&self) -> Vec<Asked> {
        self.seen.lock().unwrap().clone()
    }

    /// Requests that would do the effect, where nothing was remembered of it.
    pub fn sent(&self) -> Vec<Asked> {
        self.seen().into_iter().filter(|asked| asked.method == "POST").collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: Arc<Mutex<Vec<Asked>>>,
    answering: Arc<Mutex<Answering>>,
) {
    let mut bytes = Vec::new();
    let asked = loop {
        let mut part = [0; 4096];
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(n) => bytes.extend_from_slice(&part[..n]),
        }
        if let Some(asked) = parse(&bytes) {
            break asked;
        }
    };
    seen.lock().unwrap().push(asked.clone());
    let reply = (answering.lock().unwrap())(&asked);
    let reply = match reply {
        Reply::When(mut open, status, body) => {
            open.wait_for(|open| *open).await.unwrap();
            Reply::Json(status, body)
        }
        other => other,
    };
    match reply {
        Reply::Hang | Reply::When(..) => {
            let _ = stream.read(&mut [0; 16]).await;
        }
        Reply::Json(status, body) => {
            let text = format!(
                "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(text.as_bytes()).await;
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Asked> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let header = |name: &str| {
        head.lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.to_owned())
    };
    let length: usize = header("content-length").map_or(0, |length| length.parse().unwrap());
    if body.len() < length {
        return None;
    }
    let mut line = head.lines().next()?.split(' ');
    Some(Asked {
        method: line.next()?.to_owned(),
        path: line.next()?.to_owned(),
        key: header("idempotency-key"),
        body: body.to_owned(),
    })
}

/// An engine of its own name that reaches these providers.
pub async fn engine_at(fixture: &Fixture, worker: &str, providers: &[(&str, &str)]) -> Engine {
    let providers = providers
        .iter()
        .map(|(name, url)| ProviderEndpoint {
            name: (*name).into(),
            url: (*url).into(),
            lookup_url: None,
        })
        .collect();
    let settings =
        Settings { providers, worker_name: worker.into(), ..fixture.engine.settings().clone() };
    Engine::connect(settings).await.unwrap()
}
