//! Gathering records into incidents: each decision once, bounded, of one tenant; their stories in one
//! timeline; and a report whose hash holds.

mod money;
mod steps;

use std::time::Duration;

use domain::{
    access::{Permission, Role},
    action::{Subject, TargetType, Verb},
    ids::{IncidentId, OperationId},
    listing::{IncidentFilter, IncidentState},
    problem::Code,
    record::{RecordName, RecordType},
    view::{IncidentDetail, Receipt},
};
use engine::{ActionRequest, EngineError, FinishOutcome, StaffCaller};
use uuid::Uuid;

use crate::{
    evidence::{done, webhook},
    fixture::{self, Fixture, add_tenant, code, happened},
};

fn subject(id: IncidentId) -> Subject {
    Subject::new(TargetType::Incident, id.to_string())
}

fn opening(id: IncidentId, records: &[RecordName]) -> ActionRequest {
    ActionRequest {
        summary: Some("Charges without an answer".into()),
        records: records.to_vec(),
        ..ActionRequest::new(subject(id), Verb::Open, 0, "the provider was down")
    }
}

fn change(id: IncidentId, verb: Verb, version: i64, records: &[RecordName]) -> ActionRequest {
    ActionRequest {
        records: records.to_vec(),
        ..ActionRequest::new(subject(id), verb, version, "they belong together")
    }
}

async fn minted(fixture: &Fixture, by: &StaffCaller) -> IncidentId {
    fixture.engine.gathering(by, &[]).await.unwrap().new_id
}

async fn act(fixture: &Fixture, by: &StaffCaller, request: ActionRequest) -> (Receipt, bool) {
    let acted = fixture.engine.act(by, request).await.unwrap().done().unwrap();
    (acted.receipt, acted.replayed)
}

async fn shown(fixture: &Fixture, by: &StaffCaller, id: IncidentId) -> IncidentDetail {
    fixture.engine.incident(by, id, None).await.unwrap()
}

fn keys(detail: &IncidentDetail) -> Vec<&str> {
    detail.records.iter().map(|record| record.now.key.as_str()).collect()
}

fn field<T: std::fmt::Debug>(result: Result<T, EngineError>) -> (Code, Option<String>) {
    let refusal = result.unwrap_err().refusal();
    (refusal.code, refusal.field)
}

/// Operations as a busy year leaves them, without their history.
async fn many(fixture: &Fixture, count: i32) -> Vec<RecordName> {
    let (first, _) = fixture.executing("first").await;
    sqlx::query("alter table operations disable trigger user")
        .execute(fixture.pool())
        .await
        .unwrap();
    let sql = "insert into operations (tenant_id, operation, key, hash, hash_version, status, amount_minor, currency,
           max_attempts, created_by_kind, created_by)
         select tenant_id, operation, 'many-' || n, hash, 1, 'reserved', amount_minor, currency, 3, 'service', 'planted'
         from operations, generate_series(1, $2) n where id = $1 returning id";
    let ids: Vec<Uuid> = sqlx::query_scalar(sql)
        .bind(first.uuid())
        .bind(count)
        .fetch_all(fixture.pool())
        .await
        .unwrap();
    ids.into_iter().map(|id| OperationId::new(id).into()).collect()
}

#[tokio::test]
async fn gathering_twice_is_gathering_once() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (one, _) = fixture.needs_person("one").await;
    let (two, _) = fixture.needs_person("two").await;
    let id = minted(&fixture, &operator).await;
    let (receipt, replayed) = act(&fixture, &operator, opening(id, &[one.into()])).await;
    assert!(!replayed);
    assert_eq!((receipt.before.version, receipt.after.version), (0, 1));
    let (again, replayed) = act(&fixture, &operator, opening(id, &[one.into()])).await;
    assert_eq!((again.id, replayed), (receipt.id, true));
    assert_eq!(fixture.count("select count(*) from incidents").await, 1);
    let told = "select count(*) from outbox where topic = 'incident.opened'";
    assert_eq!(fixture.count(told).await, 1);

    let add = || change(id, Verb::Add, 1, &[two.into(), one.into()]);
    let (receipt, _) = act(&fixture, &operator, add()).await;
    assert!(receipt.followed[0].contains("1 record gathered"), "{:?}", receipt.followed);
    let (again, replayed) = act(&fixture, &operator, add()).await;
    assert_eq!((again.id, replayed), (receipt.id, true));
    let detail = shown(&fixture, &operator, id).await;
    assert_eq!((detail.row.version, keys(&detail)), (2, vec!["one", "two"]));
    assert_eq!(detail.row.opened_by.as_deref(), Some("operator"));
    assert_eq!(detail.opened_reason.as_deref(), Some("the provider was down"));
    let same = fixture.engine.act(&operator, change(id, Verb::Add, 2, &[two.into()])).await;
    assert_eq!(field(same), (Code::Unprocessable, Some("records".into())));
    let versions: Vec<i64> =
        sqlx::query_scalar("select version from operations where key in ('one', 'two')")
            .fetch_all(fixture.pool())
            .await
            .unwrap();
    let before = fixture.engine.operation(&operator, one).await.unwrap().row.version;
    assert!(versions.iter().all(|version| *version == before), "no record moved: {versions:?}");
    let audited = "select count(*) from audit where action in ('open', 'add') and result = 'done'";
    assert_eq!(fixture.count(audited).await, 2);
}

