//! R14: clients that hang up in the middle of an action. What had begun is done once, with its audit
//! row, and whoever asks again is told so; what had not begun is done by the repeat.

use std::{net::SocketAddr, time::Duration};

use domain::action::Verb;
use serde_json::json;
use testkit::{eventually, within};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::{
    figures::say,
    support::Stage,
    wire::{LIMIT, Served, exchange, request},
};

const NOTES: usize = 420;
const DECISIONS: usize = 80;
/// Clients at a time.
const ABREAST: usize = 20;
const LONGEST_MS: f64 = 500.0;

const NOTED: &str = "select count(*) from notes";
/// Decisions are operations, too: of another kind.
const DECIDED: &str =
    "select count(*) from operations where status = 'succeeded' and operation = 'invoice.charge'";
const AUDITED: &str =
    "select count(*) from audit where result = 'done' and action in ('note', 'confirm')";

async fn count(stage: &Stage, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(stage.database.owner_pool()).await.unwrap()
}

/// Sends a request and hangs up some time later, most often within the first tenth of the time: an
/// action takes no longer.
async fn hang_up(addr: SocketAddr, bytes: Vec<u8>) {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(&bytes).await.unwrap();
    let after = LONGEST_MS * rand::random::<f64>().powi(4) / 1_000.0;
    tokio::time::sleep(Duration::from_secs_f64(after)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_its_client_did_not_wait_for_is_done_once() {
    let stage = Stage::open().await;
    let token = stage.staff("operator@acme.test").await.token.unwrap();
    let bearer = format!("Bearer {token}");
    let post = |path: &str, body: serde_json::Value, more: &[(&str, &str)]| {
        let head = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        request("POST", &format!("/api/v1{path}"), &[&head, more].concat(), &body.to_string())
    };
    let mut asked = Vec::new();
    let noted = stage.unknown("acme", "INV-noted").await;
    for n in 0..NOTES {
        let body = json!({ "form_key": format!("fk-{n}"), "text": format!("call {n}") });
        asked.push((format!("/operations/{}/notes", noted.id), body));
    }
    for n in 0..DECISIONS {
        let unknown = stage.unknown("acme", &format!("INV-{n}")).await;
        let mut body = unknown.confirm();
        body["external_reference"] = json!(format!("ch_{n}"));
        asked.push((format!("/operations/{}/actions/{}", unknown.id, Verb::Confirm), body));
    }
    // Decisions among the notes.
    asked.sort_by_cached_key(|_| rand::random::<u32>());

    let served = Served::plain(stage.router.clone());
    let requests: Vec<_> = asked.iter().map(|(path, body)| post(path, body.clone(), &[])).collect();
    for some in requests.chunks(ABREAST) {
        let all = some.iter().map(|bytes| hang_up(served.addr, bytes.clone()));
        futures_util::future::join_all(all).await;
    }
    const BUSY: &str = "select count(*) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'";
    eventually("all that had begun is done", LIMIT, async || count(&stage, BUSY).await == 0).await;
    let before = (count(&stage, NOTED).await, count(&stage, DECIDED).await);
    let effects = before.0 + before.1;
    assert_eq!(
        effects,
        count(&stage, AUDITED).await,
        "no effect without audit, and no audit alone"
    );

    let mut replayed = 0;
    for (path, body) in &asked {
        let again = post(path, body.clone(), &[("Connection", "close")]);
        let answer = within("the answer", LIMIT, exchange(served.addr, &again)).await;
        let is_done = answer.starts_with("HTTP/1.1 200 ") || answer.starts_with("HTTP/1.1 204 ");
        assert!(is_done, "{path}: {answer}");
        replayed += i64::from(answer.contains("idempotent-replayed: true"));
    }
    let (notes, decisions) = (count(&stage, NOTED).await, count(&stage, DECIDED).await);
    assert_eq!((notes, decisions), (NOTES as i64, DECISIONS as i64));
    assert_eq!(notes + decisions, count(&stage, AUDITED).await);
    assert_eq!(replayed, before.1, "a retry is told what had been done, and nothing else");
    served.end().await;
    say(&format!(
        "R14: {} hang-ups within {LONGEST_MS} ms, {effects} effects = {effects} audits had begun; after the \
         repeats {} effects = {} audits, {replayed} of {} decisions told as done before",
        asked.len(),
        notes + decisions,
        notes + decisions,
        before.1,
    ));
}
