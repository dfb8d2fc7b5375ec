//! Messages: any number of deliveries, one effect (I12), and nothing lost that failed or came late.

mod failures;
mod lists;
mod receive;
mod shrink;
mod source;
pub mod staff;
mod webhooks;
mod workflows;

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::{ids::TenantId, inbox::InboxState};
use engine::{
    EngineError, ReceiveMessage, Received, identity::Admin, store::inbox_consumer::ConsumerPolicy,
};

use crate::{fixture::Fixture, machines::same_rules};

pub const CHARGE: &str = r#"{"operation":{"operation":"invoice.charge"}}"#;
pub const PAYLOAD: &str = r#"{"invoice_id":"INV-1","amount_minor":12900,"currency":"EUR"}"#;
pub const DAY: Duration = Duration::from_secs(86_400);

impl Fixture {
    pub async fn now(&self) -> DateTime<Utc> {
        sqlx::query_scalar("select onceover_now()").fetch_one(self.pool()).await.unwrap()
    }

    /// A message made now, which asks for a charge.
    pub async fn message(&self, id: &str) -> ReceiveMessage {
        ReceiveMessage {
            consumer: "billing".into(),
            source: "orders".into(),
            message_id: id.into(),
            produced_at: self.now().await,
            payload: PAYLOAD.into(),
            then: Some(CHARGE.into()),
        }
    }

    pub async fn receive(&self, message: &ReceiveMessage) -> Result<Received, EngineError> {
        self.engine.receive_message(&self.service, message.clone()).await
    }

    /// Delivers a message and expects it to end in a state.
    pub async fn expect(&self, message: &ReceiveMessage, state: InboxState) -> Received {
        let received = self.receive(message).await.unwrap();
        assert_eq!(received.state, state, "{received:?}");
        received
    }

    pub async fn put_consumer(&self, change: impl FnOnce(&mut ConsumerPolicy)) {
        let mut policy = ConsumerPolicy::of_default("billing");
        change(&mut policy);
        let mut admin = Admin::connect(&self.db.url()).await.unwrap();
        admin.put_inbox_consumer(self.tenant(), &policy).await.unwrap();
    }

    pub fn tenant(&self) -> TenantId {
        self.service.tenant_id()
    }

    /// Operations of services: the effects.
    pub async fn operations(&self) -> i64 {
        self.count("select count(*) from operations where not console").await
    }

    pub async fn messages(&self) -> i64 {
        self.count("select count(*) from inbox").await
    }

    /// A message older than what its consumer remembers.
    pub async fn quarantined(&self, id: &str) -> Received {
        let mut message = self.message(id).await;
        message.produced_at -= 8 * DAY;
        self.expect(&message, InboxState::Quarantined).await
    }
}

#[tokio::test]
async fn the_rules_of_messages_are_those_of_the_database() {
    same_rules::<InboxState>(&Fixture::new().await).await;
}
