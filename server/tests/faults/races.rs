//! A person, the provider's webhook and the reconciler at once (R13): one settles it, the others
//! agree or are told, and every refusal is on record.

use domain::problem::Code;
use engine::{EngineError, WebhookTaken};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sandbox::providers::Mode;
use serde_json::json;
use sha2::Sha256;

use crate::{
    console::confirmation,
    effects::Effect,
    invariants::invariants,
    report::{Tally, say},
    scene::{Asked, SECRET, Scene},
    seed,
};

/// A signed message of the provider about an effect.
async fn webhook(
    scene: &Scene,
    asked: &Asked,
    reference: &str,
) -> Result<WebhookTaken, EngineError> {
    let at: i64 = sqlx::query_scalar("select extract(epoch from onceover_now())::bigint")
        .fetch_one(scene.database.owner_pool())
        .await
        .unwrap();
    let body = json!({
        "id": format!("evt_{}", asked.subject),
        "type": "charge.succeeded",
        "provider_key": asked.id,
        "reference": reference,
        "amount_minor": 12_900,
        "currency": "EUR",
        "invoice_id": asked.subject,
    })
    .to_string();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("{at}.{body}").as_bytes());
    let signature = format!("t={at},v1={}", hex::encode(mac.finalize().into_bytes()));
    scene.engine.provider_webhook("acme", "payments", &signature, body.as_bytes()).await
}

/// As many races as asked.
///
/// # Panics
/// Where two settled one, or a loser was not told.
pub async fn race(asked: usize) -> Tally {
    let scene = Scene::open("race", true).await;
    let mut rng = seed::of("race");
    scene.mode(Mode::ApplyDrop).await;
    let (mut person, mut proof, mut raced) = (0, 0, 0);
    while raced < asked {
        let mut batch = Vec::new();
        while batch.len() < 16 {
            let asked = scene.queue(&mut rng).await;
            if asked.effect == Effect::Charge {
                batch.push(asked);
            }
        }
        scene.round_of_calls().await;
        for asked in batch {
            let decision = confirmation(&scene, asked.id).await;
            let reference = decision.external_reference.clone().unwrap();
            let (acted, told, looked) = tokio::join!(
                scene.engine.act(&scene.operator, decision),
                webhook(&scene, &asked, &reference),
                scene.engine.reconcile_due(),
            );
            looked.unwrap();
            told.unwrap();
            match acted {
                Ok(acted) => {
                    assert!(!acted.done().unwrap().replayed);
                    person += 1;
                }
                Err(EngineError::Refused(refusal)) => {
                    assert!(
                        matches!(refusal.code, Code::Stale | Code::NotAllowedInState),
                        "{refusal:?}"
                    );
                    proof += 1;
                }
                Err(error) => panic!("{error:?}"),
            }
            assert_eq!(scene.status(asked.id).await, "succeeded");
            raced += 1;
        }
    }
    scene.quiet().await;
    let settled = scene
        .count(
            "select count(*) from (select operation_id from operation_events
               where from_status = 'unknown' and to_status = 'succeeded'
               group by operation_id having count(*) > 1) twice",
        )
        .await;
    assert_eq!(settled, 0, "each was settled once");
    let audited = scene.count("select count(*) from audit where action = 'confirm'").await;
    assert_eq!(usize::try_from(audited).unwrap(), raced, "one row per decision or refusal");
    say(&format!("race: {raced} races, a person won {person}, proof won {proof}"));
    let tally = Tally::of(0, scene.all_asked().len(), invariants(&scene).await);
    tally.tell("race", "");
    tally
}
