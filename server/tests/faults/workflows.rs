//! SIGKILL within workflows (R11): mail, charge, publish, one after the other. Killed before a step,
//! between its effect and its checkpoint, between checkpoints, and before the end, each step's
//! effect happens once, in order, and every workflow completes. Sales, which are undone, are
//! `undoing`'s.
//!
//! Definitions are code, so the process to kill is this test program itself, run as a child: the
//! engine's background with the definitions below.

use std::time::Duration;

use engine::{
    Engine,
    workflows::{Begun, Definition, Step},
};
use serde_json::json;
use testkit::eventually;
use tokio::sync::watch;

use crate::{
    effects::{Effect, PAST_LEASE},
    invariants::{Violation, times},
    kills::Point,
    processes::Process,
    scene::{Asked, LIMIT, Scene, settings},
    seed,
    waiting::ended,
};

const ORDER: &str = "order";
pub const SALE: &str = "sale";

/// One after the other, each about the subject that the workflow's input names.
pub fn definitions() -> Vec<Definition> {
    let step = |effect: Effect| {
        Step::operation(effect.kind().operation(), move |context| {
            let subject = context.required("/subject")?;
            Ok(match effect {
                Effect::Mail => json!({ "campaign_id": "spring", "recipient_id": subject }),
                Effect::Charge => {
                    json!({ "invoice_id": subject, "amount_minor": 12_900, "currency": "EUR" })
                }
                Effect::Publication => json!({ "document_id": subject, "version": "1" }),
            })
        })
    };
    let order = Definition::of(ORDER, 1)
        .step("mail", step(Effect::Mail))
        .step("charge", step(Effect::Charge).after(&["mail"]))
        .step("publish", step(Effect::Publication).after(&["charge"]));
    let sale = Definition::of(SALE, 1)
        .step("charge", step(Effect::Charge))
        .step("publish", step(Effect::Publication).after(&["charge"]))
        .step("mail", step(Effect::Mail).after(&["publish"]));
    vec![order.build().unwrap(), sale.build().unwrap()]
}

/// The child: everything in the background, and workflows' turns more often than in production.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by the suite, as a process to kill"]
async fn child() {
    let (Ok(url), Ok(endpoints)) =
        (std::env::var("FAULT_CHILD"), std::env::var("ONCEOVER_PROVIDERS"))
    else {
        return;
    };
    let engine = Engine::connect(settings(&url, &endpoints, "child")).await.unwrap();
    println!("\nworking: child");
    let turns = engine.clone();
    tokio::spawn(async move {
        loop {
            let _ = turns.advance_workflows().await;
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    });
    let (_stop, stopped) = watch::channel(false);
    server::background::run(engine, stopped, Duration::from_secs(1)).await;
}

/// The child, with the order to die.
pub fn worker(scene: &Scene, order: &str, report: &str) -> Process {
    let url = scene.database.url();
    let program = std::env::current_exe().unwrap();
    let environment = [
        ("FAULT_CHILD", url.as_str()),
        ("ONCEOVER_PROVIDERS", &scene.endpoints),
        ("CRASH_AT", order),
        ("CRASH_REPORT", report),
    ];
    let arguments = ["workflows::child", "--exact", "--ignored", "--nocapture"];
    Process::start_program(program.to_str().unwrap(), &arguments, &environment, "working: ").0
}

pub async fn kill(scene: &Scene, point: Point, asked: u64) {
    let mut rng = seed::of(point.name);
    let report = scene.report(point.name);
    let mut subjects = 0;
    for _ in 0..asked {
        let (nth, order) = point.order(&mut rng);
        for _ in 0..nth {
            subjects += 1;
            let subject = format!("{}-{subjects}", scene.name);
            let input = json!({ "subject": subject }).to_string().into_bytes();
            let begun =
                scene.engine.start_workflow(&scene.service, ORDER, &subject, &input).await.unwrap();
            assert!(matches!(begun, Begun::Fresh(_)));
        }
        let mut child = worker(scene, &order, &report);
        assert!(ended(&mut child, LIMIT).await, "{}: nobody died at {order}", point.name);
        scene.database.advance_clock(PAST_LEASE).await;
    }
    eventually("every workflow is over", LIMIT, async || {
        scene.database.advance_clock(PAST_LEASE).await;
        let turns = scene.engine.advance_workflows().await.unwrap().handled;
        let open = "select count(*) from workflows where status not in ('completed', 'compensated', 'failed')";
        scene.round().await + turns == 0 && scene.count(open).await == 0
    })
    .await;
}

/// I13 and W7: each step once, in order, and the workflow completed; of a sale each step at most
/// once, and the workflow compensated.
pub async fn judge(scene: &Scene, found: &mut Vec<Violation>) {
    let ledger = scene.providers.ledger(&[]).await.unwrap();
    let flows: Vec<(String, String, String)> =
        sqlx::query_as("select kind, key, status from workflows")
            .fetch_all(scene.database.owner_pool())
            .await
            .unwrap();
    for (kind, subject, status) in flows {
        let is_order = kind == ORDER;
        let place = |effect: Effect| ledger.iter().position(|line| effect.is_in(line, &subject));
        for effect in Effect::ALL {
            let asked = Asked {
                id: domain::ids::OperationId::new(uuid::Uuid::nil()),
                effect,
                subject: subject.clone(),
            };
            match times(&ledger, &asked) {
                0 if is_order || effect == Effect::Charge => found.push(Violation {
                    invariant: "loss",
                    what: format!("{status} {subject}: no {effect:?}"),
                }),
                0 | 1 => {}
                more => found.push(Violation {
                    invariant: "double",
                    what: format!("{subject}: {effect:?} {more} times"),
                }),
            }
        }
        let in_order = !is_order
            || place(Effect::Mail) < place(Effect::Charge)
                && place(Effect::Charge) < place(Effect::Publication);
        if status != if is_order { "completed" } else { "compensated" } || !in_order {
            let what = format!("{subject} is {status}, its steps in order: {in_order}");
            found.push(Violation { invariant: "I13 each step once, in order", what });
        }
    }
}
