//! Lists and search: everything once, both ways, and found by what people know.

use domain::{
    access::Role,
    listing::{OperationFilter, StatusFilter},
    operation::Status,
    problem::Code,
    verdict::Safety,
    view::Cause,
};
use engine::FinishOutcome;

use crate::{
    fixture::{self, Fixture, PAYLOAD, add_tenant, code, won},
    workflows::support::{Flow, all_done, input, line, stage},
};

fn filter() -> OperationFilter {
    OperationFilter::default()
}

#[tokio::test]
async fn pages_show_every_row_once_in_both_directions() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    for n in 0..25 {
        fixture.reserve(&format!("k-{n}")).await;
    }
    let mut seen = Vec::new();
    let mut page = fixture
        .engine
        .list_operations(&viewer, &OperationFilter { limit: Some(10), ..filter() })
        .await
        .unwrap();
    let first = page.items.clone();
    assert_eq!(page.previous, None);
    loop {
        seen.extend(page.items.iter().map(|row| row.id));
        let Some(next) = page.next.clone() else { break };
        let filter = OperationFilter { limit: Some(10), cursor: Some(next), ..filter() };
        page = fixture.engine.list_operations(&viewer, &filter).await.unwrap();
    }
    assert_eq!(seen.len(), 25);
    assert!(seen.is_sorted_by(|a, b| a > b), "newest first, none twice");
    let mut back = page;
    while let Some(previous) = back.previous.clone() {
        let filter = OperationFilter { limit: Some(10), cursor: Some(previous), ..filter() };
        back = fixture.engine.list_operations(&viewer, &filter).await.unwrap();
    }
    assert_eq!(back.items, first);
}

#[tokio::test]
async fn an_operation_is_found_by_what_people_know_of_it() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let awkward = "pay/50% + &:@( )é😀_x";
    let payload = r#"{"invoice_id":"INV-2026-0042","amount_minor":12900,"currency":"EUR","card":"4111-0001"}"#;
    let (id, fence) = won(fixture.reserve_as(awkward, payload).await.unwrap());
    fixture.reserve("other").await;
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_9Z%_")).await.unwrap();
    let text = id.to_string();
    let find = |q: &str| {
        let filter = OperationFilter { q: Some(q.to_owned()), ..filter() };
        let (engine, viewer) = (fixture.engine.clone(), viewer.clone());
        async move {
            let page = engine.list_operations(&viewer, &filter).await.unwrap();
            page.items.into_iter().map(|row| row.id).collect::<Vec<_>>()
        }
    };
    let simple = text.replace('-', "");
    for q in [
        awkward,
        "pay/50%",
        "INV-2026-0042",
        "INV-2026",
        "ch_9Z%_",
        "ch_9",
        &text,
        &simple,
        "4111-0001",
    ] {
        assert_eq!(find(q).await, [id], "{q}");
    }
    assert_eq!(find("129.00 EUR").await.len(), 2);
    for q in [
        "4111",
        "ay/50%",
        "2026-0042",
        "%",
        "_",
        "pay_50",
        "129.00 USD",
        "INV-2026-0042 ' or 1=1 --",
    ] {
        assert!(
            find(q).await.is_empty(),
            "{q}: no substring, no pattern, no prefix of a masked term"
        );
    }
}

#[tokio::test]
async fn the_key_of_a_workflow_finds_its_operations_and_says_where_not_all_workflows_were_read() {
    let fixture = stage(vec![line()]).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let flow = Flow::start(&fixture, "line", "campaign 7", &input()).await;
    flow.drive(&all_done).await;
    Flow::start(&fixture, "line", "other 8", &input()).await.drive(&all_done).await;
    let find = async |q: &str| {
        let filter = OperationFilter { q: Some(q.to_owned()), ..filter() };
        fixture.engine.list_operations(&viewer, &filter).await.unwrap()
    };
    let own = format!("wf:{}:", flow.id);
    for q in ["campaign 7", "campaign"] {
        let page = find(q).await;
        assert_eq!((page.items.len(), page.narrow), (3, false), "{q}");
        assert!(page.items.iter().all(|row| row.key.starts_with(&own)), "{q}: {:?}", page.items);
    }
    assert!(find("paign 7").await.items.is_empty(), "never within a word");

    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let gil = fixture::person(&fixture.db, &fixture.engine, "globex", "gil", Role::Auditor).await;
    let theirs = OperationFilter { q: Some("campaign 7".into()), ..filter() };
    let theirs = fixture.engine.list_operations(&gil, &theirs).await.unwrap();
    assert!(theirs.items.is_empty());

    // More workflows than a search reads, without an operation yet: it does not say that there is none.
    let many = format!(
        "insert into workflows (tenant_id, kind, key, definition_version, input_hash, status, created_by_kind,
           created_by)
         select '{}', 'line', 'many-' || n, 1, sha256(''), 'blocked', 'service', 'billing'
         from generate_series(1, 501) n",
        fixture.service.tenant_id()
    );
    for sql in ["alter table workflows disable trigger user", &many] {
        sqlx::query(sqlx::AssertSqlSafe(sql.to_owned())).execute(fixture.pool()).await.unwrap();
    }
    let page = find("many-").await;
    assert!(page.items.is_empty() && page.narrow, "{page:?}");
}