#[tokio::test]
async fn of_two_people_at_one_version_one_gathers_and_the_other_is_told() {
    let fixture = Fixture::new().await;
    let ann = fixture.person("ann", Role::Operator).await;
    let ben = fixture.person("ben", Role::Operator).await;
    let (one, _) = fixture.needs_person("one").await;
    let (two, _) = fixture.needs_person("two").await;
    let id = minted(&fixture, &ann).await;
    act(&fixture, &ann, opening(id, &[one.into()])).await;
    let (add, remove) =
        (change(id, Verb::Add, 1, &[two.into()]), change(id, Verb::Remove, 1, &[one.into()]));
    let (a, b) = tokio::join!(fixture.engine.act(&ann, add), fixture.engine.act(&ben, remove));
    let refused = if a.is_ok() { b } else { a };
    assert_eq!(code(refused), Code::Stale);
    assert_eq!(shown(&fixture, &ann, id).await.row.version, 2);

    // The same words from a second person are one decision, and other words another.
    let (three, _) = fixture.needs_person("three").await;
    let (receipt, _) = act(&fixture, &ann, change(id, Verb::Add, 2, &[three.into()])).await;
    let (same, replayed) = act(&fixture, &ben, change(id, Verb::Add, 2, &[three.into()])).await;
    assert_eq!((same.id, replayed), (receipt.id, true));
    assert_eq!(same.also_decided_by[0].actor, "ben");
    let (four, _) = fixture.needs_person("four").await;
    let other = fixture.engine.act(&ben, change(id, Verb::Add, 2, &[four.into()])).await;
    assert_eq!(code(other), Code::DecidedOtherwise);
}

#[tokio::test]
async fn only_who_may_gathers_and_only_what_the_tenant_has() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (own, _) = fixture.needs_person("own").await;
    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let gil = fixture::person(&fixture.db, &fixture.engine, "globex", "gil", Role::Operator).await;
    for role in [Role::Viewer, Role::Auditor, Role::TenantAdmin] {
        let by = fixture.person(role.as_str(), role).await;
        let id = minted(&fixture, &by).await;
        let refused =
            fixture.engine.act(&by, opening(id, &[own.into()])).await.unwrap_err().refusal();
        assert_eq!(refused.missing, Some(Permission::Incident), "{role}");
    }
    let theirs = minted(&fixture, &gil).await;
    let refused = fixture.engine.act(&gil, opening(theirs, &[own.into()])).await;
    assert_eq!(field(refused), (Code::NotFound, Some("records".into())));
    let picked = fixture.engine.gathering(&gil, &[own.into()]).await.unwrap();
    assert_eq!((picked.found.len(), picked.missing), (0, vec![own.into()]));

    let id = minted(&fixture, &operator).await;
    act(&fixture, &operator, opening(id, &[own.into()])).await;
    for verb in [Verb::Add, Verb::Remove] {
        let refused = fixture.engine.act(&gil, change(id, verb, 1, &[own.into()])).await;
        assert_eq!(code(refused), Code::NotFound, "{verb}");
    }
    assert_eq!(code(fixture.engine.incident(&gil, id, None).await), Code::NotFound);
    assert_eq!(code(fixture.engine.incident_report(&gil, id).await), Code::NotFound);
    let about = RecordName::new(RecordType::Incident, id.uuid());
    assert_eq!(code(fixture.engine.add_note(&gil, about, "f", "x").await), Code::NotFound);
    assert_eq!(fixture.count("select count(*) from notes").await, 0);
    assert!(fixture.engine.gathering(&gil, &[]).await.unwrap().open.is_empty());

    // An id from a guess, or from another year, opens nothing.
    for made_up in [Uuid::new_v4(), Uuid::from_u128(7)] {
        let made_up = IncidentId::new(made_up);
        let refused = fixture.engine.act(&operator, opening(made_up, &[own.into()])).await;
        assert_eq!(field(refused), (Code::Unprocessable, Some("id".into())));
    }
    let mut untitled = opening(minted(&fixture, &operator).await, &[own.into()]);
    untitled.summary = Some(" ".into());
    let refused = fixture.engine.act(&operator, untitled).await;
    assert_eq!(field(refused), (Code::Unprocessable, Some("summary".into())));
    assert_eq!(fixture.count("select count(*) from incidents").await, 1);
}

