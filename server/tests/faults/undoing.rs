//! SIGKILL within compensation (R12, F31): charge, publish, then a mail or the publication itself is
//! rejected, so that what happened is undone. Killed between the undo's reservation and its commit
//! (W4), at every point of the undo's own call, and before the end, each undo happens once, in the
//! reverse order, and the workflow ends compensated.

use engine::workflows::Begun;
use rand::{RngExt as _, rngs::StdRng};
use sandbox::{
    EffectKind,
    providers::{Match, Mode, Rule},
};
use serde_json::json;
use testkit::eventually;

use crate::{
    effects::{Effect, PAST_LEASE},
    kills::Point,
    scene::{LIMIT, Scene},
    seed,
    waiting::ended,
    workflows::{SALE, worker},
};

pub async fn kill(scene: &Scene, point: Point, asked: u64) {
    let mut rng = seed::of(&point.label());
    let report = scene.report(&point.label());
    let mut sales = 0;
    for _ in 0..asked {
        let (nth, order) = point.order(&mut rng);
        scene.providers.clear().await.unwrap();
        for _ in 0..=nth {
            sales += 1;
            begin(scene, &format!("{}-{sales}", scene.name), &mut rng).await;
        }
        until_undone(scene).await;
        trouble(scene, point, &mut rng).await;
        let mut child = worker(scene, &order, &report);
        assert!(ended(&mut child, LIMIT).await, "{}: nobody died at {order}", point.label());
        scene.database.advance_clock(PAST_LEASE).await;
    }
    scene.providers.clear().await.unwrap();
    eventually("every workflow is over", LIMIT, async || {
        scene.database.advance_clock(PAST_LEASE).await;
        let mut handled = scene.engine.advance_workflows().await.unwrap().handled;
        handled += scene.engine.unwind_due().await.unwrap().handled;
        handled += scene.round().await;
        handled == 0
            && scene.count("select count(*) from workflows where completed_at is null").await == 0
    })
    .await;
}

/// A sale whose last step, or the one before it, will be rejected.
async fn begin(scene: &Scene, subject: &str, rng: &mut StdRng) {
    let fails = [EffectKind::Mail, EffectKind::Publication][rng.random_range(0..2)];
    let rejected = Rule::always(Mode::Reject { code: "not_taken".into() });
    scene.providers.add(fails.provider(), rejected.for_reference(fails, subject)).await.unwrap();
    let input = json!({ "subject": subject }).to_string().into_bytes();
    let begun = scene.engine.start_workflow(&scene.service, SALE, subject, &input).await.unwrap();
    assert!(matches!(begun, Begun::Fresh(_)));
}

/// Forward, until each sale has failed and is to be undone; nothing is undone here.
async fn until_undone(scene: &Scene) {
    eventually("every sale is to be undone", LIMIT, async || {
        scene.database.advance_clock(PAST_LEASE).await;
        scene.engine.advance_workflows().await.unwrap();
        scene.round().await;
        let forward = "select count(*) from workflows where status in ('running', 'waiting')";
        scene.count(forward).await == 0
    })
    .await;
}

/// What the undos meet: what the point needs to be reached, or now and then an answer that says
/// nothing.
async fn trouble(scene: &Scene, point: Point, rng: &mut StdRng) {
    match point.name {
        // The call must be under way for the point to be within it, whichever moment that is.
        "P2" => scene.mode(Mode::Slow { ms: 80 }).await,
        // The first undos are in doubt before the reconciler that dies is started.
        "K1" | "K2" => {
            scene.mode(Mode::ApplyDrop).await;
            scene.engine.unwind_due().await.unwrap();
            scene.round_of_calls().await;
            scene.database.advance_clock(PAST_LEASE).await;
        }
        _ => {
            let modes = [Mode::Apply500, Mode::Fail500, Mode::ApplyDrop];
            if rng.random_range(0..3) == 0 {
                let mode = modes[rng.random_range(0..modes.len())].clone();
                let kind = [EffectKind::Refund, EffectKind::Unpublication][rng.random_range(0..2)];
                let matches = Match { kind: Some(kind), ..Match::default() };
                let rule = Rule { matches, ..Rule::once(mode) };
                scene.providers.add(kind.provider(), rule).await.unwrap();
            }
        }
    }
}

/// The kinds by which what these workflows did is undone.
pub const fn undo_of(effect: Effect) -> Option<(EffectKind, &'static str)> {
    match effect {
        Effect::Charge => Some((EffectKind::Refund, "charge_reference")),
        Effect::Publication => Some((EffectKind::Unpublication, "publication_reference")),
        Effect::Mail => None,
    }
}
