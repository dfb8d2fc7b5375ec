//! F6, R19, R23: nobody keeps a place without asking for something, and a stop cuts no answer.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    http::StatusCode,
    middleware::from_fn,
    routing::{get, post},
};
use server::{listener, security::detach::detach};
use testkit::within;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::JoinHandle,
};

use crate::support::Stage;

const LIMIT: Duration = Duration::from_secs(30);

async fn serving(
    router: Router,
) -> (SocketAddr, watch::Sender<bool>, JoinHandle<std::io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    (addr, stop, tokio::spawn(listener::serve(listener, router, stopped)))
}

fn hello() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

// The clock is paused: it jumps whenever everybody waits, so ten seconds cost none.
#[tokio::test(start_paused = true)]
async fn a_silent_connection_and_a_slow_header_are_closed() {
    let (addr, _stop, _server) = serving(hello()).await;
    for sent in ["", "GET / HTTP/1.1\r\nHost: x"] {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // An abrupt end is an end as well.
        let _ = stream.read_to_end(&mut answer).await;
        let text = String::from_utf8_lossy(&answer);
        assert!(!text.contains(" 200 "), "{text}");
    }
    testkit::threat("T39", 2, 0);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_after_its_answer() {
    let (addr, _stop, _server) = serving(hello()).await;
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"), "{answer}");
}

#[tokio::test]
async fn a_stop_lets_the_answer_under_way_through() {
    let begun = Arc::new(Notify::new());
    let go_on = Arc::new(Notify::new());
    let handler = {
        let (begun, go_on) = (Arc::clone(&begun), Arc::clone(&go_on));
        move || {
            let (begun, go_on) = (Arc::clone(&begun), Arc::clone(&go_on));
            async move {
                begun.notify_one();
                go_on.notified().await;
                "done"
            }
        }
    };
    let (addr, stop, server) = serving(Router::new().route("/", get(handler))).await;
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    within("the request has begun", LIMIT, begun.notified()).await;
    stop.send_replace(true);
    go_on.notify_one();
    let mut answer = String::new();
    within("the answer", LIMIT, stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("done"), "{answer}");
    within("the server ends", LIMIT, server).await.unwrap().unwrap();
    assert!(TcpStream::connect(addr).await.is_err());
}

#[tokio::test]
async fn what_has_begun_is_finished_though_nobody_listens_any_more() {
    let (begun, go_on, done) =
        (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = {
        let parts = (Arc::clone(&begun), Arc::clone(&go_on), Arc::clone(&done));
        move || {
            let (begun, go_on, done) = parts.clone();
            async move {
                begun.notify_one();
                go_on.notified().await;
                done.notify_one();
            }
        }
    };
    let router = Router::new().route("/", post(handler)).layer(from_fn(detach));
    let (addr, stop, server) = serving(router).await;
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    within("the request has begun", LIMIT, begun.notified()).await;
    drop(stream);
    // The server has let go of the connection once it stops without waiting for one.
    stop.send_replace(true);
    within("the server ends", LIMIT, server).await.unwrap().unwrap();
    go_on.notify_one();
    within("what has begun is done", LIMIT, done.notified()).await;
}

// Leptos suppresses what pages read while it lists the routes, for the whole process (leptos#4773).
#[tokio::test(flavor = "multi_thread")]
async fn a_page_ends_though_another_router_is_built_meanwhile() {
    let stage = Stage::open().await;
    let browser = stage.browser("viewer@acme.test").await;
    let building = tokio::task::spawn_blocking({
        let state = stage.state.clone();
        move || (0..20).for_each(|_| drop(server::router::router(state.clone())))
    });
    for _ in 0..20 {
        within("the page", LIMIT, browser.get("/")).await.expect(StatusCode::OK);
    }
    building.await.unwrap();
}
