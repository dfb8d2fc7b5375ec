//! What is tried with each scene once it is quiet: that all its events arrive (I11), that a message
//! that comes often acts once (I12), and that keys stay closed after their time (I19).

use std::time::Duration;

use domain::{ids::OperationId, inbox::InboxState, problem::Code};
use engine::{Admission, Engine, EngineError, ReceiveMessage, Received, Settings, outbox::Relay};
use testkit::eventually;

use crate::{
    console::requeue_dead,
    effects::{Effect, PAST_LEASE, RETENTION_MS},
    invariants::{Violation, times},
    scene::{Asked, LIMIT, Scene, settings},
};

/// Deliveries of one message at once, of two processes.
const DELIVERIES: usize = 4;
/// Replays of keys whose contents are gone.
const REPLAYS: usize = 5;

const TWICE: &str = "I12 many deliveries, one effect";
const CLOSED: &str = "I19 old keys stay closed";

/// What must not be left once everything that was due for it has expired.
pub const EXPIRED: &[(&str, &str)] = &[
    (
        CLOSED,
        "select id::text || ' has not expired' from operations
         where expires_at < onceover_now() and tombstoned_at is null
           and not operation_is_pointed_at(tenant_id, id, workflow_id)",
    ),
    (
        CLOSED,
        "select id::text || ' keeps contents' from operations
         where tombstoned_at is not null
           and (payload is not null or response_body is not null or response_type is not null)
         union all select operation_id::text || ' keeps search terms' from operation_terms
           join operations o on (o.tenant_id, o.id) = (operation_terms.tenant_id, operation_id)
           where o.tombstoned_at is not null
         union all select operation_id::text || ' keeps another payload' from payload_conflicts c
           join operations o on (o.tenant_id, o.id) = (c.tenant_id, c.operation_id)
           where o.tombstoned_at is not null and c.payload is not null
         union all select operation_id::text || ' keeps evidence' from evidence e
           join operations o on (o.tenant_id, o.id) = (e.tenant_id, e.operation_id)
           where o.tombstoned_at is not null and e.text is not null
         union all select operation_id::text || ' keeps notes' from notes n
           join operations o on (o.tenant_id, o.id) = (n.tenant_id, n.operation_id)
           where o.tombstoned_at is not null and n.text <> ''",
    ),
    (
        CLOSED,
        "select o.id::text || ' expired, and must not' from operations o join operation_kinds k
           on (k.tenant_id, k.name) = (o.tenant_id, o.operation)
         where o.tombstoned_at is not null
           and (o.status not in ('succeeded', 'failed_terminal') or k.money or k.publication)",
    ),
];

/// I11, I12 and I19.
pub async fn try_all(scene: &Scene, found: &mut Vec<Violation>) {
    let first = deliver_often(scene, found).await;
    tell_all(scene).await;
    scene.consumer.judge(scene, found).await;
    let before = scene.providers.ledger(&[]).await.unwrap().len();
    let retention = Duration::from_millis(RETENTION_MS.unsigned_abs());
    scene.database.advance_clock(retention + PAST_LEASE).await;
    while scene.engine.expire_due().await.unwrap().handled > 0 {}
    ask_for_what_expired(scene, found).await;
    deliver_late(scene, first, found).await;
    scene.settle().await;
    let after = scene.providers.ledger(&[]).await.unwrap().len();
    if after != before {
        let what = format!("{} effects came of keys and messages of old", after - before);
        found.push(Violation { invariant: "double", what });
    }
}

/// A publisher that nobody kills, until all is told. An event that ended twelve publishers in a row is
/// dead (X7b): a person has it told again.
async fn tell_all(scene: &Scene) {
    let all = Settings {
        destinations: vec![scene.consumer.destination()],
        ..settings(&scene.database.url(), &scene.endpoints, "the teller")
    };
    let engine = Engine::connect(all).await.unwrap();
    let mut relay = Relay::new(&engine).unwrap();
    // The consumer writes each event to its disk before it answers: thousands take their time.
    eventually("all is told", LIMIT * 20, async || {
        engine.release_lapsed_events().await.unwrap();
        // One round: a look at what may have become the head of its aggregate.
        relay.claim_some().await.unwrap();
        relay.drain().await;
        const LEFT: &str = "select count(*) from outbox where status <> 'published'";
        const DUE: &str = "select count(*) from aggregates
            where not blocked and head_seq < next_seq and next_at <= onceover_now()";
        if scene.count(LEFT).await == 0 {
            return true;
        }
        requeue_dead(scene).await;
        if scene.count(DUE).await == 0 {
            scene.database.advance_clock(PAST_LEASE).await;
        }
        false
    })
    .await;
}

