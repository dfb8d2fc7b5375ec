//! R22, F7: a panic costs its one answer. The process, the connections of others and the next
//! request of the same client go on.

use axum::{
    Router,
    body::{Body, Bytes},
    routing::{get, post},
};
use futures_util::{StreamExt as _, stream};
use server::router::{AppState, behind_the_outer_layers, innermost};
use testkit::within;
use tokio::io::AsyncWriteExt as _;

use crate::{
    figures::say,
    support::Stage,
    wire::{LIMIT, Served, exchange, one_answer, request, rest},
};

const TIMES: usize = 100;

/// Panics when it is given up.
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("a destructor of the tests");
    }
}

/// An answer that breaks in the middle.
fn broken() -> Body {
    Body::from_stream(stream::iter(0..3).map(|n| {
        assert!(n < 2, "a stream of the tests");
        Ok::<_, std::io::Error>(Bytes::from_static(b"piece"))
    }))
}

fn routes() -> Router<AppState> {
    async fn fails() {
        panic!("a handler of the tests")
    }
    async fn drops() {
        let _fragile = Fragile;
    }
    let routes = Router::new()
        .route("/handler", get(fails).post(fails))
        .route("/destructor", post(drops))
        .route("/stream", get(async || broken()));
    innermost(routes).route("/fine", get(async || "fine"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_costs_one_answer_and_nothing_else() {
    let stage = Stage::open().await;
    let served = Served::plain(behind_the_outer_layers(routes(), stage.state.clone()));
    let mut stream = served.connect().await;
    let mut refused = 0;
    for n in 0..TIMES {
        let (method, path) =
            [("GET", "/handler"), ("POST", "/handler"), ("POST", "/destructor")][n % 3];
        stream.write_all(&request(method, path, &[], "")).await.unwrap();
        let answer = within("the answer", LIMIT, one_answer(&mut stream)).await;
        assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
        assert!(answer.contains("content-security-policy: "), "{answer}");
        assert!(!answer.contains("of the tests"), "{answer}");
        refused += 1;
    }
    // Too late for a status: the answer ends in the middle, and so does the connection.
    for _ in 0..TIMES / 10 {
        let answer =
            within("the end", LIMIT, exchange(served.addr, &request("GET", "/stream", &[], "")))
                .await;
        assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
    }
    stream.write_all(&request("GET", "/fine", &[("Connection", "close")], "")).await.unwrap();
    let fine = within("the next", LIMIT, rest(&mut stream)).await;
    assert!(fine.starts_with("HTTP/1.1 200 ") && fine.ends_with("fine"), "{fine}");
    served.end().await;
    say(&format!(
        "R22: {TIMES} panics in handlers and destructors, {refused} answered 500 on one connection; {} in \
         streams; 0 exits",
        TIMES / 10
    ));
}
