//! T14: a password's hash takes 19 MiB, so two are computed at a time, however many sign in at once.

use std::net::SocketAddr;

use futures_util::future::join_all;
use testkit::{TestDatabase, within};

use crate::{
    faults::processes::Process,
    figures::say,
    support::{HOST, WEBHOOK_SECRET, form},
    wire::{LIMIT, exchange, request},
};

/// At once, each from an address and about an account of its own: no limit of tries keeps one back.
const AT_ONCE: usize = 50;
/// Far above what two hashes and so many requests take, far below what so many hashes would.
const MOST_KIB: u64 = 100 * 1024;

fn sign_in(number: usize) -> Vec<u8> {
    let email = format!("nobody-{number}@acme.test");
    let from = format!("10.0.{}.{}", number / 200, number % 200 + 1);
    let headers = [
        ("X-Forwarded-For", from.as_str()),
        ("Sec-Fetch-Site", "same-origin"),
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Accept", "text/html"),
        ("Connection", "close"),
    ];
    let body = form(&[("email", email.as_str()), ("password", "not the password"), ("next", "/")]);
    request("POST", "/sign-in", &headers, &body)
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_sign_ins_at_once_take_the_memory_of_two_hashes() {
    let database = TestDatabase::create().await;
    let url = database.url();
    let environment = [
        ("DATABASE_URL", url.as_str()),
        ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET),
        ("ONCEOVER_ADDR", "127.0.0.1:0"),
        ("ONCEOVER_HOSTS", HOST),
        ("ONCEOVER_TRUSTED_PROXY", "true"),
        ("ONCEOVER_TRUSTED_HOPS", "1"),
        ("ONCEOVER_LOG", "warn"),
    ];
    let (server, ready) = Process::start(&["serve", "--no-workers"], &environment, "ready: ");
    let addr: SocketAddr = ready.trim_start_matches("http://").parse().unwrap();
    let refused = |number: usize| async move {
        let answer = within("the answer", LIMIT, exchange(addr, &sign_in(number))).await;
        let place = "location: /sign-in?refused=sign_in_failed";
        assert!(answer.starts_with("HTTP/1.1 303 ") && answer.contains(place), "{answer}");
    };
    // What the first one leaves for good.
    refused(AT_ONCE).await;
    let before = server.peak_kib();
    assert!(before > 0 || !cfg!(target_os = "linux"), "the system tells");
    join_all((0..AT_ONCE).map(refused)).await;
    let grown = server.peak_kib() - before;
    say(&format!(
        "T14: {AT_ONCE} sign-ins at once, all hashed; memory at most {} MiB, {} more than for one",
        server.peak_kib() / 1024,
        grown / 1024,
    ));
    assert!(grown < MOST_KIB, "{grown} KiB for {AT_ONCE} hashes of 19 MiB");
    testkit::threat("T14", AT_ONCE, 0);
}
