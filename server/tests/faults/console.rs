//! SIGKILL within a person's decision (R01): the server dies at C1 to C6; the same decision again is
//! carried out once, with one receipt and one audit row.

use std::time::Duration;

use domain::{
    action::{Outcome, Subject, TargetType, Verb},
    ids::OperationId,
    listing::EventFilter,
    outbox::EventStatus,
};
use engine::ActionRequest;
use sandbox::providers::Mode;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    kills::Point,
    scene::{Asked, Scene},
    seed,
    waiting::ended,
};

/// A confirmation of what the provider's ledger shows.
pub async fn confirmation(scene: &Scene, id: OperationId) -> ActionRequest {
    let version = scene.engine.operation_for_service(&scene.service, id).await.unwrap().version;
    let ledger = scene.providers.ledger(&[("key", &id.to_string())]).await.unwrap();
    ActionRequest {
        outcome: Some(Outcome::Happened),
        external_reference: Some(ledger[0]["id"].as_str().unwrap().to_owned()),
        evidence: Some("https://provider.example/list".into()),
        ..ActionRequest::new(id, Verb::Confirm, version, "the provider's own list shows it")
    }
}

/// A person has every dead event told again (X8).
pub async fn requeue_dead(scene: &Scene) {
    let dead = EventFilter { status: Some(EventStatus::Dead), ..EventFilter::default() };
    for event in scene.engine.list_events(&scene.operator, &dead).await.unwrap().items {
        let target = Subject::new(TargetType::Outbox, event.id.to_string());
        let request =
            ActionRequest::new(target, Verb::Requeue, event.version, "the publishers are well");
        scene.engine.act(&scene.operator, request).await.unwrap();
    }
}

/// The same decision by the JSON API; `false` where no answer came.
async fn post(scene: &Scene, address: &str, id: OperationId, request: &ActionRequest) -> bool {
    let body = json!({
        "version": request.version,
        "reason": request.reason,
        "outcome": "happened",
        "external_reference": request.external_reference,
        "evidence": request.evidence,
    })
    .to_string();
    let head = format!(
        "POST /api/v1/operations/{}/actions/confirm HTTP/1.1\r\nhost: {address}\r\n\
         authorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        id,
        scene.operator_token,
        body.len()
    );
    let Ok(mut stream) = TcpStream::connect(address).await else { return false };
    if stream.write_all(head.as_bytes()).await.is_err() {
        return false;
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    if answer.is_empty() {
        return false;
    }
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    true
}

pub async fn kill(scene: &Scene, point: Point, asked: u64) {
    let mut rng = seed::of(point.name);
    let report = scene.report(point.name);
    scene.mode(Mode::ApplyDrop).await;
    for _ in 0..asked {
        let (nth, order) = point.order(&mut rng);
        let mut decided: Vec<Asked> = Vec::new();
        for _ in 0..nth {
            decided.push(scene.queue(&mut rng).await);
        }
        // The answers are lost and there is nobody to ask: a person decides.
        scene.round_of_calls().await;
        scene.engine.reconcile_due().await.unwrap();
        let orders = [
            ("CRASH_AT", order.as_str()),
            ("CRASH_REPORT", &report),
            ("ONCEOVER_ADDR", "127.0.0.1:0"),
        ];
        let (mut server, url) = scene.process(&["serve", "--no-workers"], "ready: ", &orders);
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let mut left = None;
        for asked in &decided {
            let request = confirmation(scene, asked.id).await;
            if !post(scene, &address, asked.id, &request).await {
                left = Some((asked.id, request));
                break;
            }
        }
        let (id, left) = left.unwrap_or_else(|| panic!("{}: nobody died at {order}", point.name));
        assert!(ended(&mut server, Duration::from_secs(10)).await, "{}", point.name);
        // The person tries again, twice: one decision, one receipt.
        let decide =
            async || scene.engine.act(&scene.operator, left.clone()).await.unwrap().done().unwrap();
        let (first, again) = (decide().await, decide().await);
        assert!(
            again.replayed && first.receipt == again.receipt,
            "{}: another receipt",
            point.name
        );
        assert_eq!(first.replayed, point.name == "C6", "{}: done before only at C6", point.name);
        assert_eq!(scene.status(id).await, "succeeded");
    }
}