#[tokio::test]
async fn filters_narrow_and_what_does_not_fit_is_named() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let (waiting, _) = fixture.needs_person("unknown").await;
    let (_, _) = fixture.executing("running").await;
    fixture.reserve("conflict").await;
    assert_eq!(
        code(fixture.reserve_as("conflict", &PAYLOAD.replace("12900", "1")).await),
        Code::KeyReused
    );
    let list = |filter: OperationFilter| {
        let (engine, viewer) = (fixture.engine.clone(), viewer.clone());
        async move { engine.list_operations(&viewer, &filter).await }
    };
    let keys = |page: domain::listing::Page<domain::view::OperationRow>| {
        page.items.into_iter().map(|row| row.key).collect::<Vec<_>>()
    };
    let by_status =
        OperationFilter { status: Some(StatusFilter::Is(Status::Executing)), ..filter() };
    assert_eq!(keys(list(by_status).await.unwrap()), ["running"]);
    assert_eq!(
        keys(list(OperationFilter { needs_manual: true, ..filter() }).await.unwrap()),
        ["unknown"]
    );
    assert_eq!(
        keys(list(OperationFilter { conflict: true, ..filter() }).await.unwrap()),
        ["conflict"]
    );
    let by_kind = OperationFilter { operation: Some("campaign.send".into()), ..filter() };
    assert!(keys(list(by_kind).await.unwrap()).is_empty());
    let tombstones = OperationFilter { status: Some(StatusFilter::Tombstone), ..filter() };
    assert!(keys(list(tombstones).await.unwrap()).is_empty());
    let at = |text: &str| Some(chrono::DateTime::parse_from_rfc3339(text).unwrap().to_utc());
    let cases = [
        ("limit", OperationFilter { limit: Some(1_000_000_000), ..filter() }),
        ("limit", OperationFilter { limit: Some(0), ..filter() }),
        (
            "cursor",
            OperationFilter { cursor: Some("n'; drop table operations".into()), ..filter() },
        ),
        ("q", OperationFilter { q: Some("x".repeat(2001)), ..filter() }),
        (
            "from",
            OperationFilter {
                from: at("2026-01-01T00:00:00Z"),
                to: at("2026-06-01T00:00:00Z"),
                ..filter()
            },
        ),
        (
            "from",
            OperationFilter {
                from: at("2026-02-01T00:00:00Z"),
                to: at("2026-01-01T00:00:00Z"),
                ..filter()
            },
        ),
    ];
    for (field, filter) in cases {
        let refusal = list(filter).await.expect_err(field).refusal();
        assert_eq!((refusal.code, refusal.field.as_deref()), (Code::FilterInvalid, Some(field)));
    }
    let overview = fixture.engine.overview(&viewer, None).await.unwrap();
    let count = |cause| overview.queues.iter().find(|queue| queue.cause == cause).unwrap().count;
    assert_eq!(
        (count(Cause::UnknownOutcome), count(Cause::PayloadConflict), count(Cause::StuckLease)),
        (1, 1, 0)
    );
    assert!(overview.merged.iter().any(|row| row.record.id == waiting.to_string()));
}

#[tokio::test]
async fn the_page_of_an_unknown_payment_says_why_and_shows_nothing_masked() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let payload = r#"{"invoice_id":"INV-1","amount_minor":12900,"currency":"EUR","card":"4111","big":9007199254740993.10}"#;
    let (id, fence) = won(fixture.reserve_as("k", payload).await.unwrap());
    assert_eq!(
        code(fixture.reserve_as("k", &payload.replace("12900", "129")).await),
        Code::KeyReused
    );
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    fixture.engine.reconcile_due().await.unwrap();
    let detail = fixture.engine.operation(&viewer, id).await.unwrap();
    assert_eq!(detail.verdict.safety, Safety::NeedsPerson);
    assert!(detail.verdict.sentence.contains("offers no lookup"), "{}", detail.verdict.sentence);
    let shown = detail.payload.unwrap();
    assert!(shown.text.contains("9007199254740993.10"), "numbers stand as they were sent");
    assert!(!shown.text.contains("4111"));
    assert_eq!(shown.masked, 1);
    let change = &detail.conflicts[0].changes[0];
    assert_eq!(
        (change.pointer.as_str(), change.first.as_deref(), change.other.as_deref()),
        ("/amount_minor", Some("12900"), Some("129"))
    );
    let rules: Vec<_> = detail.timeline.iter().map(|item| item.rule.as_str()).collect();
    let own: Vec<_> = rules.iter().copied().filter(|rule| *rule != "X1").collect();
    assert_eq!(own, ["O1", "conflict", "O2", "O10", "O15", "O20"]);
    assert!(own.len() < rules.len(), "what was told of it stands there too: {rules:?}");
    assert!(detail.actions.iter().all(|offer| offer.refusal == Some(Code::PermissionMissing)));
}
