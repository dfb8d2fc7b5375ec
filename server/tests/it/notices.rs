//! Those who may approve, and those whom the configuration names, are told by mail through the outbox:
//! who asks for what, what needs a person, and where to look.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::http::StatusCode;
use domain::access::Role;
use engine::{identity::NewStaff, outbox::Relay};
use serde_json::json;
use testkit::eventually;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

use crate::{mail::Post, support::Stage};

const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_a_second_person_is_one_mail_to_each_who_may_approve_and_to_no_other_tenant()
{
    let post = Post::open().await;
    let smtp = post.control.smtp_url().await.unwrap();
    let destination = format!("approvers={smtp}?from=onceover@acme.test");
    let stage = Stage::open_with(&[
        ("ONCEOVER_DESTINATIONS", &destination),
        ("ONCEOVER_DESTINATION_TOPICS", "approvers=approval.requested"),
        ("ONCEOVER_DESTINATION_TENANTS", "approvers=acme"),
    ])
    .await;
    for (email, tenant_slug) in
        [("second@acme.test", "acme"), ("gil@globex.test", "globex"), ("gus@globex.test", "globex")]
    {
        let new = NewStaff {
            email,
            name: "Sam",
            password_hash: "kept",
            tenant_slug,
            role: Role::Approver,
        };
        stage.admin().await.add_staff(&new).await.unwrap();
    }
    for (tenant, by) in [("acme", "operator@acme.test"), ("globex", "operator@globex.test")] {
        let target = stage.unknown(tenant, "INV-1").await;
        stage.database.advance_clock(Duration::from_secs(20)).await;
        let denied = json!({
            "version": target.version, "outcome": "not_happened_stop", "reason": "it never arrived",
        });
        let path = format!("/operations/{}/actions/confirm", target.id);
        let asked = stage.staff(by).await.post(&path, &denied).await;
        asked.expect(StatusCode::ACCEPTED);
    }
    let mut relay = Relay::new(&stage.state.engine).unwrap();
    eventually("the request is told", LIMIT, async || {
        relay.claim_some().await.unwrap();
        relay.drain().await;
        post.control.ledger(&[]).await.unwrap().len() >= 2
    })
    .await;
    relay.claim_some().await.unwrap();
    relay.drain().await;
    let mails = post.control.ledger(&[]).await.unwrap();
    let mut readers: Vec<_> =
        mails.iter().map(|mail| mail["recipient_id"].as_str().unwrap().to_owned()).collect();
    readers.sort();
    assert_eq!(readers, ["approver@acme.test", "second@acme.test"]);
    let event: String = sqlx::query_scalar(
        "select id::text from outbox where topic = 'approval.requested' and status = 'published'",
    )
    .fetch_one(stage.database.owner_pool())
    .await
    .unwrap();
    for mail in &mails {
        assert_eq!(mail["key"], json!(event), "the Message-ID is the event's");
        let subject = mail["subject"].as_str().unwrap();
        assert!(subject.contains("confirm invoice.charge INV-1"), "{subject}");
    }
}

/// A mail server that takes everything and keeps each message as it came.
#[derive(Clone, Default)]
struct Mailbox(Arc<Mutex<Vec<String>>>);

impl Mailbox {
    async fn open() -> (Self, SocketAddr) {
        let mailbox = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kept = mailbox.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(kept.clone().take(stream));
            }
        });
        (mailbox, address)
    }

    /// One connection, until its other end leaves.
    async fn take(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        let mut message = None;
        let mut reply = "220 hi";
        loop {
            if !reply.is_empty() {
                stream.get_mut().write_all(format!("{reply}\r\n").as_bytes()).await.unwrap();
            }
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap_or_default() == 0 {
                return;
            }
            reply = match (&mut message, line.trim_end()) {
                (Some(whole), ".") => {
                    self.0.lock().unwrap().push(std::mem::take(whole));
                    message = None;
                    "250 Ok"
                }
                (Some(whole), text) => {
                    *whole += text;
                    *whole += "\n";
                    ""
                }
                (None, "DATA") => {
                    message = Some(String::new());
                    "354 go"
                }
                (None, _) => "250 Ok",
            };
        }
    }

    /// The messages about a topic.
    fn about(&self, topic: &str) -> Vec<String> {
        let header = format!("Onceover-Topic: {topic}\n");
        let all = self.0.lock().unwrap();
        all.iter().filter(|mail| mail.contains(&header)).cloned().collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_person_and_an_incident_are_mails_to_those_on_call_with_the_way_there() {
    let (mailbox, address) = Mailbox::open().await;
    let destination =
        format!("oncall=smtp://{address}?from=onceover@acme.test&to=oncall@acme.test");
    let stage = Stage::open_with(&[
        ("ONCEOVER_DESTINATIONS", &destination),
        // What became unknown goes before what needs a person: the events of one record keep their order.
        (
            "ONCEOVER_DESTINATION_TOPICS",
            "oncall=operation.unknown,oncall=needs_manual,oncall=incident.opened",
        ),
    ])
    .await;
    let target = stage.unknown("acme", "INV-1").await;
    stage.state.engine.reconcile_due().await.unwrap();
    let incident = uuid::Uuid::now_v7();
    let open = json!({
        "id": incident,
        "summary": "A charge without an answer",
        "reason": "the provider was down",
        "records": [format!("operation/{}", target.id)],
    });
    let operator = stage.staff("operator@acme.test").await;
    operator.post("/incidents", &open).await.expect(StatusCode::OK);
    let mut relay = Relay::new(&stage.state.engine).unwrap();
    eventually("both are told", LIMIT, async || {
        relay.claim_some().await.unwrap();
        relay.drain().await;
        ["needs_manual", "incident.opened"].iter().all(|topic| !mailbox.about(topic).is_empty())
    })
    .await;
    relay.claim_some().await.unwrap();
    relay.drain().await;
    for (topic, subject, said, link) in [
        (
            "needs_manual",
            "A person is needed: invoice.charge INV-1",
            "Amount at stake: 129.00 EUR.",
            format!("/operations/{}", target.id),
        ),
        (
            "incident.opened",
            "A person opened an incident",
            "A charge without an answer",
            format!("/incidents/{incident}"),
        ),
    ] {
        let mails = mailbox.about(topic);
        assert_eq!(mails.len(), 1, "{topic}: {mails:?}");
        for part in [
            format!("Subject: {subject}\n"),
            "To: oncall@acme.test\n".to_owned(),
            said.to_owned(),
            format!("http://127.0.0.1:3000{link}\n"),
            "Tenant acme".to_owned(),
        ] {
            assert!(mails[0].contains(&part), "{topic}: {part:?} is missing: {}", mails[0]);
        }
    }
}
