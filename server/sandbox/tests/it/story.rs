//! The story: the same for the same seed, played once, true to the ledger.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use sandbox::{
    client::Api,
    story::{MARKED_INVOICE, plan, play},
};
use serde_json::json;

use crate::{
    engine_double::EngineDouble,
    support::{Folder, Running, eventually},
};

fn tokens() -> BTreeMap<String, String> {
    ["acme", "globex"]
        .into_iter()
        .map(|tenant| (tenant.to_owned(), format!("token-{tenant}")))
        .collect()
}

#[test]
fn the_same_seed_tells_the_same_story() {
    assert_eq!(plan(7), plan(7));
    assert_ne!(plan(7), plan(8));
}

#[test]
fn the_marked_invoice_is_in_every_story() {
    for seed in 0..20 {
        let marked: Vec<_> = plan(seed)
            .into_iter()
            .filter(|episode| episode.job.key == "charge:INV-2026-0042")
            .collect();
        assert_eq!(marked.len(), 1);
        assert_eq!((marked[0].tenant, marked[0].job.amount_minor), ("acme", Some(12_900)));
        assert_eq!(marked[0].job.currency.as_deref(), Some("EUR"));
    }
}

#[tokio::test]
async fn the_story_plays_in_seconds_and_once() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let (url, engine) = EngineDouble::start().await;
    let api = Api::new(&url, tokens()).expect("a client");

    let begun = Instant::now();
    let report = play(&api, &sandbox.control, 7).await.expect("the story is told");
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert!(report.surprises.is_empty(), "{:?}", report.surprises);
    assert_eq!(report.played.len(), plan(7).len());
    let results = report.results();
    for (result, least) in [
        ("done", 10),
        ("ambiguous", 8),
        ("rejected", 3),
        ("not_done", 1),
        ("died", 2),
        ("queued", 2),
    ] {
        assert!(results.get(result).is_some_and(|count| *count >= least), "{result}: {results:?}");
    }
    let followups: Vec<_> =
        report.played.iter().flat_map(|played| played.performed.followups.clone()).collect();
    for word in ["replayed", "key_reused", "operation_in_progress"] {
        assert!(followups.iter().any(|followup| followup == word), "{word}: {followups:?}");
    }

    // 129.00 EUR are gone from the customer, the service does not know, and the provider will not say.
    let charged = sandbox.ledger("invoice_id", MARKED_INVOICE).await;
    assert_eq!(charged.len(), 1);
    assert_eq!(
        (&charged[0]["amount_minor"], &charged[0]["currency"]),
        (&json!(12_900), &json!("EUR"))
    );
    let row = engine.row("acme", "charge:INV-2026-0042");
    assert_eq!(row.status, "ambiguous");
    assert_eq!(sandbox.get(&format!("/payments/charges?key={}", row.id)).await.0, 501);
    assert_eq!(engine.row("acme", "mail:été-2026:rcp-0001").status, "done");

    // The slow charge lands after its caller left.
    eventually("the slow charge", async || {
        (sandbox.ledger("invoice_id", "INV-2026-0050").await.len() == 1).then_some(())
    })
    .await;
    // Told again, nothing happens again.
    let before = sandbox.control.ledger(&[("kind", "charge")]).await.expect("the ledger").len();
    let again = play(&api, &sandbox.control, 7).await.expect("the story is told again");
    assert!(again.played.len() <= 4, "what died or is queued answers anew: {:?}", again.played);
    assert_eq!(
        sandbox.control.ledger(&[("kind", "charge")]).await.expect("the ledger").len(),
        before
    );
    sandbox.stop().await;
}
