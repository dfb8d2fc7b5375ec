//! Asking about unknown outcomes: in which order, by what proof, and nobody starves.

use std::time::Duration;

use domain::{access::Role, action::Outcome, action::Verb, ids::OperationId};
use engine::{ActionRequest, Engine, FinishOutcome, identity::Admin, store::kind::KindPolicy};
use testkit::{eventually, within};
use tokio::sync::watch;

use crate::{
    evidence::{done, webhook},
    fixture::{Fixture, action, add_tenant, charge, finish, mail, mail_request, request, won},
    provider::{Reply, Stub, engine_at},
};

mod confirms;
mod deaths;

/// The call's deadline and the settle window are over.
const SETTLED: Duration = Duration::from_secs(71);
/// Longer than any pause between two questions of these kinds.
const NEXT_TURN: Duration = Duration::from_secs(20);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY_MS: i64 = 86_400_000;
const LIMIT: Duration = Duration::from_secs(20);

fn json(status: u16, body: &str) -> Reply {
    Reply::Json(status, body.to_owned())
}

fn charged(amount: i64) -> Reply {
    json(
        200,
        &format!(
            r#"{{"id":"ch_1","status":"succeeded","amount_minor":{amount},"currency":"EUR","invoice_id":"INV-1"}}"#
        ),
    )
}

