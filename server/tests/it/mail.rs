//! Mail by SMTP through a worker's real adapter: what each trouble leaves behind, and never a second
//! mail.

use std::{net::SocketAddr, time::Duration};

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use engine::{background::Worker, store::kind::KindPolicy};
use sandbox::{
    EffectKind,
    client::ProviderControl,
    providers::{Config, Mode, Providers, Rule},
};
use serde_json::{Map, Value, json};
use testkit::eventually;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
    sync::oneshot,
};

use crate::support::{Stage, charge};

const LIMIT: Duration = Duration::from_secs(120);
/// Shorter than anybody waits, longer than any answer takes that comes at all.
const CALL_DEADLINE_MS: i64 = 1_500;

fn mails() -> KindPolicy {
    KindPolicy {
        name: EffectKind::Mail.operation().into(),
        money: false,
        amount_pointer: None,
        currency_pointer: None,
        approval_threshold_minor: None,
        provider: Some("mail.messages".into()),
        lookup: true,
        call_deadline_ms: CALL_DEADLINE_MS,
        // Whatever is to be tried again stays out of the next mails' way.
        backoff_ms: 600_000,
        search_pointers: vec!["/recipient_id".into()],
        ..charge()
    }
}

/// The fake providers, their folder gone with them.
pub struct Post {
    pub control: ProviderControl,
    folder: std::path::PathBuf,
    stop: Option<oneshot::Sender<()>>,
}

impl Post {
    pub async fn open() -> Self {
        let folder = std::env::temp_dir()
            .join(format!("onceover-mail-{}", hex::encode(rand::random::<[u8; 6]>())));
        let providers = Providers::bind(Config::new(folder.clone(), 7)).await.unwrap();
        let control = ProviderControl::new(&format!("http://{}", providers.address())).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(providers.run(async {
            let _ = stopped.await;
        }));
        Self { control, folder, stop: Some(stop) }
    }