#[tokio::test]
async fn records_are_bounded_at_once_and_in_all_and_taken_out_again() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let names = many(&fixture, 1_001).await;
    let id = minted(&fixture, &operator).await;
    let refused = fixture.engine.act(&operator, opening(id, &names[..201])).await;
    assert_eq!(field(refused), (Code::Unprocessable, Some("records".into())));
    act(&fixture, &operator, opening(id, &names[..200])).await;
    for (version, from) in [(1, 200), (2, 400), (3, 600), (4, 800)] {
        act(&fixture, &operator, change(id, Verb::Add, version, &names[from..from + 200])).await;
    }
    let refused = fixture.engine.act(&operator, change(id, Verb::Add, 5, &names[1_000..])).await;
    let refusal = refused.unwrap_err().refusal();
    assert_eq!(refusal.field.as_deref(), Some("records"));
    assert!(refusal.detail.unwrap().contains("it would hold 1001"));

    let detail = shown(&fixture, &operator, id).await;
    assert_eq!(detail.records.len(), 1_000);
    let report = fixture.engine.incident_report(&operator, id).await.unwrap().report;
    let stake = &report.stake[0];
    assert_eq!((stake.operations, stake.amount_minor), (1_000, 12_900_000));

    act(&fixture, &operator, change(id, Verb::Remove, 5, &names[..200])).await;
    let detail = shown(&fixture, &operator, id).await;
    assert_eq!((detail.row.version, detail.records.len()), (6, 800));
    let refused = fixture.engine.act(&operator, change(id, Verb::Remove, 6, &names[..1])).await;
    assert_eq!(field(refused), (Code::Unprocessable, Some("records".into())));

    let close = ActionRequest::new(subject(id), Verb::Close, 6, "looked at");
    act(&fixture, &operator, close).await;
    let refused = fixture.engine.act(&operator, change(id, Verb::Add, 7, &names[..1])).await;
    assert_eq!(code(refused), Code::NotAllowedInState);
    for sql in [
        "delete from incident_records",
        "update incident_records set added_by = 'nobody'",
        "insert into incident_records (tenant_id, incident_id, target_type, target_id, added_by)
           select tenant_id, id, 'workflow', id, 'x' from incidents",
    ] {
        assert!(sqlx::query(sql).execute(fixture.pool()).await.is_err(), "{sql}");
    }
}

#[tokio::test]
async fn what_the_engine_opened_an_incident_about_stays_in_it() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (own, fence) = fixture.executing("own").await;
    fixture.finish(own, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    webhook(&fixture, &done("e-1", &own.to_string(), "ch_2", 12_900)).await;
    let (more, _) = fixture.needs_person("more").await;
    let open = IncidentFilter { status: Some(IncidentState::Open), ..Default::default() };
    let row = fixture.engine.list_incidents(&operator, &open).await.unwrap().items.remove(0);
    let add = change(row.id, Verb::Add, row.version, &[own.into(), more.into()]);
    act(&fixture, &operator, add).await;
    let detail = shown(&fixture, &operator, row.id).await;
    assert_eq!(keys(&detail), ["own", "more"]);
    assert_eq!(detail.records[0].added_by, None);
    let refused =
        fixture.engine.act(&operator, change(row.id, Verb::Remove, 2, &[own.into()])).await;
    assert_eq!(field(refused), (Code::Unprocessable, Some("records".into())));
    // Both records lead to it, and both finds in the list.
    assert_eq!(fixture.engine.operation(&operator, more).await.unwrap().incidents.len(), 1);
    for q in ["own", "more"] {
        let filter = IncidentFilter { q: Some(q.into()), ..Default::default() };
        let found = fixture.engine.list_incidents(&operator, &filter).await.unwrap();
        assert_eq!(found.items.len(), 1, "{q}");
    }
}

