//! The sample services: they live with an engine that comes late, and stop at once.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use sandbox::services::{Config, STOP_GRACE, run};
use tokio::sync::watch;

use crate::{
    engine_double::EngineDouble,
    support::{Folder, Running, eventually},
};

fn config(folder: &Folder, api: &str, sandbox: &str) -> Config {
    let tokens: BTreeMap<_, _> = ["acme", "globex"]
        .into_iter()
        .map(|tenant| (tenant.to_owned(), format!("token-{tenant}")))
        .collect();
    let mut config =
        Config::new(api.to_owned(), sandbox.to_owned(), tokens, 7, folder.path().join("services"));
    config.every = Duration::from_millis(5);
    config
}

#[tokio::test]
async fn every_effect_of_the_traffic_stands_once_in_the_ledger() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let (url, engine) = EngineDouble::start().await;
    let (stop, stopped) = watch::channel(false);
    let mut config = config(&folder, &url, &sandbox.url);
    config.claim = true;
    let services = tokio::spawn(run(config, stopped));
    eventually("work of both tenants, queued work included", async || {
        let rows = engine.rows();
        let both = ["acme", "globex"]
            .iter()
            .all(|tenant| rows.iter().filter(|row| row.tenant == *tenant).count() > 60);
        let queued_done =
            rows.iter().any(|row| row.body["mode"] == "queued" && !row.finishes.is_empty());
        (both && queued_done).then_some(())
    })
    .await;
    stop.send_replace(true);
    services.await.expect("no panic").expect("the services end well");
    for row in engine.rows() {
        assert!(row.finishes.len() <= 1, "finished once: {row:?}");
        let effects = sandbox.ledger("key", &row.id).await.len();
        let told =
            row.finishes.first().and_then(|finish| finish["outcome"].as_str()).unwrap_or("nothing");
        match told {
            "done" => assert_eq!(effects, 1, "{row:?}"),
            "rejected" | "not_done" => assert_eq!(effects, 0, "{row:?}"),
            _ => assert!(effects <= 1, "{row:?}"),
        }
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn without_an_engine_the_services_wait_and_still_stop() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let (stop, stopped) = watch::channel(false);
    // Port 9 answers nobody.
    let services = tokio::spawn(run(config(&folder, "http://127.0.0.1:9", &sandbox.url), stopped));
    tokio::task::yield_now().await;
    assert!(!services.is_finished());
    let begun = Instant::now();
    stop.send_replace(true);
    services.await.expect("no panic").expect("the services end well");
    assert!(begun.elapsed() < STOP_GRACE + Duration::from_secs(1));
    assert!(sandbox.control.ledger(&[]).await.expect("the ledger").is_empty());
    sandbox.stop().await;
}

#[tokio::test]
async fn a_restart_goes_on_where_it_stopped() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let (url, engine) = EngineDouble::start().await;
    let (mut lived, mut repeated) = (0, 0);
    for _ in 0..2 {
        let (stop, stopped) = watch::channel(false);
        let services = tokio::spawn(run(config(&folder, &url, &sandbox.url), stopped));
        eventually("new work", async || (engine.rows().len() > lived + 40).then_some(())).await;
        stop.send_replace(true);
        services.await.expect("no panic").expect("the services end well");
        let repeats = engine.repeats() - repeated;
        assert!(
            repeats < engine.rows().len() / 3,
            "the story does not begin again: {repeats} repeats"
        );
        (lived, repeated) = (engine.rows().len(), engine.repeats());
    }
    sandbox.stop().await;
}
