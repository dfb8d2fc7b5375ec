//! A receiver of webhooks: a real server that keeps what came and answers as it is told.

use std::{
    net::Ipv4Addr,
    pin::Pin,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use serde_json::Value;
use tokio::net::TcpListener;

/// One delivery as it arrived.
#[derive(Clone, Debug)]
pub struct Delivered {
    pub headers: HeaderMap,
    pub body: Bytes,
    pub event: Value,
}

impl Delivered {
    pub fn text(&self, name: &str) -> &str {
        self.event[name].as_str().unwrap_or_default()
    }

    pub fn sequence(&self) -> i64 {
        self.text("sequence").parse().unwrap()
    }
}

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

pub struct Receiver {
    pub url: String,
    came: Arc<Mutex<Vec<Delivered>>>,
}

impl Receiver {
    /// Takes everything.
    pub async fn start() -> Self {
        Self::answering(|_| Box::pin(async { StatusCode::NO_CONTENT.into_response() })).await
    }

    /// Answers as `answer` says, after the delivery has been kept.
    pub async fn answering(
        answer: impl Fn(Delivered) -> Answering + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let came = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&came);
        let app = Router::new().fallback(move |headers: HeaderMap, body: Bytes| {
            let event = serde_json::from_slice(&body).unwrap_or_default();
            let delivered = Delivered { headers, body, event };
            kept.lock().unwrap().push(delivered.clone());
            answer(delivered)
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, came }
    }

    pub fn came(&self) -> Vec<Delivered> {
        self.came.lock().unwrap().clone()
    }
}
