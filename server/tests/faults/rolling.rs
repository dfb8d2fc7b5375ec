//! R23: servers are replaced under load, the next one up before the last one is told to stop. What
//! was accepted is answered, leases are given back, nothing happens twice.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use engine::identity::Admin;
use rand::{RngExt as _, rngs::StdRng};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    effects::Effect,
    invariants::invariants,
    processes::Process,
    report::{Tally, say},
    scene::{Asked, LIMIT, Scene},
    seed,
};

const CLIENTS: u32 = 4;

/// What clients did.
#[derive(Default)]
struct Counts {
    answered: AtomicU32,
    /// Nobody listened there any more: the next server is asked.
    refused: AtomicU32,
    /// Accepted, and no answer came.
    cut: AtomicU32,
    /// The connection ended under a request that nobody had begun with: it is asked again, as every
    /// client does that keeps connections (RFC 9112, 9.6).
    unheard: AtomicU32,
}

struct Fleet {
    /// Where servers listen, those that stop included: clients do not know.
    places: Mutex<Vec<String>>,
    over: AtomicBool,
    counts: Counts,
    token: String,
}

/// Replaces servers under load, so many times.
///
/// # Panics
/// Where a request that was accepted had no answer, or an invariant does not hold.
pub async fn rolling(times: u32) -> Tally {
    let scene = Arc::new(Scene::open("rolling", true).await);
    let mut admin = Admin::connect(&scene.database.url()).await.unwrap();
    let token = admin.add_service_token("acme", "rolling", &[], None).await.unwrap();
    let (mut running, place) = start(&scene);
    let fleet = Arc::new(Fleet {
        places: Mutex::new(vec![place]),
        over: AtomicBool::new(false),
        counts: Counts::default(),
        token,
    });
    let clients: Vec<_> =
        (0..CLIENTS).map(|n| tokio::spawn(client(n, scene.clone(), fleet.clone()))).collect();
    let mut longest = Duration::ZERO;
    for _ in 0..times {
        let before = fleet.counts.answered.load(Ordering::Relaxed);
        testkit::eventually("the load goes on", LIMIT, async || {
            fleet.counts.answered.load(Ordering::Relaxed) >= before + 20
        })
        .await;
        let (next, place) = start(&scene);
        fleet.places.lock().unwrap().insert(0, place);
        let last = std::mem::replace(&mut running, next);
        let begun = Instant::now();
        last.ask_to_stop();
        let code = tokio::task::spawn_blocking(move || last.end()).await.unwrap();
        assert_eq!(code, Some(0));
        longest = longest.max(begun.elapsed());
        fleet.places.lock().unwrap().truncate(1);
    }
    fleet.over.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(running.stop(), Some(0));
    assert_eq!(scene.count("select count(*) from leases").await, 0, "leases are given back");
    scene.quiet().await;
    let counts = &fleet.counts;
    let cut = counts.cut.load(Ordering::Relaxed);
    say(&format!(
        "R23: {times} rolling restarts, {} requests answered, {} asked elsewhere, {} unheard, {cut} cut, longest stop {:.1} s",
        counts.answered.load(Ordering::Relaxed),
        counts.refused.load(Ordering::Relaxed),
        counts.unheard.load(Ordering::Relaxed),
        longest.as_secs_f64()
    ));
    let accepted = scene.all_asked().len();
    let tally = Tally::of(0, accepted, invariants(&scene).await);
    tally.tell("rolling", "");
    assert_eq!(cut, 0, "what was accepted is answered");
    tally
}

/// The program whole: console, API and workers.
fn start(scene: &Scene) -> (Process, String) {
    let (process, url) = scene.process(&["serve"], "ready: ", &[("ONCEOVER_ADDR", "127.0.0.1:0")]);
    (process, url.trim_start_matches("http://").trim_end_matches('/').to_owned())
}

/// Asks for one effect after the other over connections that it keeps, as a client library does.
async fn client(number: u32, scene: Arc<Scene>, fleet: Arc<Fleet>) {
    let mut rng: StdRng = seed::of(&format!("rolling-{number}"));
    let mut kept: HashMap<String, TcpStream> = HashMap::new();
    let mut next = 0;
    while !fleet.over.load(Ordering::Relaxed) {
        let effect = Effect::ALL[rng.random_range(0..Effect::ALL.len())];
        let subject = format!("rolling-{number}-{next}");
        next += 1;
        let request = effect.request(&subject, false);
        let payload: Value = serde_json::from_slice(&request.payload).unwrap();
        let body = json!({
            "operation": request.operation, "key": subject, "payload": payload, "mode": "queued",
        })
        .to_string();
        loop {
            let places = fleet.places.lock().unwrap().clone();
            let place = places[rng.random_range(0..places.len())].clone();
            let stream = match kept.remove(&place) {
                Some(stream) => Ok(stream),
                None => TcpStream::connect(&place).await,
            };
            let Ok(mut stream) = stream else {
                fleet.counts.refused.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            match ask(&mut stream, &place, &fleet.token, &body).await {
                Ok((head, answer)) => {
                    let id = answer["id"].as_str().map(|id| id.parse().unwrap());
                    let id = id.unwrap_or_else(|| panic!("{head} {answer}"));
                    scene.asked.lock().unwrap().push(Asked { id, effect, subject });
                    fleet.counts.answered.fetch_add(1, Ordering::Relaxed);
                    // Some connections are new ones.
                    if !head.contains("connection: close") && rng.random_range(0..8) > 0 {
                        kept.insert(place, stream);
                    }
                    break;
                }
                Err(_) => {
                    let begun = scene.has_operation(&subject).await;
                    let count = if begun { &fleet.counts.cut } else { &fleet.counts.unheard };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// One request and its answer over a connection that stays open.
async fn ask(
    stream: &mut TcpStream,
    place: &str,
    token: &str,
    body: &str,
) -> io::Result<(String, Value)> {
    let head = format!(
        "POST /api/v1/operations HTTP/1.1\r\nhost: {place}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            let length: usize = length.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            if body.len() >= length {
                return Ok((head, serde_json::from_str(body).unwrap_or(Value::Null)));
            }
        }
        let mut piece = [0; 4_096];
        match stream.read(&mut piece).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            some => read.extend_from_slice(&piece[..some]),
        }
    }
}