fn not_found() -> Reply {
    json(404, r#"{"found":false}"#)
}

/// A kind that can be asked by sending again alone.
fn remembers() -> KindPolicy {
    KindPolicy { key_ttl_ms: Some(DAY_MS), ..charge() }
}

fn looked_up() -> KindPolicy {
    KindPolicy { lookup: true, honours_keys: false, ..charge() }
}

struct Scene {
    fixture: Fixture,
    stub: Stub,
    engine: Engine,
}

impl Scene {
    async fn new(kind: KindPolicy, answering: Reply) -> Self {
        let fixture = Fixture::new().await;
        put(&fixture, &kind).await;
        let stub = Stub::start(move |_| answering.clone()).await;
        let engine = engine_at(&fixture, "w-recon", &[("payments.charges", &stub.url)]).await;
        Self { fixture, stub, engine }
    }

    /// An outcome that nobody knows.
    async fn unknown(&self, key: &str) -> OperationId {
        let (id, fence) = self.fixture.executing(key).await;
        self.fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
        id
    }

    /// Turns until nothing is due, each after the longest pause.
    async fn turns(&self, times: usize) {
        for _ in 0..times {
            self.engine.reconcile_due().await.unwrap();
            self.fixture.db.advance_clock(NEXT_TURN).await;
        }
    }

    async fn needs_person(&self, id: OperationId) -> bool {
        self.fixture
            .engine
            .operation_for_service(&self.fixture.service, id)
            .await
            .unwrap()
            .needs_manual
    }

    async fn said(&self, sql: &'static str) -> i64 {
        self.fixture.count(sql).await
    }
}

async fn put(fixture: &Fixture, kind: &KindPolicy) {
    let mut admin = Admin::connect(&fixture.db.url()).await.unwrap();
    admin.put_kind(fixture.service.tenant_id(), kind).await.unwrap();
}

#[tokio::test]
async fn it_is_asked_for_by_the_providers_reference_and_else_by_our_key() {
    let scene = Scene::new(looked_up(), json(500, "{}")).await;
    let by_key = scene.unknown("by key").await;
    let (by_reference, fence) = scene.fixture.executing("by reference").await;
    let ambiguous = finish(fence, FinishOutcome::Ambiguous, Some("ch_77"));
    scene.engine.finish(&scene.fixture.service, by_reference, ambiguous).await.unwrap();
    scene.engine.reconcile_due().await.unwrap();
    let mut asked: Vec<_> = scene.stub.seen().into_iter().map(|asked| asked.path).collect();
    asked.sort();
    assert_eq!(asked, [format!("/effects?key={by_key}"), "/effects?reference=ch_77".to_owned()]);
    assert!(scene.stub.sent().is_empty(), "who can be looked up is never sent again first");
}

#[tokio::test]
async fn without_a_lookup_the_same_key_is_sent_again_and_its_answer_is_no_attempt() {
    let scene = Scene::new(remembers(), charged(12_900)).await;
    let id = scene.unknown("k").await;
    scene.engine.reconcile_due().await.unwrap();
    assert!(scene.stub.sent().is_empty(), "the first may still be under way");
    scene.fixture.db.advance_clock(SETTLED).await;
    scene.engine.reconcile_due().await.unwrap();
    let sent = scene.stub.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].key.as_deref(), Some(id.to_string().as_str()), "never another key (D15)");
    assert!(sent[0].body.contains("INV-1"));
    assert_eq!(scene.fixture.status(id).await, "succeeded");
    for (sql, what) in [
        (
            "select count(*) from operations where attempt = 1 and resends = 1 and resent_at is not null",
            "a question",
        ),
        ("select count(*) from operation_events where move = 'O2'", "one call"),
        (
            "select count(*) from operation_events where move = 'O15' and detail ->> 'asks' = 'resend'",
            "asked so",
        ),
        (
            "select count(*) from operation_events where move = 'O16' and detail ->> 'asked' = 'resend'",
            "answered so",
        ),
    ] {
        assert_eq!(scene.said(sql).await, 1, "{what}");
    }
    let again =
        scene.engine.reserve(&scene.fixture.service, request("k", crate::fixture::PAYLOAD)).await;
    match again.unwrap() {
        engine::Admission::Replayed { answer, .. } => {
            assert!(
                String::from_utf8(answer.body).unwrap().contains("ch_1"),
                "it is replayed as a call's is"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_key_that_may_be_forgotten_is_never_sent_again() {
    for (ttl, honours) in [(Some(DAY_MS), true), (None, true), (Some(DAY_MS), false)] {
        let kind = KindPolicy { key_ttl_ms: ttl, honours_keys: honours, ..charge() };
        let scene = Scene::new(kind, charged(12_900)).await;
        let id = scene.unknown("k").await;
        scene.fixture.db.advance_clock(22 * HOUR).await;
        scene.turns(2).await;
        assert!(scene.stub.sent().is_empty(), "{ttl:?} {honours}");
        assert!(scene.needs_person(id).await);
    }
}

#[tokio::test]
async fn the_keys_age_counts_from_the_first_call_not_the_last() {
    let scene = Scene::new(remembers(), charged(12_900)).await;
    let (id, fence) = scene.fixture.executing("k").await;
    scene.fixture.finish(id, fence, FinishOutcome::NotDone, None).await.unwrap();
    scene.fixture.db.advance_clock(22 * HOUR).await;
    let (again, fence) = won(scene.fixture.reserve("k").await);
    assert_eq!(again, id);
    scene.fixture.engine.start(&scene.fixture.service, id, fence).await.unwrap();
    scene.fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    scene.fixture.db.advance_clock(SETTLED).await;
    scene.turns(2).await;
    assert!(scene.stub.sent().is_empty());
    assert!(scene.needs_person(id).await);
    assert_eq!(
        scene.said("select count(*) from operations where started_at - first_started_at > interval '21 hours'").await,
        1
    );
}

#[tokio::test]
async fn nothing_is_sent_again_against_evidence_or_while_it_is_being_undone() {
    let scene = Scene::new(remembers(), charged(12_900)).await;
    let contradicted = scene.unknown("contradicted").await;
    webhook(&scene.fixture, &done("evt", &contradicted.to_string(), "ch_9", 1)).await;
    let undone = scene.unknown("undone").await;
    sqlx::query(
        "insert into compensations (tenant_id, operation_id, kind, status, requested_by_kind, requested_by, move)
         select tenant_id, id, 'invoice.refund', 'requested', 'staff', 'Olga', 'C1' from operations where key = 'undone'",
    )
    .execute(scene.fixture.pool())
    .await
    .unwrap();
    scene.fixture.db.advance_clock(SETTLED).await;
    scene.turns(3).await;
    assert!(scene.stub.sent().is_empty(), "{:?}", scene.stub.sent());
    assert!(scene.needs_person(contradicted).await && scene.needs_person(undone).await);
}

#[tokio::test]
async fn the_answer_to_a_request_sent_again_is_read_as_a_calls() {
    for (answer, status, incidents) in [
        (charged(1), "unknown", 1),
        (
            json(
                200,
                r#"{"id":"ch_1","amount_minor":12900,"currency":"EUR","invoice_id":"INV-2"}"#,
            ),
            "unknown",
            1,
        ),
        (json(402, r#"{"error":"card_declined"}"#), "failed_terminal", 0),
        (json(500, "{}"), "unknown", 0),
        (json(503, "{}"), "unknown", 0),
    ] {
        let scene = Scene::new(remembers(), answer.clone()).await;
        let id = scene.unknown("k").await;
        scene.fixture.db.advance_clock(SETTLED).await;
        scene.engine.reconcile_due().await.unwrap();
        assert_eq!(scene.fixture.status(id).await, status, "{answer:?}");
        assert_eq!(scene.said("select count(*) from incidents").await, incidents, "{answer:?}");
        assert_eq!(scene.needs_person(id).await, incidents == 1, "{answer:?}");
    }
}

#[tokio::test]
async fn sending_again_ends_too_and_then_a_person_decides() {
    let scene = Scene::new(remembers(), json(503, "{}")).await;
    let id = scene.unknown("k").await;
    for _ in 0..8 {
        scene.fixture.db.advance_clock(SETTLED).await;
        scene.engine.reconcile_due().await.unwrap();
    }
    assert_eq!(scene.stub.sent().len(), 3, "as often as the kind allows questions");
    assert!(scene.needs_person(id).await);
}

#[tokio::test]
async fn a_turn_with_nothing_left_to_ask_puts_no_words_into_the_providers_mouth() {
    let scene = Scene::new(KindPolicy { lookup: true, ..remembers() }, not_found()).await;
    let id = scene.unknown("k").await;
    scene.fixture.db.advance_clock(SETTLED).await;
    scene.turns(3).await;
    assert!(!scene.needs_person(id).await, "the key is still remembered: sending again is next");
    scene.fixture.db.advance_clock(Duration::from_millis(DAY_MS.unsigned_abs())).await;
    scene.engine.reconcile_due().await.unwrap();
    assert!(scene.stub.sent().is_empty(), "what may be forgotten is not sent");
    assert!(scene.needs_person(id).await);
    let made_up =
        "select count(*) from operation_events where detail->'answer'->>'says' = 'no_lookup'";
    assert_eq!(scene.said(made_up).await, 0, "it found nothing; that is no missing lookup");
}

#[tokio::test]
async fn a_lookup_that_finds_nothing_gives_way_to_the_key_that_is_still_remembered() {
    let kind = KindPolicy { lookup: true, ..remembers() };
    let scene = Scene::new(kind, not_found()).await;
    scene.stub.answer(|asked| if asked.method == "POST" { charged(12_900) } else { not_found() });
    let id = scene.unknown("k").await;
    scene.fixture.db.advance_clock(SETTLED).await;
    scene.turns(5).await;
    assert_eq!(scene.fixture.status(id).await, "succeeded");
    let methods: Vec<_> = scene.stub.seen().into_iter().map(|asked| asked.method).collect();
    assert_eq!(methods, ["GET", "GET", "GET", "POST"]);
}

#[tokio::test]
async fn a_lookup_that_lags_is_believed_only_once_it_has_settled() {
    let kind = KindPolicy { absent_is_proof: true, ..looked_up() };
    let scene = Scene::new(kind, not_found()).await;
    let id = scene.unknown("k").await;
    for _ in 0..3 {
        scene.engine.reconcile_due().await.unwrap();
        scene.fixture.db.advance_clock(Duration::from_secs(15)).await;
    }
    assert_eq!(scene.fixture.status(id).await, "unknown", "F21: too early to mean anything");
    scene.fixture.db.advance_clock(SETTLED).await;
    scene.engine.reconcile_due().await.unwrap();
    assert_eq!(scene.fixture.status(id).await, "unknown", "one answer is not two");
    scene.stub.answer(|_| charged(12_900));
    scene.fixture.db.advance_clock(SETTLED).await;
    scene.engine.reconcile_due().await.unwrap();
    assert_eq!(scene.fixture.status(id).await, "succeeded");
}

#[tokio::test]
async fn errors_throttling_and_another_tenants_object_prove_nothing() {
    let theirs = r#"{"id":"ch_1","status":"succeeded","amount_minor":12900,"currency":"EUR","idempotency_key":"another"}"#;
    for (answer, incidents) in [
        (json(500, r#"{"id":"ch_1","amount_minor":12900,"currency":"EUR"}"#), 0),
        (json(429, "{}"), 0),
        (json(404, "<html>"), 0),
        (json(200, theirs), 1),
    ] {
        let scene = Scene::new(looked_up(), answer.clone()).await;
        let id = scene.unknown("k").await;
        scene.engine.reconcile_due().await.unwrap();
        assert_eq!(scene.fixture.status(id).await, "unknown", "{answer:?}");
        let sql = "select count(*) from incidents where cause = 'answer_differs'";
        assert_eq!(scene.said(sql).await, incidents, "{answer:?}");
        assert_eq!(scene.needs_person(id).await, incidents == 1, "{answer:?}");
        scene.turns(4).await;
        assert!(scene.needs_person(id).await, "bounded tries, then a person");
    }
}

/// Rows like one, without the moves that led there.
async fn copy_unknown(fixture: &Fixture, key: &str, many: i64, manual: bool) {
    let sql = "insert into operations (tenant_id, operation, key, hash, hash_version, status, amount_minor, currency,
          payload, attempt, max_attempts, started_at, first_started_at, unknown_since, unknown_by, next_reconcile_at,
          needs_manual, created_by_kind, created_by)
        select o.tenant_id, o.operation, o.key || '-' || n, o.hash, 1, 'unknown', o.amount_minor, o.currency, o.payload,
          1, 3, o.started_at, o.first_started_at, o.unknown_since, 'O10', o.next_reconcile_at - interval '1 hour', $3,
          'service', 'planted'
        from operations o, generate_series(1, $2) n where o.key = $1";
    let mut db = fixture.pool().acquire().await.unwrap();
    sqlx::query("set session_replication_role = replica").execute(&mut *db).await.unwrap();
    sqlx::query(sql).bind(key).bind(many).bind(manual).execute(&mut *db).await.unwrap();
    sqlx::query("set session_replication_role = origin").execute(&mut *db).await.unwrap();
}

#[tokio::test]
async fn neither_a_thousand_that_wait_for_people_nor_a_provider_that_hangs_starve_another() {
    let fixture = Fixture::new().await;
    let hanging = Stub::start(|_| Reply::Hang).await;
    let answering = Stub::start(|_| json(200, r#"{"id":"m_1","status":"sent"}"#)).await;
    put(&fixture, &looked_up()).await;
    put(&fixture, &KindPolicy { lookup: true, provider: Some("mail".into()), ..mail() }).await;
    let engine = engine_at(
        &fixture,
        "w-fair",
        &[("payments.charges", &hanging.url), ("mail", &answering.url)],
    )
    .await;
    let (id, fence) = fixture.executing("hangs").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    copy_unknown(&fixture, "hangs", 1_000, false).await;
    copy_unknown(&fixture, "hangs-1", 1_000, true).await;
    let (good, fence) = won(engine.reserve(&fixture.service, mail_request("good")).await.unwrap());
    engine.start(&fixture.service, good, fence).await.unwrap();
    fixture.finish(good, fence, FinishOutcome::Ambiguous, None).await.unwrap();

    engine.reconcile_due().await.unwrap();
    assert_eq!(fixture.status(good).await, "succeeded", "in the very first batch");
    assert_eq!(hanging.seen().len(), 5, "the one that hangs has its places and no more");
    engine.reconcile_due().await.unwrap();
    assert_eq!(hanging.seen().len(), 5, "and keeps them while they are taken");
}

#[tokio::test]
async fn a_tenant_with_a_thousand_keeps_no_other_tenant_waiting_at_the_same_provider() {
    let scene = Scene::new(looked_up(), charged(12_900)).await;
    scene.unknown("many").await;
    copy_unknown(&scene.fixture, "many", 1_000, false).await;
    let globex = add_tenant(&scene.fixture.db, &scene.fixture.engine, "globex").await;
    let mut admin = Admin::connect(&scene.fixture.db.url()).await.unwrap();
    admin.put_kind(globex.tenant_id(), &looked_up()).await.unwrap();
    let (id, fence) =
        won(scene.engine.reserve(&globex, request("one", crate::fixture::PAYLOAD)).await.unwrap());
    scene.engine.start(&globex, id, fence).await.unwrap();
    scene.engine.finish(&globex, id, finish(fence, FinishOutcome::Ambiguous, None)).await.unwrap();
    scene.engine.reconcile_due().await.unwrap();
    assert_eq!(scene.fixture.status(id).await, "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_reconcilers_ask_once_a_turn() {
    let scene = Scene::new(looked_up(), json(500, "{}")).await;
    for n in 0..10 {
        scene.unknown(&format!("k-{n}")).await;
    }
    let mut engines = vec![scene.engine.clone()];
    for n in 0..3 {
        let name = format!("w-{n}");
        engines
            .push(engine_at(&scene.fixture, &name, &[("payments.charges", &scene.stub.url)]).await);
    }
    let runs = engines.iter().map(|engine| {
        let engine = engine.clone();
        tokio::spawn(async move {
            for _ in 0..4 {
                engine.reconcile_due().await.unwrap();
            }
        })
    });
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
    // The pause after a question is about a second: what was asked twice so soon was asked by two.
    let turns = scene.said("select count(*) from operation_events where move = 'O15'").await;
    assert_eq!(i64::try_from(scene.stub.seen().len()).unwrap(), turns, "one question a turn");
    let twice = "select count(*) from (select operation_id, at - lag(at) over (partition by operation_id order by id) as gap
        from operation_events where move = 'O15') g where gap < interval '600 ms'";
    assert_eq!(scene.said(twice).await, 0);
}

#[tokio::test]
async fn half_a_proof_does_not_use_up_the_last_try() {
    let kind = KindPolicy { absent_is_proof: true, ..looked_up() };
    let scene = Scene::new(kind, json(503, "{}")).await;
    let id = scene.unknown("k").await;
    scene.turns(2).await;
    scene.stub.answer(|_| not_found());
    scene.fixture.db.advance_clock(SETTLED).await;
    for _ in 0..2 {
        scene.engine.reconcile_due().await.unwrap();
        scene.fixture.db.advance_clock(SETTLED).await;
    }
    assert_eq!(scene.fixture.status(id).await, "failed_retryable", "twice absent is proof (O18)");
    assert_eq!(scene.stub.seen().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_after_a_persons_word_is_kept_against_it() {
    let fixture = Fixture::new().await;
    put(
        &fixture,
        &KindPolicy { key_ttl_ms: Some(DAY_MS), provider: Some("mail".into()), ..mail() },
    )
    .await;
    let (go, gone) = watch::channel(false);
    let answer = r#"{"id":"m_1","status":"sent"}"#;
    let stub = Stub::start(move |_| Reply::When(gone.clone(), 200, answer.into())).await;
    let engine = engine_at(&fixture, "w-late", &[("mail", &stub.url)]).await;
    let (id, fence) = won(engine.reserve(&fixture.service, mail_request("k")).await.unwrap());
    engine.start(&fixture.service, id, fence).await.unwrap();
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    fixture.db.advance_clock(SETTLED).await;
    let run = tokio::spawn({
        let engine = engine.clone();
        async move { engine.reconcile_due().await }
    });
    eventually("it is being asked", LIMIT, async || !stub.sent().is_empty()).await;
    let operator = fixture.person("operator", Role::Operator).await;
    let version = engine.operation_for_service(&fixture.service, id).await.unwrap().version;
    let stop = || ActionRequest {
        outcome: Some(Outcome::NotHappenedStop),
        ..action(id, Verb::Confirm, version)
    };
    assert_eq!(
        crate::fixture::code(engine.act(&operator, stop()).await),
        domain::problem::Code::TooEarly,
        "what was just sent again may still arrive"
    );
    fixture.db.advance_clock(SETTLED).await;
    engine.act(&operator, stop()).await.unwrap();
    go.send_replace(true);
    within("the run ends", LIMIT, run).await.unwrap().unwrap();
    eventually("the late answer is kept", LIMIT, async || {
        fixture
            .count("select count(*) from incidents where cause = 'confirmation_contradicted'")
            .await
            == 1
    })
    .await;
    assert_eq!(fixture.status(id).await, "failed_terminal", "final is final");
}
