//! What the first page says of the queues, and of a queue chosen from them; what it draws of outcomes
//! and ages; and how what works for people is.

use axum::http::StatusCode;
use engine::background::{ProcessBeat, TaskStatus};
use serde_json::json;

use crate::{
    pages_records::{has, says},
    support::Stage,
};

#[tokio::test]
async fn a_conflict_of_an_ended_operation_is_told_and_asks_for_nobody() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let won = service.reserve("INV-1", 12_900).await;
    won.expect(StatusCode::CREATED);
    let (id, fence) = (won.json()["id"].as_str().unwrap().to_owned(), won.json()["fence"].clone());
    let at = |call: &str| format!("/operations/{id}/{call}");
    service.post(&at("start"), &json!({ "fence": fence })).await.expect(StatusCode::OK);
    let done = |reference: &str| json!({ "fence": fence, "outcome": "done", "external_reference": reference });
    service.post(&at("finish"), &done("ch_1")).await.expect(StatusCode::OK);
    service.reserve("INV-1", 1).await.expect(StatusCode::UNPROCESSABLE_ENTITY);

    let viewer = stage.browser("viewer@acme.test").await;
    let queue = "/?cause=payload_conflict";
    let page = viewer.get(queue).await.markup();
    assert!(page.contains(&format!("/operations/{id}")), "{page}");
    assert!(!page.contains("person-dot") && !page.contains("at stake"), "{page}");
    has(&says(&viewer, queue).await, &["greatest amount first, currencies taken as equal"]);

    service.post(&at("finish"), &done("ch_2")).await.expect(StatusCode::ACCEPTED);
    let page = viewer.get(queue).await.markup();
    assert!(page.contains("person-dot"), "{page}");
    has(&says(&viewer, queue).await, &["129.00 EUR at stake"]);
}

#[tokio::test]
async fn an_empty_queue_does_not_say_that_nothing_waits_anywhere() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    service.reserve("INV-1", 12_900).await.expect(StatusCode::CREATED);
    service.reserve("INV-1", 1).await.expect(StatusCode::UNPROCESSABLE_ENTITY);
    let viewer = stage.browser("viewer@acme.test").await;
    let page = says(&viewer, "/?cause=dead_event").await;
    has(&page, &["Nothing waits in this queue.", "Look at all queues", "Failed undos"]);
    assert!(!page.contains("Nothing waits for a person."), "{page}");
    assert!(!says(&viewer, "/").await.contains("Nothing waits"));
}

/// An operation whose call ended so.
async fn ended(stage: &Stage, key: &str, outcome: &str) {
    let service = stage.service("acme").await;
    let won = service.reserve(key, 12_900).await;
    won.expect(StatusCode::CREATED);
    let (id, fence) = (won.json()["id"].as_str().unwrap().to_owned(), won.json()["fence"].clone());
    let at = |call: &str| format!("/operations/{id}/{call}");
    service.post(&at("start"), &json!({ "fence": fence })).await.expect(StatusCode::OK);
    let mut finish = json!({ "fence": fence, "outcome": outcome });
    if outcome == "done" {
        finish["external_reference"] = json!("ch_1");
    }
    service.post(&at("finish"), &finish).await.expect(StatusCode::OK);
}

/// A section of a page, by the id of its heading.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let rest = page.split_once(&format!("aria-labelledby=\"{id}\"")).unwrap().1;
    rest.split_once("</section>").unwrap().0
}

/// The rows of a section's table, without its head.
fn body_rows(section: &str) -> Vec<&str> {
    let body = section.split_once("<tbody>").unwrap().1.split_once("</tbody>").unwrap().0;
    body.split("<tr>").skip(1).collect()
}

