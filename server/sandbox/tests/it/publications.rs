//! What the public sees of a document, after publications and their withdrawals (I3).

use sandbox::{
    EffectKind,
    client::Outcome,
    providers::{Mode, Modes, Rule},
};
use serde_json::{Value, json};

use crate::support::{DEADLINE, Folder, Running};

async fn publish(sandbox: &Running, key: &str, version: u32) -> String {
    let body = json!({ "document_id": "DOC-1", "version": version });
    let call = sandbox.provider.call(EffectKind::Publication, key, &body, DEADLINE).await;
    assert_eq!(call.outcome, Outcome::Done);
    call.reference.expect("a publication has an id")
}

async fn withdraw(sandbox: &Running, key: &str, version: u32, reference: &str) -> Outcome {
    let body =
        json!({ "document_id": "DOC-1", "version": version, "publication_reference": reference });
    sandbox.provider.call(EffectKind::Unpublication, key, &body, DEADLINE).await.outcome
}

async fn visible(sandbox: &Running) -> Value {
    sandbox.get("/publications/visible?document_id=DOC-1").await.1["version"].clone()
}

#[tokio::test]
async fn the_newest_publication_that_stands_is_what_the_public_sees() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let answer = sandbox.get("/publications/visible?document_id=DOC-1").await;
    assert_eq!((answer.0, &answer.1["visible"]), (200, &json!(false)));
    let first = publish(&sandbox, "op-1", 1).await;
    let second = publish(&sandbox, "op-2", 2).await;
    assert_eq!(visible(&sandbox).await, json!(2));
    assert_eq!(withdraw(&sandbox, "op-3", 2, &second).await, Outcome::Done);
    assert_eq!(visible(&sandbox).await, json!(1), "the one before shows again");
    // The same withdrawal again is the same one, and takes nothing else back.
    assert_eq!(withdraw(&sandbox, "op-3", 2, &second).await, Outcome::Done);
    assert_eq!(sandbox.ledger("kind", "unpublication").await.len(), 1);
    assert_eq!(sandbox.ledger("publication_reference", &second).await.len(), 1);
    sandbox.stop().await;

    let again = Running::start(&folder).await;
    assert_eq!(visible(&again).await, json!(1), "over a restart");
    assert_eq!(withdraw(&again, "op-4", 1, &first).await, Outcome::Done);
    assert_eq!(visible(&again).await, Value::Null);
    assert_eq!(again.get("/publications/visible").await.0, 400);
    again.stop().await;
}

#[tokio::test]
async fn a_withdrawal_whose_reply_is_lost_still_took_the_document_down() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let reference = publish(&sandbox, "op-1", 1).await;
    let rule = Rule { times: Some(1), ..Rule::always(Mode::ApplyDrop) };
    sandbox.rules(&Modes::one(EffectKind::Unpublication.provider(), rule)).await;
    assert_eq!(withdraw(&sandbox, "op-2", 1, &reference).await, Outcome::Ambiguous);
    assert_eq!(visible(&sandbox).await, Value::Null);
    let (status, found) = sandbox.get("/publications/withdrawals?key=op-2").await;
    assert_eq!((status, &found["publication_reference"]), (200, &json!(reference)));
    sandbox.stop().await;
}

#[tokio::test]
async fn a_publication_made_twice_is_still_seen_after_one_withdrawal() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    sandbox
        .rules(&Modes::one(EffectKind::Publication.provider(), Rule::always(Mode::NoKeys)))
        .await;
    let first = publish(&sandbox, "op-1", 1).await;
    let twin = publish(&sandbox, "op-1", 1).await;
    assert_ne!(first, twin);
    withdraw(&sandbox, "op-2", 1, &first).await;
    assert_eq!(visible(&sandbox).await, json!(1), "the double effect shows");
    sandbox.stop().await;
}
