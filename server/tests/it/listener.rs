//! F6, R19, R23: nobody keeps a place without asking for something, and a stop cuts no answer.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    http::StatusCode,
    middleware::from_fn,
    routing::{get, post},
};
use futures_util::Stream;
use server::{listener::Bounds, security::detach::detach};
use testkit::within;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, sync::Notify, time::advance};

use crate::{
    support::Stage,
    wire::{LIMIT, Served, bounds, exchange, one_answer, request, rest},
};

const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

fn hello() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

// Where the clock is paused it jumps whenever everybody waits, so ten seconds cost none.
#[tokio::test(start_paused = true)]
async fn a_silent_connection_and_a_slow_header_are_closed() {
    let served = Served::plain(hello());
    for sent in ["", "GET / HTTP/1.1\r\nHost: x"] {
        let begun = tokio::time::Instant::now();
        let mut stream = served.connect().await;
        stream.write_all(sent.as_bytes()).await.unwrap();
        let text = rest(&mut stream).await;
        assert!(!text.contains(" 200 "), "{text}");
        assert!(begun.elapsed() < Duration::from_secs(11), "{sent:?}: {:?}", begun.elapsed());
    }
    testkit::threat("T39", 2, 0);
}

#[tokio::test(start_paused = true)]
async fn between_two_requests_a_connection_may_rest_for_a_minute() {
    let served = Served::plain(hello());
    let mut stream = served.connect().await;
    for _ in 0..3 {
        stream.write_all(ASK).await.unwrap();
        let answer = one_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"), "{answer}");
        advance(Duration::from_secs(50)).await;
    }
    assert_eq!(rest(&mut stream).await, "", "then it is closed");
}

#[tokio::test(start_paused = true)]
async fn a_later_header_has_no_more_time_than_the_first() {
    let served = Served::plain(hello());
    let mut stream = served.connect().await;
    stream.write_all(ASK).await.unwrap();
    one_answer(&mut stream).await;
    let begun = tokio::time::Instant::now();
    stream.write_all(b"GET / HTT").await.unwrap();
    assert_eq!(rest(&mut stream).await, "");
    assert!(begun.elapsed() < Duration::from_secs(21), "{:?}", begun.elapsed());
}

/// An answer without end; says when it is given up.
struct Endless(Arc<Notify>);

impl Stream for Endless {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(Some(Ok(Bytes::from_static(&[b'x'; 65_536]))))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test(start_paused = true)]
async fn who_does_not_take_the_answer_is_let_go() {
    let gone = Arc::new(Notify::new());
    let told = Arc::clone(&gone);
    let endless = move || async move { Body::from_stream(Endless(told)) };
    let served = Served::plain(Router::new().route("/", get(endless)));
    let mut stream = served.connect().await;
    stream.write_all(ASK).await.unwrap();
    within("the answer is given up", Duration::from_secs(600), gone.notified()).await;
    drop(stream);
}

#[tokio::test]
async fn a_header_that_is_too_large_or_has_too_many_fields_is_refused() {
    let served = Served::plain(hello());
    let many: String = (0..10_000).map(|n| format!("x-{n}: 1\r\n")).collect();
    let large = format!("x: {}\r\n", "y".repeat(100_000));
    for headers in [many, large] {
        let head = format!("GET / HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
        let answer = exchange(served.addr, head.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
}

// Where the system's queue is full it drops who comes next; only those that say something find out.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_burst_waits_in_the_queue_until_it_is_accepted() {
    let listener = server::listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = listener.local_addr().unwrap();
    let burst = (0..500).map(|_| TcpStream::connect(addr));
    let burst = within("nobody is dropped", LIMIT, futures_util::future::join_all(burst)).await;
    for _ in burst {
        listener.accept().unwrap();
    }
}

#[tokio::test]
async fn one_address_has_so_many_connections_and_no_more() {
    let few = Bounds { address_connections: 2, ..bounds() };
    let served = Served::with(hello(), few, None);
    let (mut first, mut second) = (served.connect().await, served.connect().await);
    for stream in [&mut first, &mut second] {
        stream.write_all(ASK).await.unwrap();
        assert!(one_answer(stream).await.ends_with("hello"));
    }
    let mut third = served.connect().await;
    assert_eq!(within("the third is closed", LIMIT, rest(&mut third)).await, "");
    drop(first);
    testkit::eventually("there is a place again", LIMIT, async || {
        let mut next = served.connect().await;
        let _ = next.write_all(ASK).await;
        one_answer(&mut next).await.ends_with("hello")
    })
    .await;
    second.write_all(ASK).await.unwrap();
    assert!(one_answer(&mut second).await.ends_with("hello"));
}

#[tokio::test]
async fn who_asks_while_it_stops_is_answered_and_told_that_it_is_the_last_time() {
    let served = Served::plain(hello());
    let mut resting = served.connect().await;
    resting.write_all(ASK).await.unwrap();
    one_answer(&mut resting).await;
    let mut fresh = served.connect().await;
    served.stop.send_replace(true);
    for stream in [&mut resting, &mut fresh] {
        stream.write_all(&request("GET", "/", &[], "")).await.unwrap();
        let answer = within("the answer", LIMIT, rest(stream)).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
    }
    served.end().await;
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
    let served = Served::plain(Router::new().route("/", get(handler)));
    let addr = served.addr;
    let mut stream = served.connect().await;
    stream.write_all(ASK).await.unwrap();
    within("the request has begun", LIMIT, begun.notified()).await;
    served.stop.send_replace(true);
    go_on.notify_one();
    let answer = within("the answer", LIMIT, rest(&mut stream)).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("done"), "{answer}");
    served.end().await;
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
    let served = Served::plain(router);
    let mut stream = served.connect().await;
    stream.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    within("the request has begun", LIMIT, begun.notified()).await;
    drop(stream);
    // The server has let go of the connection once it stops without waiting for one.
    served.end().await;
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