#[tokio::test]
async fn outcomes_and_ages_are_drawn_and_stand_in_tables() {
    let stage = Stage::open().await;
    let viewer = stage.browser("viewer@acme.test").await;
    let page = viewer.get("/").await.markup();
    assert!(page.contains("In the last 24 hours 0 succeeded, 0 failed, 0 became unknown."));
    assert!(
        !section(&page, "outcomes").contains("chart-bar"),
        "nothing happened, nothing is drawn"
    );
    assert!(section(&page, "ageing").contains("No outcome is unknown now."));

    for (key, outcome) in [("INV-1", "done"), ("INV-2", "rejected"), ("INV-3", "ambiguous")] {
        ended(&stage, key, outcome).await;
    }
    while stage.state.engine.fold_outcomes().await.unwrap().handled > 0 {}
    let page = viewer.get("/").await.markup();
    let outcomes = section(&page, "outcomes");
    assert!(
        outcomes.contains(
            "aria-label=\"In the last 24 hours 1 succeeded, 1 failed, 1 became unknown.\""
        ),
        "{outcomes}"
    );
    let drawing = outcomes.split_once("<svg").unwrap().1.split_once("</svg>").unwrap().0;
    for status in ["succeeded", "failed_terminal", "unknown"] {
        let bar = format!("data-status=\"{status}\"");
        assert_eq!(drawing.matches(&bar).count(), 1, "{status}: {drawing}");
    }
    let hours = body_rows(outcomes);
    assert_eq!(hours.len(), 24, "an hour each, those without anything too");
    let filled: Vec<_> = hours.iter().filter(|row| row.contains(">1<")).collect();
    assert!((1..=3).contains(&filled.len()), "{filled:?}");
    assert_eq!(filled.iter().map(|row| row.matches(">1<").count()).sum::<usize>(), 3);
    has(&says(&viewer, "/").await, &["1 succeeded", "1 failed", "1 became unknown"]);

    let ages = body_rows(section(&page, "ageing"));
    assert_eq!(ages.len(), 6);
    assert!(
        ages[0].contains("less than 5 min") && ages[0].contains("width=\"100.0\""),
        "{}",
        ages[0]
    );
    assert_eq!(ages[0].matches("<span class=\"num\">1</span>").count(), 1, "machines still ask");
    assert!(ages[1..].iter().all(|row| !row.contains(">1<")), "{ages:?}");
    assert!(ages[5].contains("7 days and longer"), "{}", ages[5]);
}

#[tokio::test]
async fn health_says_in_words_who_works_what_fails_and_what_waits() {
    let stage = Stage::open().await;
    let viewer = stage.browser("viewer@acme.test").await;
    let page = says(&viewer, "/").await;
    has(
        &page,
        &[
            "parts need a look",
            "none is alive: nothing is carried out or asked",
            "no task has ever run",
            "nothing waits to be published",
            "none is known to be down",
            "none leaves an answer or a call open",
        ],
    );
    ended(&stage, "INV-1", "done").await;
    let engine = &stage.state.engine;
    let beat = ProcessBeat {
        first: true,
        draining: false,
        stopped: false,
        busy: 0,
        kinds: &[],
        program_version: "1",
    };
    engine.beat(&beat).await.unwrap();
    let failing = TaskStatus {
        task: "reconcile",
        failures: 2,
        last_error: Some("the name of the provider is not known".into()),
        ..TaskStatus::default()
    };
    engine.report_tasks(&[failing]).await.unwrap();
    has(
        &says(&viewer, "/").await,
        &[
            "1 alive, last heard of",
            "failing: reconcile",
            "fails: the name of the provider is not known",
            "1 event waits to be published, the oldest since",
        ],
    );
    let page = viewer.get("/").await.markup();
    assert_eq!(section(&page, "health").matches("data-health=\"bad\"").count(), 1, "{page}");
    ended(&stage, "INV-2", "not_done").await;
    has(
        &says(&viewer, "/").await,
        &["payments.charges: 1 call is made again, the oldest since", "its last word came"],
    );
    // A minute later nobody beats any more, and the event is late.
    stage.database.advance_clock(std::time::Duration::from_secs(60)).await;
    let page = says(&viewer, "/").await;
    has(&page, &["none is alive, last heard of 1 min ago"]);
    let page = viewer.get("/").await.markup();
    assert_eq!(section(&page, "health").matches("data-health=\"bad\"").count(), 2, "{page}");
    assert!(section(&page, "health").contains("data-health=\"look\""), "the outbox lags");
}

#[tokio::test]
async fn a_queue_too_long_to_be_counted_says_so_wherever_it_is_told() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    for sql in [
        "alter table operations disable trigger user",
        "insert into operations (tenant_id, operation, key, hash, hash_version, status, amount_minor, currency, payload,
           attempt, max_attempts, needs_manual, unknown_since, created_by_kind, created_by)
         select o.tenant_id, o.operation, 'many ' || n, o.hash, 1, 'unknown', 12900, 'EUR', o.payload, 1, 3, true,
           onceover_now(), 'service', 'x'
         from operations o, generate_series(1, 1001) n where o.key = 'INV-1'",
        "alter table operations enable trigger user",
    ] {
        sqlx::query(sql).execute(stage.database.owner_pool()).await.unwrap();
    }
    let viewer = stage.browser("viewer@acme.test").await;
    let page = says(&viewer, "/").await;
    has(
        &page,
        &[
            "1000+",
            "at least 129,129.00 EUR at stake",
            "These are the first 50",
            "Of a queue with a plus behind its count only the oldest are among them.",
        ],
    );
    let whole = viewer.get("/").await.markup();
    let ages = body_rows(section(&whole, "ageing"));
    assert!(ages[0].contains("<span class=\"num\">1000+</span>"), "{}", ages[0]);
    assert!(!whole.contains(&target.id), "of it machines still ask");
}