    async fn mails(&self, id: &str) -> Vec<Map<String, Value>> {
        self.control.ledger(&[("key", id)]).await.unwrap()
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A stage whose mail goes to `smtp`; a lookup where `lookup` names one.
async fn stage(smtp: &str, lookup: Option<&str>) -> Stage {
    let provider = format!("mail.messages={smtp}?from=campaigns@acme.test&recipients=people.test");
    let lookup = lookup.map(|url| format!("mail.messages={url}/mail/messages"));
    let mut more = vec![("ONCEOVER_PROVIDERS", provider.as_str())];
    more.extend(lookup.as_deref().map(|lookup| ("ONCEOVER_PROVIDER_LOOKUPS", lookup)));
    let stage = Stage::open_with(&more).await;
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    admin.put_kind(tenant, &mails()).await.unwrap();
    stage
}

async fn queue(stage: &Stage, payload: &Value) -> String {
    let service = stage.service("acme").await;
    let key = hex::encode(rand::random::<[u8; 6]>());
    let body = json!({
        "operation": "campaign.send", "key": key, "payload": payload, "mode": "queued",
    });
    let queued = service.post("/operations", &body).await;
    queued.expect(StatusCode::ACCEPTED);
    queued.json()["id"].as_str().unwrap().to_owned()
}

/// Queues a mail and lets a worker carry it out: its id and what the engine makes of it.
async fn send(stage: &Stage, payload: &Value) -> (String, Value) {
    let id = queue(stage, payload).await;
    let mut worker = Worker::new(&stage.state.engine, 4).unwrap();
    assert_eq!(worker.claim_some().await.unwrap().handled, 1);
    // A drain gives back what has not begun, so the call comes first.
    eventually("the call has ended", LIMIT, async || {
        let view = view(stage, &id).await;
        view["status"] != "reserved" && view["status"] != "executing"
    })
    .await;
    assert_eq!(worker.drain(LIMIT).await, 0);
    let view = view(stage, &id).await;
    (id, view)
}

async fn view(stage: &Stage, id: &str) -> Value {
    stage.service("acme").await.get(&format!("/operations/{id}")).await.json()
}

fn spring(recipient: &str) -> Value {
    json!({ "campaign_id": "spring", "recipient_id": recipient })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_trouble_ends_as_it_must_and_never_in_two_mails() {
    let post = Post::open().await;
    let smtp = post.control.smtp_url().await.unwrap();
    let stage = stage(&smtp, Some(post.control.url())).await;
    let reject = Mode::Reject { code: "mailbox_unavailable".into() };
    for (mode, status, mails) in [
        (Mode::Normal, "succeeded", 1),
        // A 250 that is hard to read is a 250.
        (Mode::Nul, "succeeded", 1),
        (Mode::Throttle, "failed_retryable", 0),
        (reject, "failed_terminal", 0),
        (Mode::ApplyDrop, "unknown", 1),
        (Mode::Apply500, "unknown", 1),
        (Mode::Garbage, "unknown", 1),
        (Mode::Huge, "unknown", 1),
        (Mode::Hang, "unknown", 1),
        // Refused after the message was sent: not proof enough.
        (Mode::Fail500, "unknown", 0),
    ] {
        let recipient = format!("rcp-{}", hex::encode(rand::random::<[u8; 4]>()));
        let rule = Rule::always(mode.clone()).for_reference(EffectKind::Mail, &recipient);
        post.control.add(EffectKind::Mail.provider(), rule).await.unwrap();
        let (id, view) = send(&stage, &spring(&recipient)).await;
        assert_eq!(view["status"], status, "{mode:?}: {view}");
        assert_eq!(post.mails(&id).await.len(), mails, "{mode:?}");
    }
    // What was delivered is found by the lookup, and what was not stays open: nothing is sent again.
    let before = post.control.ledger(&[]).await.unwrap();
    stage.state.engine.reconcile_due().await.unwrap();
    for line in &before {
        let id = line["key"].as_str().unwrap();
        let view = view(&stage, id).await;
        assert_eq!(view["status"], "succeeded", "{line:?}");
        if line["id"].as_str() != view["external_reference"].as_str() {
            assert_eq!(view["external_reference"], line["message_id"], "a reply without an id");
        }
    }
    assert_eq!(post.control.ledger(&[]).await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_delivered_after_its_worker_gave_up_is_one_mail() {
    let post = Post::open().await;
    let smtp = post.control.smtp_url().await.unwrap();
    let stage = stage(&smtp, Some(post.control.url())).await;
    let late = u64::try_from(CALL_DEADLINE_MS).unwrap() + 500;
    let rule = Rule::once(Mode::Slow { ms: late });
    post.control.add(EffectKind::Mail.provider(), rule).await.unwrap();
    let (id, view) = send(&stage, &spring("rcp-1")).await;
    assert_eq!((view["status"].as_str(), post.mails(&id).await.len()), (Some("unknown"), 0));
    eventually("the mail after its worker gave up", LIMIT, async || {
        post.mails(&id).await.len() == 1
    })
    .await;
    stage.state.engine.reconcile_due().await.unwrap();
    assert_eq!(self::view(&stage, &id).await["status"], "succeeded");
    assert_eq!(post.mails(&id).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_lookup_a_person_must_decide() {
    let post = Post::open().await;
    let stage = stage(&post.control.smtp_url().await.unwrap(), None).await;
    let rule = Rule::once(Mode::ApplyDrop);
    post.control.add(EffectKind::Mail.provider(), rule).await.unwrap();
    let (id, _) = send(&stage, &spring("rcp-1")).await;
    stage.state.engine.reconcile_due().await.unwrap();
    let view = view(&stage, &id).await;
    assert_eq!((&view["status"], &view["needs_manual"]), (&json!("unknown"), &json!(true)));
    assert_eq!(post.mails(&id).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_writes_no_headers_and_makes_no_second_mail() {
    let post = Post::open().await;
    let smtp = post.control.smtp_url().await.unwrap();
    let stage = stage(&smtp, Some(post.control.url())).await;
    let (usual, _) = send(&stage, &spring("rcp-1")).await;
    let usual = post.mails(&usual).await.remove(0);
    let evil = "x\r\nBcc: evil@x.test\r\n\r\n.\r\nMAIL FROM:<evil@x.test>\r\n";
    let payload = json!({
        "campaign_id": evil, "recipient_id": evil, "to": "rcp-2@people.test",
        "subject": evil, "text": format!("{evil}.\r\n..\r\n.leading dots"),
    });
    let (id, view) = send(&stage, &payload).await;
    assert_eq!(view["status"], "succeeded");
    let mut mails = post.mails(&id).await;
    assert_eq!((mails.len(), post.control.ledger(&[]).await.unwrap().len()), (1, 2));
    let mail = mails.remove(0);
    assert_eq!(mail["headers"].as_array().map(Vec::len), usual["headers"].as_array().map(Vec::len));
    assert_eq!(mail["campaign_id"], evil, "what was said arrives as it was said");
    assert_eq!(mail["to"], "rcp-2@people.test");
    for to in ["a@b.test>\r\nRCPT TO:<evil@x.test", "a@b.test\r\nBcc: evil@x.test", "A <a@b.test>"]
    {
        let payload = json!({ "campaign_id": "c", "recipient_id": "r", "to": to });
        let (id, view) = send(&stage, &payload).await;
        assert_eq!(view["status"], "failed_terminal", "{to:?}");
        assert!(post.mails(&id).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_beaten_on_while_its_mail_is_under_way() {
    let post = Post::open().await;
    let stage = stage(&post.control.smtp_url().await.unwrap(), None).await;
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    // A beat is a third of the lease: two fall into the time that the call may take.
    let kind = KindPolicy { call_deadline_ms: 2_500, lease_ms: 3_000, ..mails() };
    admin.put_kind(tenant, &kind).await.unwrap();
    post.control.add(EffectKind::Mail.provider(), Rule::always(Mode::Hang)).await.unwrap();
    let id = queue(&stage, &spring("rcp-1")).await;
    let mut worker = Worker::new(&stage.state.engine, 4).unwrap();
    worker.claim_some().await.unwrap();
    let until = async || -> Option<DateTime<Utc>> {
        sqlx::query_scalar("select lease_until from leases where operation_id = $1::uuid")
            .bind(&id)
            .fetch_one(stage.database.owner_pool())
            .await
            .unwrap()
    };
    let granted = until().await.unwrap();
    eventually("the lease is renewed", Duration::from_secs(10), async || {
        until().await.is_some_and(|until| until > granted)
    })
    .await;
    assert_eq!(worker.drain(LIMIT).await, 0);
    assert_eq!(view(&stage, &id).await["status"], "unknown");
}

/// A server that greets and then answers each command with the next line; at its end it hangs up.
async fn scripted(replies: &'static [&'static str]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        for (number, reply) in replies.iter().enumerate() {
            let mut line = String::new();
            // The greeting comes unasked; the message ends with a dot.
            while number > 0 && line != ".\r\n" {
                line.clear();
                if stream.read_line(&mut line).await.unwrap() == 0 {
                    return;
                }
                if !replies[number - 1].starts_with("354") {
                    break;
                }
            }
            stream.get_mut().write_all(format!("{reply}\r\n").as_bytes()).await.unwrap();
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_byte_of_the_message_is_the_line_between_nothing_and_nobody_knows() {
    const OK: &str = "250 Ok";
    let script: [(&str, &'static [&'static str], &str); 12] = [
        ("hangs up at once", &[], "failed_retryable"),
        ("no service today", &["554 no service"], "failed_retryable"),
        ("hangs up after EHLO", &["220 hi", OK], "failed_retryable"),
        ("sender refused", &["220 hi", OK, "550 no"], "failed_terminal"),
        ("sender deferred", &["220 hi", OK, "451 later"], "failed_retryable"),
        ("recipient refused", &["220 hi", OK, OK, "550 no"], "failed_terminal"),
        ("recipient deferred", &["220 hi", OK, OK, "450 later"], "failed_retryable"),
        ("DATA refused", &["220 hi", OK, OK, OK, "554 no"], "failed_terminal"),
        ("hangs up at DATA", &["220 hi", OK, OK, OK], "failed_retryable"),
        ("hangs up after the message", &["220 hi", OK, OK, OK, "354 go"], "unknown"),
        ("message refused", &["220 hi", OK, OK, OK, "354 go", "550 no"], "unknown"),
        ("taken without an id", &["220 hi", OK, OK, OK, "354 go", "250 fine"], "succeeded"),
    ];
    for (what, replies, status) in script {
        let address = scripted(replies).await;
        let stage = stage(&format!("smtp://{address}"), None).await;
        let (id, view) = send(&stage, &spring("rcp-1")).await;
        assert_eq!(view["status"], status, "{what}: {view}");
        if status == "succeeded" {
            assert_eq!(view["external_reference"], format!("<{id}@acme.test>"));
        }
    }
    // Nobody listens: refused before anything could be written.
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let stage = stage(&format!("smtp://{nobody}"), None).await;
    let (_, view) = send(&stage, &spring("rcp-1")).await;
    assert_eq!(view["status"], "failed_retryable");
}
