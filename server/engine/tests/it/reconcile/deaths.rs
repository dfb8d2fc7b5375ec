//! Reconcilers that die within their turn: the turn is lost and nothing else, and a question that kills
//! whoever asks it is asked a bounded number of times (I18).

use super::*;

/// A reconciler in a process of its own, as far as its tasks go: it ends between two of their steps.
fn mortal(scene: &Scene) -> tokio::runtime::Runtime {
    let settings = engine::Settings {
        providers: vec![engine::ProviderEndpoint {
            name: "payments.charges".into(),
            url: scene.stub.url.clone(),
            lookup_url: None,
        }],
        worker_name: "w-dies".into(),
        ..scene.fixture.engine.settings().clone()
    };
    let started = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.spawn(async move {
            Engine::connect(settings).await.unwrap().reconcile_due().await.unwrap();
        });
        runtime
    });
    started.join().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_kills_whoever_asks_it_is_asked_a_bounded_number_of_times() {
    let scene = Scene::new(looked_up(), charged(12_900)).await;
    let id = scene.unknown("k").await;
    let (_go, never) = watch::channel(false);
    scene.stub.answer(move |_| Reply::When(never.clone(), 200, "{}".into()));
    for died in 1..=3 {
        let runtime = mortal(&scene);
        eventually("it is being asked", LIMIT, async || scene.stub.seen().len() == died).await;
        runtime.shutdown_background();
        scene.fixture.db.advance_clock(NEXT_TURN).await;
    }
    assert!(!scene.needs_person(id).await);
    scene.engine.reconcile_due().await.unwrap();
    assert!(scene.needs_person(id).await, "I18: the next one leaves it to a person");
    assert_eq!(scene.stub.seen().len(), 3, "as often as the kind allows questions");
    assert_eq!(scene.fixture.status(id).await, "unknown");
    assert_eq!(scene.said("select reconcile_tries::bigint from operations").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_between_the_answer_and_its_write_loses_nothing_but_the_turn() {
    let scene = Scene::new(looked_up(), charged(12_900)).await;
    let id = scene.unknown("k").await;
    // The row is locked before the provider answers, so the write of the answer waits.
    let pool = scene.fixture.pool().clone();
    let (go, gone) = watch::channel(false);
    let answer = r#"{"id":"ch_1","amount_minor":12900,"currency":"EUR"}"#;
    scene.stub.answer(move |_| Reply::When(gone.clone(), 200, answer.into()));
    let runtime = mortal(&scene);
    eventually("it is being asked", LIMIT, async || !scene.stub.seen().is_empty()).await;
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("select 1 from operations where id = $1 for update")
        .bind(id.uuid())
        .execute(&mut *tx)
        .await
        .unwrap();
    go.send_replace(true);
    eventually("the answer is about to be written", LIMIT, async || {
        scene.said("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'w-dies'").await > 0
    })
    .await;
    runtime.shutdown_background();
    tx.rollback().await.unwrap();
    assert_eq!(scene.fixture.status(id).await, "unknown");
    scene.engine.reconcile_due().await.unwrap();
    assert_eq!(scene.stub.seen().len(), 1, "the turn is still the dead one's");
    scene.fixture.db.advance_clock(Duration::from_secs(16)).await;
    scene.engine.reconcile_due().await.unwrap();
    assert_eq!(scene.fixture.status(id).await, "succeeded");
    assert_eq!(scene.said("select count(*) from operation_events where move = 'O16'").await, 1);
}