/// A message that starts a mail.
async fn message(scene: &Scene, id: &str, produced_at: &'static str) -> (Asked, ReceiveMessage) {
    let subject = format!("{}-{id}", scene.name);
    let asked = Asked { id: OperationId::new(uuid::Uuid::nil()), effect: Effect::Mail, subject };
    let request = asked.effect.request(&asked.subject, false);
    let payload = String::from_utf8(request.payload).unwrap();
    let produced_at =
        sqlx::query_scalar(produced_at).fetch_one(scene.database.owner_pool()).await.unwrap();
    let message = ReceiveMessage {
        consumer: "mails".into(),
        source: "queue".into(),
        message_id: asked.subject.clone(),
        produced_at,
        then: Some(
            format!(r#"{{"operation":{{"operation":"{}"}}}}"#, request.operation).into_bytes(),
        ),
        payload: payload.into_bytes(),
    };
    (asked, message)
}

/// I12, at once and again: of all deliveries one is the first, and the mail goes out once.
async fn deliver_often(scene: &Scene, found: &mut Vec<Violation>) -> (Asked, ReceiveMessage) {
    let (mut asked, message) = message(scene, "delivered", "select onceover_now()").await;
    let another = settings(&scene.database.url(), &scene.endpoints, "another process");
    let another = Engine::connect(another).await.unwrap();
    let mut deliveries = Vec::new();
    for n in 0..DELIVERIES {
        let engine = if n % 2 == 0 { scene.engine.clone() } else { another.clone() };
        let (service, message) = (scene.service.clone(), message.clone());
        deliveries
            .push(tokio::spawn(async move { engine.receive_message(&service, message).await }));
    }
    let mut all: Vec<Received> = Vec::new();
    for delivery in deliveries {
        all.push(delivery.await.unwrap().unwrap());
    }
    scene.settle().await;
    // Whoever had it delivered began again since.
    all.push(another.receive_message(&scene.service, message.clone()).await.unwrap());
    let firsts = all.iter().filter(|one| one.first).count();
    let same = all
        .iter()
        .all(|one| one.operation_id == all[0].operation_id && one.state == InboxState::Processed);
    if firsts != 1 || !same || all[0].operation_id.is_none() {
        found.push(Violation {
            invariant: TWICE,
            what: format!("{firsts} were the first: {all:?}"),
        });
    }
    if let Some(id) = all[0].operation_id {
        asked.id = id;
    }
    let ledger = scene.providers.ledger(&[]).await.unwrap();
    match times(&ledger, &asked) {
        1 => {}
        0 => found.push(Violation { invariant: "loss", what: format!("{asked:?} of a message") }),
        more => {
            let what = format!("{asked:?} of a message, {more} times");
            found.push(Violation { invariant: "double", what });
        }
    }
    (asked, message)
}

/// I12, past the window: what is on record is known, also as a bare id, and what is not is put aside.
async fn deliver_late(
    scene: &Scene,
    (asked, known): (Asked, ReceiveMessage),
    found: &mut Vec<Violation>,
) {
    let (_, mut unknown) =
        message(scene, "late", "select onceover_now() - interval '30 days'").await;
    unknown.message_id.push_str("-late");
    for shrunk in [false, true] {
        if shrunk {
            while scene.engine.shrink_inbox().await.unwrap().handled > 0 {}
        }
        let again = scene.engine.receive_message(&scene.service, known.clone()).await.unwrap();
        if again.first || again.operation_id != Some(asked.id) {
            let what = format!("past its window, shrunk: {shrunk}: {again:?}");
            found.push(Violation { invariant: TWICE, what });
        }
        let late = scene.engine.receive_message(&scene.service, unknown.clone()).await;
        let put_aside = match &late {
            Ok(late) => late.state == InboxState::Quarantined && late.operation_id.is_none(),
            Err(_) => false,
        };
        if !put_aside {
            found.push(Violation { invariant: TWICE, what: format!("unknown and late: {late:?}") });
        }
    }
}

/// I19: the same question gets 410, another one 422, and nothing runs.
async fn ask_for_what_expired(scene: &Scene, found: &mut Vec<Violation>) {
    const GONE: &str =
        "select count(*) from operations where id = $1 and tombstoned_at is not null";
    let mut replays = 0;
    for asked in scene.all_asked().iter().rev().filter(|asked| asked.effect == Effect::Mail) {
        let gone: i64 = sqlx::query_scalar(GONE)
            .bind(asked.id.uuid())
            .fetch_one(scene.database.owner_pool())
            .await
            .unwrap();
        // What a person still has to look at stays as it is.
        if gone == 0 || replays == REPLAYS {
            continue;
        }
        replays += 1;
        let ask = |other| {
            scene.engine.reserve(&scene.service, asked.effect.request(&asked.subject, other))
        };
        let (same, other) = (ask(false).await, ask(true).await);
        let is_closed = matches!(&same, Ok(Admission::Tombstoned { id, .. }) if *id == asked.id)
            && matches!(&other, Err(EngineError::Refused(refused)) if refused.code == Code::KeyReused);
        if !is_closed {
            let what = format!("{asked:?}: {same:?}, and another payload {other:?}");
            found.push(Violation { invariant: CLOSED, what });
        }
    }
}
