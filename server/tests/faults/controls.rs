//! Controls: with one guard left out the same scenes, from the same seeds, must show doubles, or the
//! suite sees nothing. Each runs twice, with the guard and without.
//!
//! Guards stand one behind the other, and the provider's memory of keys is the last: where an
//! inner one is left out, the provider's is too, in both runs.

use std::time::{Duration, Instant};

use engine::Admission;
use sandbox::{
    Provider,
    providers::{Mode, Rule},
};
use testkit::{Fault, Proxy, Upstream, eventually};

use crate::{
    effects::{Effect, PAST_LEASE},
    invariants::times,
    report::say,
    scene::{Asked, LIMIT, Scene, endpoints},
    seed,
    waiting::{ended, until},
};

/// Operations per control.
const TIMES: usize = 5;

/// Every control.
///
/// # Panics
/// Where a guard is in place and there are doubles, or it is not and there are none.
pub async fn all() {
    judge("take-over straight back to run", take_over(false).await, take_over(true).await);
    judge("unique index dropped", unique_index(false).await, unique_index(true).await);
    judge("fence guard off", fence(false).await, fence(true).await);
    judge("provider keys off", provider_keys(false).await, provider_keys(true).await);
}

fn judge(control: &str, guarded: usize, off: usize) {
    say(&format!("control {control}: doubles with the guard {guarded}, without {off}"));
    assert_eq!(guarded, 0, "{control}: doubles with every guard in place");
    assert!(off > 0, "{control}: the suite does not see what happens without the guard");
}

async fn doubles(scene: &Scene) -> usize {
    let ledger = scene.providers.ledger(&[]).await.unwrap();
    scene.all_asked().iter().filter(|asked| times(&ledger, asked) > 1).count()
}

async fn without_keys(scene: &Scene) {
    scene.mode(Mode::NoKeys).await;
}

/// A worker dies with the answer in hand; a sweep that knows no better gives its work out again.
async fn take_over(naive: bool) -> usize {
    let scene = Scene::open("control-takeover", true).await;
    let mut rng = seed::of("control-takeover");
    without_keys(&scene).await;
    for _ in 0..TIMES {
        scene.queue(&mut rng).await;
        let mut worker = scene.worker(&[("CRASH_AT", "P3:nth=1")]);
        assert!(ended(&mut worker, Duration::from_secs(10)).await);
        scene.database.advance_clock(PAST_LEASE).await;
        if naive {
            back_to_run(&scene).await;
        }
    }
    scene.settle().await;
    doubles(&scene).await
}

/// What D18 forbids, and the database's own guard with it.
async fn back_to_run(scene: &Scene) {
    let mut tx = scene.database.owner_pool().acquire().await.unwrap();
    for sql in [
        "set session_replication_role = replica",
        "with moved as (update operations set status = 'reserved', version = version + 1, fence = fence + 1
           where status = 'executing' returning tenant_id, id)
         delete from leases l using moved
         where (l.tenant_id, l.operation_id) = (moved.tenant_id, moved.id)",
        "set session_replication_role = origin",
    ] {
        sqlx::query(sql).execute(&mut *tx).await.unwrap();
    }
}

/// The same request twice. In the index's place stands one under which no two keys are equal, so
/// that the statement that names it still parses.
async fn unique_index(dropped: bool) -> usize {
    let scene = Scene::open("control-unique", true).await;
    if dropped {
        let sql = "alter table operations drop constraint operations_key_uniq;
            create function never_equal(a text, b text) returns int language sql immutable
              as 'select case when a < b then -1 else 1 end';
            create function never(a text, b text) returns bool language sql immutable as 'select false';
            create operator === (leftarg = text, rightarg = text, function = never);
            create operator class never_equal_ops for type text using btree as
              operator 1 <, operator 2 <=, operator 3 ===, operator 4 >=, operator 5 >,
              function 1 never_equal(text, text);
            create unique index operations_key_uniq
              on operations (tenant_id, operation never_equal_ops, key never_equal_ops);";
        sqlx::raw_sql(sql).execute(scene.database.owner_pool()).await.unwrap();
    }
    let mut rng = seed::of("control-unique");
    for _ in 0..TIMES {
        let asked = scene.queue(&mut rng).await;
        let again = asked.effect.request(&asked.subject, false);
        let again = scene.engine.reserve(&scene.service, again).await.unwrap();
        assert_eq!(matches!(again, Admission::Queued { .. }), dropped, "{again:?}");
    }
    scene.settle().await;
    doubles(&scene).await
}

