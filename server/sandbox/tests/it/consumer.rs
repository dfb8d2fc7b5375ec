//! The consumer of events: takes what is signed, once, and gets into the trouble that it is told to.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sandbox::{
    client::ConsumerControl,
    consumer::{Config, Consumer, EventRule, Trouble},
    signature::{SIGNATURE_HEADER, sign},
};
use serde_json::json;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::support::{Folder, http};

const SECRET: &str = "the engine's secret";

struct Running {
    control: ConsumerControl,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), sandbox::providers::Error>>,
}

impl Running {
    async fn start(folder: &Folder) -> Self {
        let config = Config::new(folder.path().to_owned(), SECRET.into());
        let consumer = Consumer::bind(config).await.expect("the consumer starts");
        let control = ConsumerControl::new(&consumer.url()).expect("controls");
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(consumer.run(async {
            let _ = stopped.await;
        }));
        Self { control, stop, task }
    }

    async fn stop(self) {
        self.stop.send(()).expect("it still runs");
        self.task.await.expect("it does not panic").expect("it ends well");
    }

    /// Delivers an event; the status, and whether it says that it had it. `None`: no answer.
    async fn deliver(&self, event: &Event) -> Option<(u16, bool)> {
        let signature = sign(event.secret.as_bytes(), event.signed_at, event.body.as_bytes());
        let sent = http()
            .post(self.control.events_url())
            .header("idempotency-key", event.key)
            .header(SIGNATURE_HEADER, signature)
            .body(event.body.clone())
            .send()
            .await;
        let answer = sent.ok()?;
        let replayed = answer.headers().get("idempotent-replayed").is_some();
        Some((answer.status().as_u16(), replayed))
    }

    async fn taken(&self) -> Vec<(String, u64)> {
        let ledger = self.control.ledger(&[]).await.expect("the ledger answers");
        ledger
            .iter()
            .map(|taken| {
                let id = taken["id"].as_str().expect("an id").to_owned();
                (id, taken["deliveries"].as_u64().expect("a count"))
            })
            .collect()
    }
}

struct Event {
    key: &'static str,
    body: String,
    secret: &'static str,
    signed_at: i64,
}

fn event(id: &'static str, aggregate: &str, sequence: u64) -> Event {
    let body = json!({
        "specversion": "1.0", "id": id, "source": "/onceover/acme", "type": "invoice.paid",
        "subject": aggregate, "time": "2026-11-29T12:00:00.000000Z",
        "sequence": format!("{sequence:020}"), "partitionkey": format!("acme/{aggregate}"),
        "data": { "invoice_id": "INV-1" },
    });
    let age = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let signed_at = i64::try_from(age.as_secs()).expect("this century");
    Event { key: id, body: body.to_string(), secret: SECRET, signed_at }
}

#[tokio::test]
async fn an_event_is_taken_once_however_often_it_comes_and_over_restarts() {
    let folder = Folder::new();
    let consumer = Running::start(&folder).await;
    assert_eq!(consumer.deliver(&event("e-1", "INV-1", 1)).await, Some((200, false)));
    assert_eq!(consumer.deliver(&event("e-1", "INV-1", 1)).await, Some((200, true)));
    assert_eq!(consumer.deliver(&event("e-2", "INV-1", 2)).await, Some((200, false)));
    // The same id with another body is no repeat.
    assert_eq!(consumer.deliver(&event("e-2", "INV-2", 1)).await, Some((409, false)));
    consumer.stop().await;
    let again = Running::start(&folder).await;
    assert_eq!(again.deliver(&event("e-1", "INV-1", 1)).await, Some((200, true)));
    assert_eq!(again.taken().await, [("e-1".to_owned(), 3), ("e-2".to_owned(), 1)]);
    let found = again.control.ledger(&[("aggregate", "INV-1"), ("id", "e-2")]).await;
    assert_eq!(found.expect("the ledger answers").len(), 1);
    again.stop().await;
}

#[tokio::test]
async fn what_is_not_signed_by_the_engine_just_now_is_not_taken() {
    let folder = Folder::new();
    let consumer = Running::start(&folder).await;
    let forged = Event { secret: "another secret", ..event("e-1", "INV-1", 1) };
    assert_eq!(consumer.deliver(&forged).await, Some((401, false)));
    let fresh = event("e-1", "INV-1", 1);
    let stale = Event { signed_at: fresh.signed_at - 301, ..fresh };
    assert_eq!(consumer.deliver(&stale).await, Some((401, false)));
    let nonsense = Event { body: "{}".into(), ..event("e-1", "INV-1", 1) };
    assert_eq!(consumer.deliver(&nonsense).await, Some((400, false)));
    let under_another_key = Event { key: "e-2", ..event("e-1", "INV-1", 1) };
    assert_eq!(consumer.deliver(&under_another_key).await, Some((400, false)));
    assert_eq!(consumer.taken().await, []);
    consumer.stop().await;
}

#[tokio::test]
async fn each_trouble_is_what_it_says_and_is_kept() {
    let folder = Folder::new();
    let consumer = Running::start(&folder).await;
    let paid = |id| event(id, "INV-1", 1);
    for (trouble, answer, taken) in [
        (Trouble::Down, Some((503, false)), 0),
        (Trouble::Fail500, Some((500, false)), 0),
        (Trouble::Reject { code: "unknown_customer".into() }, Some((422, false)), 0),
        (Trouble::TakeDrop, None, 1),
        (Trouble::Slow { ms: 20 }, Some((200, true)), 1),
    ] {
        consumer.control.add(EventRule::times(1, trouble.clone())).await.expect("taken");
        assert_eq!(consumer.deliver(&paid("e-1")).await, answer, "{trouble:?}");
        assert_eq!(consumer.taken().await.len(), taken, "{trouble:?}");
    }
    assert_eq!(consumer.control.modes().await.expect("the rules"), [], "each held once");

    // One event is refused for good, its neighbours are not; what was taken stays taken.
    let refusal = EventRule::always(Trouble::Reject { code: "unknown_customer".into() }).about(
        "acme",
        "INV-2",
        "invoice.paid",
    );
    consumer.control.add(refusal.clone()).await.expect("taken");
    consumer.stop().await;
    let again = Running::start(&folder).await;
    assert_eq!(again.control.modes().await.expect("the rules"), [refusal]);
    assert_eq!(again.deliver(&event("e-2", "INV-2", 1)).await, Some((422, false)));
    assert_eq!(again.deliver(&event("e-3", "INV-3", 1)).await, Some((200, false)));
    let always = EventRule::always(Trouble::Reject { code: "closed".into() });
    again.control.add(always).await.expect("taken");
    assert_eq!(again.deliver(&event("e-3", "INV-3", 1)).await, Some((200, true)));
    again.control.clear().await.expect("cleared");
    again.stop().await;
}

#[tokio::test]
async fn a_sender_who_leaves_does_not_undo_what_is_taken() {
    let folder = Folder::new();
    let consumer = Running::start(&folder).await;
    consumer.control.add(EventRule::times(1, Trouble::Slow { ms: 500 })).await.expect("taken");
    let paid = event("e-1", "INV-1", 1);
    let left = tokio::time::timeout(Duration::from_millis(50), consumer.deliver(&paid)).await;
    assert!(left.is_err(), "slower than the sender waits");
    crate::support::eventually("it is taken all the same", async || {
        (consumer.taken().await.len() == 1).then_some(())
    })
    .await;
    consumer.stop().await;
}
