//! Those who may approve are told by mail through the outbox: who asks for what, and where to look.

use std::time::Duration;

use axum::http::StatusCode;
use domain::access::Role;
use engine::{identity::NewStaff, outbox::Relay};
use serde_json::json;
use testkit::eventually;

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
