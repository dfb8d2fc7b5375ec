//! SIGKILL in the middle of a bulk: the server that decides its rows dies, another takes the bulk up, and
//! each row is one decision with one receipt and one audit row, whichever of the two took it.

use std::time::Duration;

use domain::{
    action::{Subject, TargetType, Verb},
    bulk::BulkList,
    ids::BulkId,
};
use engine::{ActionRequest, FreezeRequest, bulk::FrozenSet};
use sandbox::providers::Mode;
use sqlx::Executor as _;
use testkit::eventually;
use uuid::Uuid;

use crate::{
    effects::PAST_LEASE,
    kills::Point,
    scene::{LIMIT, Scene},
    seed,
    waiting::ended,
};

/// Records of one bulk: more than a point is passed before it acts.
const ROWS: usize = 4;

/// Rows that were not decided, or not once.
const NOT_ONCE: &str = "select count(*) from bulk_rows r where r.standing <> 'done'
   or 1 <> (select count(*) from operations o
     where o.tenant_id = r.tenant_id and o.id = r.receipt and o.console and o.operation = 'console.reconcile')
   or 1 <> (select count(*) from audit a where a.tenant_id = r.tenant_id and a.target_id = r.target_id::text)
   or 1 <> (select count(*) from audit a where a.tenant_id = r.tenant_id and a.receipt = r.receipt
     and a.result = 'done' and a.after ->> 'bulk' = r.bulk_id::text)";

pub async fn kill(scene: &Scene, point: Point, asked: u64) {
    let mut rng = seed::of(&point.label());
    let report = scene.report(&point.label());
    scene.mode(Mode::ApplyDrop).await;
    for _ in 0..asked {
        let (_, order) = point.order(&mut rng);
        let mut records = Vec::new();
        for _ in 0..ROWS {
            records.push(scene.queue(&mut rng).await.id.uuid());
        }
        // The answers are lost, and machines ask about none before a person does.
        scene.round_of_calls().await;
        nobody_asks(scene, &records).await;
        let id = started(scene, records).await;
        let before = scene.providers.ledger(&[]).await.unwrap();
        let here = ("ONCEOVER_ADDR", "127.0.0.1:0");
        let orders = [("CRASH_AT", order.as_str()), ("CRASH_REPORT", &report), here];
        let (mut server, _) = scene.process(&["serve"], "ready: ", &orders);
        assert!(ended(&mut server, Duration::from_secs(10)).await, "nobody died at {order}");
        assert_eq!(status(scene, id).await, "running", "{order}");
        // What the dead one held comes back by its time.
        scene.database.advance_clock(PAST_LEASE).await;
        let (next, _) = scene.process(&["serve"], "ready: ", &[here]);
        eventually("the bulk is over", LIMIT, async || status(scene, id).await == "over").await;
        assert_eq!(next.stop(), Some(0));
        assert_eq!(scene.count(NOT_ONCE).await, 0, "{order}: a row is not one decision");
        let after = scene.providers.ledger(&[]).await.unwrap();
        assert_eq!(after, before, "{order}: a look does nothing");
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own transaction, which nobody gives up")]
async fn nobody_asks(scene: &Scene, records: &[Uuid]) {
    let mut tx = scene.database.owner_pool().begin().await.unwrap();
    tx.execute("set local session_replication_role = replica").await.unwrap();
    let later = "update operations set next_reconcile_at = onceover_now() + interval '1 day' where id = any($1)";
    sqlx::query(later).bind(records).execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
}

/// A set that was frozen, looked at and started, by this process, which nobody kills.
async fn started(scene: &Scene, records: Vec<Uuid>) -> BulkId {
    let (engine, by) = (&scene.engine, &scene.operator);
    let request = FreezeRequest {
        list: BulkList::Operations,
        verb: Verb::Reconcile,
        set: FrozenSet::Picked(records),
    };
    let id = engine.freeze(by, request).await.unwrap().id;
    while engine.advance_bulks().await.unwrap().handled > 0 {}
    let version = engine.bulk(by, id).await.unwrap().row.version;
    let target = Subject::new(TargetType::Bulk, id.to_string());
    let start = ActionRequest::new(target, Verb::Run, version, "the provider answers again");
    engine.act(by, start).await.unwrap().done().unwrap();
    id
}

async fn status(scene: &Scene, id: BulkId) -> String {
    let read = sqlx::query_scalar("select status from bulks where id = $1").bind(id.uuid());
    read.fetch_one(scene.database.owner_pool()).await.unwrap()
}