/// A former owner's *not done* meets the call of the next one, which is under way.
async fn fence(off: bool) -> usize {
    let scene = Scene::open("control-fence", true).await;
    let control = ("FAULT_CONTROL", if off { "fence" } else { "" });
    // The former owner does not reach the provider: what it says late is *not done*.
    let address = scene.providers.url().trim_start_matches("http://").parse().unwrap();
    let proxy = Proxy::start(Upstream::Tcp(address)).await;
    proxy.set(Fault::Refuse);
    let nowhere = endpoints(&format!("http://{}", proxy.address()));
    for turn in 0..TIMES {
        // Who forgets keys cannot be asked by them: the provider forgets once it was asked.
        scene.providers.clear().await.unwrap();
        let asked = charge(&scene, turn).await;
        let former =
            scene.worker(&[("PAUSE_AT", "L2:nth=1"), ("ONCEOVER_PROVIDERS", &nowhere), control]);
        assert!(until(LIMIT, || former.is_stopped()).await);
        // It never called: proven absent, and free to be tried again.
        for _ in 0..60 {
            if scene.status(asked.id).await == "failed_retryable" {
                break;
            }
            scene.database.advance_clock(PAST_LEASE).await;
            scene.engine.take_over_expired().await.unwrap();
            scene.engine.reconcile_due().await.unwrap();
        }
        let page = scene.engine.operation(&scene.operator, asked.id).await.unwrap();
        let moves: Vec<_> = page.timeline.iter().map(|item| item.rule.as_str()).collect();
        assert_eq!(page.row.status.as_str(), "failed_retryable", "turn {turn}: {moves:?}");
        without_keys(&scene).await;
        let slow = Rule::once(Mode::Slow { ms: 4_000 });
        scene.providers.add(Provider::Payments, slow).await.unwrap();
        scene.database.advance_clock(PAST_LEASE).await;
        let next = scene.worker(&[control]);
        eventually("the next owner calls", LIMIT, async || {
            scene.status(asked.id).await == "executing"
        })
        .await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        former.wake();
        // Without the guard it may also end in doubt, once the slow answer comes too late.
        let mut moves = Vec::new();
        let over = async || {
            let page = scene.engine.operation(&scene.operator, asked.id).await.unwrap();
            moves = page.timeline.iter().map(|item| item.rule.clone()).collect();
            matches!(page.row.status.as_str(), "succeeded" | "unknown")
        };
        assert!(in_time(over).await, "turn {turn}: {moves:?}");
        former.kill();
        // The slow call is applied, whoever waits for it.
        assert_eq!(next.stop(), Some(0));
    }
    scene.settle().await;
    doubles(&scene).await
}

async fn in_time(mut holds: impl AsyncFnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        if holds().await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

/// A worker is stopped after its last look at the lease; what it sends when it wakes up, no fence
/// of ours can stop (D15).
async fn provider_keys(off: bool) -> usize {
    let scene = Scene::open("control-keys", true).await;
    for turn in 0..TIMES {
        scene.providers.clear().await.unwrap();
        let asked = charge(&scene, turn).await;
        let former = scene.worker(&[("PAUSE_AT", "P1:nth=1")]);
        assert!(until(LIMIT, || former.is_stopped()).await);
        scene.settle().await;
        assert_eq!(scene.status(asked.id).await, "succeeded");
        if off {
            without_keys(&scene).await;
        }
        former.wake();
        eventually("its late answer is kept", LIMIT, async || {
            let late = "select count(distinct operation_id) from evidence where source = 'worker'";
            scene.count(late).await == turn as i64 + 1
        })
        .await;
        former.kill();
    }
    doubles(&scene).await
}

async fn charge(scene: &Scene, turn: usize) -> Asked {
    let subject = format!("{}-{turn}", scene.name);
    let request = Effect::Charge.request(&subject, false);
    let Admission::Queued { id } = scene.engine.reserve(&scene.service, request).await.unwrap()
    else {
        panic!()
    };
    let asked = Asked { id, effect: Effect::Charge, subject };
    scene.asked.lock().unwrap().push(asked.clone());
    asked
}
