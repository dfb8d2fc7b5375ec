//! R19, T39: hundreds of clients that say nothing, spell their headers or drip their bodies. The
//! others are answered meanwhile, and each slow one is let go in its time.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use server::listener::{Bounds, raise_file_limit};
use testkit::within;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use crate::{
    figures::{percentile, say},
    headers::carries_the_headers,
    support::Stage,
    wire::{LIMIT, Served, exchange, parsed, request},
};

const LEGITIMATE: usize = 200;
/// Clients with a slow body, beside 400 silent ones and 400 with a slow header.
const BODIES: usize = 150;
/// A machine under load closes late, but a client that is kept for as long as it likes is another thing.
const KEPT_TOO_LONG: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Slow {
    Silent,
    Header,
    Body,
}

/// Sends a byte every now and then until the other side closes; how long that took, and what was
/// said before.
async fn drip(addr: SocketAddr, kind: Slow, beginning: Vec<u8>) -> (Slow, Duration, String) {
    let stream = TcpStream::connect(addr).await.unwrap();
    let begun = Instant::now();
    let (mut from, mut to) = stream.into_split();
    let mut said = Vec::new();
    let dripping = async {
        if to.write_all(&beginning).await.is_err() || kind == Slow::Silent {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            if to.write_all(b"x").await.is_err() {
                return std::future::pending().await;
            }
        }
    };
    tokio::select! {
        _ = from.read_to_end(&mut said) => {}
        () = dripping => {}
    }
    (kind, begun.elapsed(), String::from_utf8_lossy(&said).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_take_nothing_from_the_others_and_are_let_go() {
    // Shorter than in earnest: the time of a test is dear, and the clock is the same.
    let stage = Stage::open_with(&[
        ("ONCEOVER_HEADER_SECONDS", "4"),
        ("ONCEOVER_BODY_SECONDS", "4"),
        ("ONCEOVER_MAX_CONNECTIONS", "4000"),
    ])
    .await;
    let bounds = stage.config.bounds;
    // Both ends of each connection are files of this process. A tenth of the clients would show nothing of
    // what hundreds do.
    if let Err(why) = raise_file_limit(Bounds { connections: 6_000, ..bounds }) {
        say(&format!("R19: NOT RUN, {why}"));
        testkit::threat_not_tried("T39", &why);
        return;
    }
    let token = stage.service("acme").await.token.unwrap();
    let bearer = format!("Bearer {token}");
    let served = Served::with(stage.router.clone(), bounds, None);
    let json = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Content-Length", "1000"),
    ];
    // Fewer than the system's queue of a listener holds (4,096 by Linux' default): one that says nothing
    // and was dropped there before it was accepted would wait for nobody.
    let kinds = [
        (Slow::Silent, 400, Vec::new()),
        (Slow::Header, 400, b"GET /sign-in HTTP/1.1\r\nHost: ".to_vec()),
        (Slow::Body, BODIES, request("POST", "/api/v1/operations", &json, "")),
    ];
    let mut slow = JoinSet::new();
    for (kind, times, beginning) in &kinds {
        for _ in 0..*times {
            slow.spawn(drip(served.addr, *kind, beginning.clone()));
        }
    }
    let tried = slow.len();
    let mut times = Vec::new();
    let list = request(
        "GET",
        "/api/v1/health/none",
        &[("Authorization", bearer.as_str()), ("Connection", "close")],
        "",
    );
    let page = request("GET", "/sign-in", &[("Connection", "close"), ("Accept", "text/html")], "");
    for n in 0..LEGITIMATE {
        let begun = Instant::now();
        let (bytes, status) =
            if n % 2 == 0 { (&list, StatusCode::NOT_FOUND) } else { (&page, StatusCode::OK) };
        let answer = within("the answer", LIMIT, exchange(served.addr, bytes)).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {} ", status.as_u16())), "{answer}");
        times.push(begun.elapsed());
    }
    let left = slow.len();
    let mut longest = [Duration::ZERO; 3];
    let (mut told, mut kept) = (0, 0);
    while let Some(ended) = within("slow ones are let go", LIMIT, slow.join_next()).await {
        let (kind, after, said) = ended.unwrap();
        let at = kind as usize;
        longest[at] = longest[at].max(after);
        assert!(!said.contains(" 200 "), "{said}");
        kept += usize::from(after >= KEPT_TOO_LONG);
        if said.starts_with("HTTP/1.1 408 ") {
            carries_the_headers(&parsed(&said), "a slow body");
            told += 1;
        }
    }
    assert_eq!(told, BODIES, "a slow body is told why");
    assert_eq!(kept, 0, "kept too long: {longest:?}");
    served.end().await;
    let [silent, header, body] = longest.map(|after| format!("{:.1} s", after.as_secs_f64()));
    say(&format!(
        "R19: {} slow sockets, {left} still there after {LEGITIMATE} legitimate requests: p50 {} ms, p99 {} ms; \
         let go (bound 4 s in this test, 10 s and 15 s in earnest): silent {silent}, header {header}, body \
         {body}, {told} told 408",
        tried,
        percentile(&mut times, 50),
        percentile(&mut times, 99),
    ));
    testkit::threat("T39", tried, kept);
}