#[tokio::test]
async fn what_an_open_incident_holds_does_not_expire() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (held, fence) = fixture.executing("held").await;
    fixture.finish(held, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    let id = minted(&fixture, &operator).await;
    act(&fixture, &operator, opening(id, &[held.into()])).await;
    fixture.db.settle_outbox().await;
    fixture.db.advance_clock(Duration::from_secs(86_401)).await;
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 0);
    act(&fixture, &operator, ActionRequest::new(subject(id), Verb::Close, 1, "seen")).await;
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 1);
    let detail = shown(&fixture, &operator, id).await;
    assert_eq!(keys(&detail), ["held"], "the key stays closed, and named");
}

#[tokio::test]
async fn one_timeline_tells_of_all_records_with_notes_and_decisions() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let (one, version) = fixture.needs_person("one").await;
    let (two, _) = fixture.needs_person("two").await;
    let event: Uuid = sqlx::query_scalar("select id from outbox where operation_id = $1 limit 1")
        .bind(one.uuid())
        .fetch_one(fixture.pool())
        .await
        .unwrap();
    let event = RecordName::new(RecordType::Event, event);
    let id = minted(&fixture, &operator).await;
    act(&fixture, &operator, opening(id, &[one.into(), two.into(), event])).await;
    fixture.db.advance_clock(Duration::from_secs(60)).await;
    let about = RecordName::new(RecordType::Incident, id.uuid());
    for (about, text) in [(about, "on it all"), (event, "on the event"), (two.into(), "on two")] {
        for _ in 0..2 {
            fixture.engine.add_note(&operator, about, &format!("f {about}"), text).await.unwrap();
        }
        assert_eq!(
            code(fixture.engine.add_note(&viewer, about, "f", text).await),
            Code::PermissionMissing
        );
        fixture.db.advance_clock(Duration::from_secs(1)).await;
    }
    act(&fixture, &operator, happened(one, version, "ch_1")).await;

    let detail = shown(&fixture, &viewer, id).await;
    assert_eq!(detail.row.version, 1, "notes move no version");
    let told: Vec<_> = detail
        .story
        .iter()
        .filter(|step| step.step.by_person)
        .map(|step| (step.record, step.step.rule.as_str(), step.receipt.is_some()))
        .collect();
    assert_eq!(
        told,
        [
            (RecordType::Incident, "audit", true),
            (RecordType::Incident, "note", false),
            (RecordType::Event, "note", false),
            (RecordType::Operation, "note", false),
            (RecordType::Operation, "evidence", false),
            (RecordType::Operation, "O21", true),
        ]
    );
    assert!(detail.story.windows(2).all(|pair| pair[0].step.at <= pair[1].step.at));
    let of = |id: Uuid| detail.story.iter().any(|step| step.id == id.to_string());
    assert!(of(one.uuid()) && of(two.uuid()) && of(event.id));
    let anchors: std::collections::BTreeSet<_> =
        detail.story.iter().map(|step| &step.anchor).collect();
    assert_eq!(anchors.len(), detail.story.len());
    assert_eq!(fixture.engine.notes(&viewer, event).await.unwrap().0[0].text, "on the event");
}

