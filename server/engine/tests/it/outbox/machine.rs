//! The rules here and in the database are one table.

use domain::outbox::EventStatus;

use crate::{fixture::Fixture, machines::same_rules};

#[tokio::test]
async fn the_database_knows_the_same_moves_of_an_event() {
    same_rules::<EventStatus>(&Fixture::new().await).await;
}
