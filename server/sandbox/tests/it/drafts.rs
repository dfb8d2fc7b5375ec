//! The model's stand-in: the same words for the same prompt, and every call counted.

use sandbox::EffectKind;
use serde_json::{Value, json};

use crate::support::{DEADLINE, Folder, Running};

async fn draft(sandbox: &Running, key: &str, body: &Value) -> Vec<u8> {
    let call = sandbox.provider.call(EffectKind::Draft, key, body, DEADLINE).await;
    call.answer.expect("an answer").body
}

fn word(answer: &[u8], name: &str) -> Value {
    serde_json::from_slice::<Value>(answer).expect("JSON")[name].clone()
}

#[tokio::test]
async fn asked_again_the_model_says_the_same_and_the_ledger_counts_both() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let body = json!({ "draft_id": "DRF-1", "topic": "renewal" });
    let first = draft(&sandbox, "op-1", &body).await;
    assert_eq!(draft(&sandbox, "op-1", &body).await, first, "byte for byte");
    assert_eq!(sandbox.ledger("key", "op-1").await.len(), 2);
    assert_eq!(sandbox.get("/drafts?key=op-1").await.1["count"], json!(2));
    sandbox.stop().await;
}

#[tokio::test]
async fn the_words_hang_on_the_prompt_and_on_nothing_else() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let body = json!({ "draft_id": "DRF-1", "topic": "renewal" });
    let first = draft(&sandbox, "op-1", &body).await;
    let other_key = draft(&sandbox, "op-2", &body).await;
    for name in ["subject", "text", "prompt_sha256"] {
        assert_eq!(word(&first, name), word(&other_key, name), "{name}");
    }
    assert_ne!(word(&first, "id"), word(&other_key, "id"), "two operations, two drafts");
    let other = draft(&sandbox, "op-3", &json!({ "draft_id": "DRF-1", "topic": "welcome" })).await;
    assert_ne!(word(&first, "prompt_sha256"), word(&other, "prompt_sha256"));
    let prompt = word(&first, "prompt_sha256");
    let prompt = prompt.as_str().expect("a digest");
    assert_eq!(sandbox.ledger("prompt_sha256", prompt).await.len(), 2, "calls for one prompt");
    assert_eq!(sandbox.ledger("draft_id", "DRF-1").await.len(), 3);
    sandbox.stop().await;

    // Another process with the same seed is the same model.
    let elsewhere = Folder::new();
    let again = Running::start(&elsewhere).await;
    assert_eq!(draft(&again, "op-1", &body).await, first);
    again.stop().await;
}
