//! R20, T39: what is too large, too deep or too many is refused by its status, at every route that
//! takes a body, and costs the process no memory that it keeps.

use axum::{
    body::{Body, Bytes},
    http::{Method, Request, StatusCode, header},
};
use domain::problem::Code;
use futures_util::stream;
use testkit::within;

use crate::{
    faults::processes::Process,
    figures::say,
    headers::carries_the_headers,
    support::{HOST, Stage, WEBHOOK_SECRET, from_our_page},
    trust::paths::{forms, of_nobody},
    wire::{LIMIT, exchange},
};

const MIB: usize = 1024 * 1024;
/// More than any body may have.
const HUGE: usize = 12 * MIB;
const FORM: &str = "application/x-www-form-urlencoded";

/// A body that says how long it is, or one that does not.
fn huge(announced: bool) -> Body {
    let piece = Bytes::from(vec![b' '; MIB]);
    if announced {
        return Body::from(vec![b' '; HUGE]);
    }
    Body::from_stream(stream::iter(
        (0..HUGE / MIB).map(move |_| Ok::<_, std::io::Error>(piece.clone())),
    ))
}

#[tokio::test]
async fn every_route_that_takes_a_body_has_a_limit() {
    let stage = Stage::open_with(&[
        ("ONCEOVER_MAX_ADDRESS_CALLS", "10000000"),
        ("ONCEOVER_MAX_ACCOUNT_CALLS", "10000000"),
        ("ONCEOVER_MAX_TOKEN_CALLS", "10000000"),
    ])
    .await;
    let service = stage.service("acme").await;
    let staff = stage.staff("admin@acme.test").await;
    let admin = stage.browser("admin@acme.test").await;
    let before = stage.effects().await;
    let mut tried = 0;
    for (_, path) in server::v1::routes().into_iter().filter(|(method, _)| *method == "POST") {
        for program in [&service, &staff] {
            for announced in [true, false] {
                let answer = program.post_text(&of_nobody(&path), &[], huge(announced)).await;
                assert_eq!(
                    answer.status,
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "{path}: {}",
                    answer.text()
                );
                answer.refused(Code::TooLarge);
                carries_the_headers(&answer, &path);
                assert_eq!(answer.header("connection"), "close", "{path}");
                tried += 1;
            }
        }
    }
    for path in forms(&stage.router) {
        for announced in [true, false] {
            let kind =
                if path.ends_with("/evidence") { "multipart/form-data; boundary=x" } else { FORM };
            let request = from_our_page(Method::POST, &of_nobody(&path))
                .header(header::COOKIE, admin.cookie.as_deref().unwrap())
                .header(header::CONTENT_TYPE, kind)
                .body(huge(announced));
            let answer = stage.send(request.unwrap()).await;
            assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE, "{path}: {}", answer.text());
            carries_the_headers(&answer, &path);
            tried += 1;
        }
    }
    // A page takes no body, and nothing of one is kept.
    let get = Request::builder().uri("/sign-in").header(header::HOST, HOST).body(huge(true));
    assert_eq!(stage.send(get.unwrap()).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    tried += 1;
    let moved = stage.effects().await.since(&before).len();
    assert_eq!(moved, 0, "tables with an effect of one of them");
    say(&format!(
        "R20: {tried} bodies of {HUGE} bytes at every route that takes one: all 413, {moved} effects"
    ));
    testkit::threat("T39", tried, moved);
    testkit::threat("T08", tried - 1, 0);
}

/// One hostile request: what it is, its bytes, and the statuses that it may get.
fn hostile(bearer: &str) -> Vec<(&'static str, Vec<u8>, &'static [u16])> {
    let head = format!(
        "POST /api/v1/operations HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: {bearer}\r\n\
         Content-Type: application/json\r\nConnection: close\r\n"
    );
    let with_length = |body: &str| format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let ten_mib = " ".repeat(10 * MIB);
    let chunked =
        format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{ten_mib}\r\n0\r\n\r\n", 10 * MIB);
    let deep = |levels: usize| {
        let nested = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        with_length(&format!(
            "{{\"operation\":\"invoice.charge\",\"key\":\"k\",\"payload\":{{\"invoice_id\":\"I\",\
             \"amount_minor\":1,\"currency\":\"EUR\",\"note\":{nested}}}}}"
        ))
    };
    let get = |path: &str, headers: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{headers}Connection: close\r\n\r\n")
    };
    let many: String = (0..10_000).map(|n| format!("x-{n}: 1\r\n")).collect();
    vec![
        ("a body of 10 MiB", with_length(&ten_mib).into_bytes(), &[413]),
        ("a body of 10 MiB in chunks", chunked.into_bytes(), &[413]),
        ("JSON 64 levels deep", deep(64).into_bytes(), &[400, 422]),
        ("JSON 400,000 levels deep", deep(400_000).into_bytes(), &[400, 422]),
        ("10,000 headers", get("/sign-in", &many).into_bytes(), &[431]),
        (
            "a header of 1 MiB",
            get("/sign-in", &format!("x: {}\r\n", "y".repeat(MIB))).into_bytes(),
            &[431],
        ),
        (
            "an address of 70,000 characters",
            get(&format!("/sign-in?{}", "y".repeat(70_000)), "").into_bytes(),
            &[414, 431],
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_leaves_nothing_behind() {
    const ROUNDS: usize = 8;
    /// What all of it may leave behind (R20).
    const MOST_KIB: u64 = 20 * 1024;
    let stage = Stage::open().await;
    let token = stage.service("acme").await.token.unwrap();
    let url = stage.database.url();
    let environment = [
        ("DATABASE_URL", url.as_str()),
        ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET),
        ("ONCEOVER_ADDR", "127.0.0.1:0"),
        ("ONCEOVER_HOSTS", HOST),
        ("ONCEOVER_LOG", "warn"),
    ];
    let (mut server, ready) = Process::start(&["serve", "--no-workers"], &environment, "ready: ");
    let addr: std::net::SocketAddr = ready.trim_start_matches("http://").parse().unwrap();
    let all = hostile(&format!("Bearer {token}"));
    let round = async || {
        for (what, bytes, statuses) in &all {
            let answer = within(what, LIMIT, exchange(addr, bytes)).await;
            let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
            // Whoever goes on sending what nobody reads may miss the answer: the connection is reset.
            let is_missed = answer.is_empty() && bytes.len() > 5 * MIB;
            assert!(
                is_missed || status.is_some_and(|status| statuses.contains(&status)),
                "{what}: {answer}"
            );
        }
    };
    // What every request leaves once.
    round().await;
    let before = server.resident_kib();
    for _ in 0..ROUNDS {
        round().await;
    }
    let grown = server.resident_kib().saturating_sub(before);
    assert!(!server.has_ended());
    assert!(grown < MOST_KIB, "{grown} KiB");
    let kinds: Vec<_> = all.iter().map(|(what, ..)| *what).collect();
    say(&format!(
        "R20: {} hostile requests ({}): all refused; memory {} MiB, grown by {:.1} MiB",
        ROUNDS * all.len(),
        kinds.join(", "),
        before / 1024,
        grown as f64 / 1024.0,
    ));
}