#[tokio::test]
async fn one_person_has_one_name_in_the_story_the_report_and_what_people_did() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (one, version) = fixture.needs_person("one").await;
    let id = minted(&fixture, &operator).await;
    act(&fixture, &operator, opening(id, &[one.into()])).await;
    act(&fixture, &operator, happened(one, version, "ch_1")).await;
    let called = "operator (operator@acme.test)";

    let detail = shown(&fixture, &operator, id).await;
    let told: Vec<_> = detail
        .story
        .iter()
        .filter(|step| step.step.by_person)
        .map(|step| step.step.actor.as_str())
        .collect();
    assert_eq!(told, [called; 3], "opened, evidence brought, confirmed");
    assert_eq!(detail.audit[0].actor, called);
    let report = fixture.engine.incident_report(&operator, id).await.unwrap().report;
    assert!(report.decisions.iter().all(|made| made.actor == called), "{:?}", report.decisions);
    assert_eq!(report.timeline, detail.story);

    let operation = fixture.engine.operation(&operator, one).await.unwrap();
    let by_person = operation.timeline.iter().filter(|item| item.by_person);
    assert!(by_person.map(|item| item.actor.as_str()).all(|actor| actor == called));
    let mut proofs = operation.evidence.iter().filter(|evidence| evidence.source == "staff");
    assert_eq!(proofs.next().map(|proof| proof.actor.as_str()), Some(called));
    assert_eq!(operation.audit[0].actor, called);
    let kept = "select count(*) from audit where actor = 'operator@acme.test'";
    assert!(fixture.count(kept).await > 0, "the log itself keeps the email");
}

#[tokio::test]
async fn a_long_story_goes_on_page_by_page_without_a_gap() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (one, _) = fixture.needs_person("one").await;
    let id = minted(&fixture, &operator).await;
    act(&fixture, &operator, opening(id, &[one.into()])).await;
    // All in one instant: their place alone tells them apart.
    for n in 0..230 {
        let (key, text) = (format!("f-{n}"), format!("note {n}"));
        fixture.engine.add_note(&operator, one, &key, &text).await.unwrap();
    }
    let (mut seen, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = fixture.engine.incident_story(&operator, id, after.as_deref()).await.unwrap();
        assert!(page.items.len() <= 100);
        seen.extend(page.items.into_iter().map(|step| step.anchor));
        pages += 1;
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let all: std::collections::BTreeSet<_> = seen.iter().collect();
    assert_eq!((all.len(), pages), (seen.len(), 3));
    assert!(seen.len() > 230);
    let refused = fixture.engine.incident_story(&operator, id, Some("x")).await;
    assert_eq!(code(refused), Code::FilterInvalid);
}

#[tokio::test]
async fn one_state_has_one_hash_whoever_reads_it_and_another_state_another() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let approver = fixture.person("approver", Role::Approver).await;
    let (one, version) = fixture.needs_person("one").await;
    let id = minted(&fixture, &operator).await;
    act(&fixture, &operator, opening(id, &[one.into()])).await;
    let hash =
        async |by: &StaffCaller| fixture.engine.incident_report(by, id).await.unwrap().content_hash;
    let first = hash(&operator).await;
    fixture.engine.report_taken(&operator, id, "md", (&first, "sha256:0")).await.unwrap();
    fixture.db.advance_clock(Duration::from_secs(3_600)).await;
    assert_eq!(hash(&approver).await, first, "taking a report is no part of the next one");

    let report = fixture.engine.incident_report(&operator, id).await.unwrap().report;
    assert_eq!(report.records[0].now.status, "unknown", "what is unknown is called unknown");
    assert_eq!(report.stake[0].unknown_minor, 12_900);
    assert_eq!(report.decisions.len(), 1);
    act(&fixture, &operator, happened(one, version, "ch_1")).await;
    assert_ne!(hash(&operator).await, first);
    let report = fixture.engine.incident_report(&operator, id).await.unwrap().report;
    assert_eq!(report.decisions[1].action, "confirm");
    assert_eq!((report.stake[0].amount_minor, report.stake[0].unknown_minor), (12_900, 0));
    let sql =
        "select count(*) from audit where action = 'export_report' and after ->> 'format' = 'md'";
    assert_eq!(fixture.count(sql).await, 1);
}

#[tokio::test]
async fn notes_go_with_their_record() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    fixture.needs_person("one").await;
    let event: Uuid = sqlx::query_scalar("select id from outbox limit 1")
        .fetch_one(fixture.pool())
        .await
        .unwrap();
    let event = RecordName::new(RecordType::Event, event);
    fixture.engine.add_note(&operator, event, "f", "rang Ann Meyer").await.unwrap();
    // As its retention would.
    for sql in ["alter table outbox disable trigger outbox_check_purge", "delete from outbox"] {
        sqlx::query(sql).execute(fixture.pool()).await.unwrap();
    }
    assert_eq!(fixture.count("select count(*) from outbox").await, 0);
    assert_eq!(fixture.count("select count(*) from notes").await, 0);
    assert_eq!(code(fixture.engine.add_note(&operator, event, "g", "x").await), Code::NotFound);
}
