//! The lists beside operations: events in their order, refused payloads beside the accepted one,
//! leases by how long they are stuck, incidents with their story, and the audit log for those who may
//! read it. None spans tenants, and each is paged both ways without a gap.

use std::time::Duration;

use domain::{
    access::{Permission, Role},
    action::Verb,
    ids::{ConflictId, EventId, IncidentId, OperationId},
    lease::LeaseState,
    listing::{
        AuditFilter, ConflictFilter, EventFilter, IncidentFilter, IncidentState, LeaseFilter, Page,
        WorkflowFilter,
    },
    outbox::EventStatus,
    problem::Code,
    record::RecordType,
    workflow::WorkflowState,
};
use engine::{FinishOutcome, NewEvent, StaffCaller};

use crate::{
    evidence::{done, webhook},
    fixture::{self, Fixture, action, add_tenant, code, happened, won},
    workflows::support::{Flow, input, line, stage},
};

/// Reads a list to its end and back again, two rows at a time: both ways show the same rows.
async fn both_ways<T: Clone>(
    list: impl AsyncFn(Option<String>) -> Page<T>,
    name: impl Fn(&T) -> String,
) -> Vec<String> {
    let mut page = list(None).await;
    assert_eq!(page.previous, None);
    let mut there: Vec<Vec<String>> = vec![page.items.iter().map(&name).collect()];
    while let Some(next) = page.next.clone() {
        page = list(Some(next)).await;
        there.push(page.items.iter().map(&name).collect());
        assert!(there.len() < 50, "a list that never ends");
    }
    let mut back = vec![there[there.len() - 1].clone()];
    while let Some(previous) = page.previous.clone() {
        page = list(Some(previous)).await;
        back.push(page.items.iter().map(&name).collect());
        assert!(back.len() < 50, "a list that never ends");
    }
    back.reverse();
    assert_eq!(there, back);
    there.concat()
}

async fn stranger(fixture: &Fixture) -> StaffCaller {
    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    fixture::person(&fixture.db, &fixture.engine, "globex", "gil", Role::Auditor).await
}

/// A succeeded operation that told a masked field with it.
async fn told(fixture: &Fixture, key: &str) -> OperationId {
    let payload = r#"{"invoice_id":"INV-1","amount_minor":12900,"currency":"EUR","card":"4111"}"#;
    let (id, fence) = won(fixture.reserve_as(key, payload).await.unwrap());
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    let event = NewEvent {
        aggregate: "INV-1".into(),
        topic: "invoice.paid".into(),
        payload: payload.as_bytes().to_vec(),
    };
    let finish = engine::Finish {
        events: vec![event],
        ..fixture::finish(fence, FinishOutcome::Done, Some("ch_1"))
    };
    fixture.engine.finish(&fixture.service, id, finish).await.unwrap();
    id
}

#[tokio::test]
async fn events_stand_in_their_order_and_show_nothing_masked() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(told(&fixture, &format!("k-{n}")).await);
        fixture.db.advance_clock(Duration::from_secs(1)).await;
    }
    let list = async |filter: EventFilter| fixture.engine.list_events(&viewer, &filter).await;
    let topic = || EventFilter { topic: Some("invoice.paid".into()), ..EventFilter::default() };
    let all = both_ways(
        async |cursor| list(EventFilter { cursor, limit: Some(2), ..topic() }).await.unwrap(),
        |row| row.seq.to_string(),
    )
    .await;
    assert_eq!(all, ["5", "4", "3", "2", "1"]);
    let of =
        |aggregate: &str| EventFilter { aggregate: Some(aggregate.into()), ..Default::default() };
    assert_eq!(list(of("INV-1")).await.unwrap().items.len(), 5);
    assert_eq!(list(of(&ids[0].to_string())).await.unwrap().items.len(), 1);
    for q in ["INV-", "invoice.pa"] {
        let found = list(EventFilter { q: Some(q.into()), ..Default::default() }).await.unwrap();
        assert_eq!(found.items.len(), 5, "{q}");
    }
    let by_operation = EventFilter { q: Some(ids[1].to_string()), ..Default::default() };
    assert_eq!(
        list(by_operation).await.unwrap().items.len(),
        2,
        "its own event, and the service's"
    );
    let dead = EventFilter { status: Some(EventStatus::Dead), ..Default::default() };
    assert!(list(dead).await.unwrap().items.is_empty());

    let third = list(topic()).await.unwrap().items[2].clone();
    assert_eq!((third.seq, third.at_head, third.next_at), (3, false, None));
    let detail = fixture.engine.event(&viewer, third.id).await.unwrap();
    assert!(!detail.payload.text.contains("4111"), "{}", detail.payload.text);
    assert_eq!(detail.payload.masked, 1);
    let order = &detail.order;
    assert_eq!((order.head_seq, order.next_seq, order.waiting, order.blocked), (1, 6, 5, false));
    assert_eq!(order.head.as_ref().map(|head| head.seq), Some(1));
    let places: Vec<_> = order.neighbours.iter().map(|event| event.seq).collect();
    assert_eq!(places, [1, 2, 3, 4, 5]);
    assert_eq!(detail.operation.as_ref().map(|told| told.id), Some(ids[2]));
    assert_eq!(detail.envelope.partition_key, "acme/INV-1");
    assert_eq!(detail.timeline[0].rule, "X1");
    assert!(detail.actions.is_empty(), "nothing can be done about an event that waits");
}

#[tokio::test]
async fn a_dead_event_says_what_stands_behind_it_and_who_may_free_it() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    for _ in 0..2 {
        crate::outbox::tell(&fixture, "a", "thing.happened").await;
    }
    // As twelve refusals would leave it.
    for sql in [
        "alter table outbox disable trigger user",
        "update outbox set status = 'dead', attempts = 12, last_error = 'HTTP 400' where seq = 1",
        "update aggregates set blocked = true",
    ] {
        sqlx::query(sql).execute(fixture.pool()).await.unwrap();
    }
    let all = EventFilter::default();
    let rows = fixture.engine.list_events(&viewer, &all).await.unwrap().items;
    let (dead, behind) = rows.iter().partition::<Vec<_>, _>(|row| row.status == EventStatus::Dead);
    assert_eq!((dead.len(), behind.len()), (1, 1));
    assert!(behind[0].behind_dead && dead[0].at_head && !dead[0].behind_dead);
    for (by, missing) in
        [(&operator, [None, None]), (&viewer, [Some(Permission::Requeue), Some(Permission::Skip)])]
    {
        let detail = fixture.engine.event(by, dead[0].id).await.unwrap();
        let offered: Vec<_> =
            detail.actions.iter().map(|offer| (offer.verb, offer.missing)).collect();
        assert_eq!(offered, [(Verb::Requeue, missing[0]), (Verb::Skip, missing[1])]);
    }
    let elsewhere = stranger(&fixture).await;
    assert!(fixture.engine.list_events(&elsewhere, &all).await.unwrap().items.is_empty());
    assert_eq!(code(fixture.engine.event(&elsewhere, dead[0].id).await), Code::NotFound);
    let nobodys = EventId::new(uuid::Uuid::from_u128(7));
    assert_eq!(code(fixture.engine.event(&viewer, nobodys).await), Code::NotFound);
}

#[tokio::test]
async fn a_refused_payload_stands_beside_the_one_that_was_accepted() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let payload = r#"{"invoice_id":"INV-1","amount_minor":12900,"currency":"EUR","card":"4111"}"#;
    for n in 0..5 {
        let (id, fence) = won(fixture.reserve_as(&format!("k-{n}"), payload).await.unwrap());
        let other = payload.replace("12900", "129").replace("4111", "4222");
        for _ in 0..=n {
            let again = fixture.reserve_as(&format!("k-{n}"), &other).await;
            assert_eq!(code(again), Code::KeyReused);
        }
        fixture.engine.start(&fixture.service, id, fence).await.unwrap();
        fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
        fixture.db.advance_clock(Duration::from_secs(1)).await;
    }
    let list = async |filter: ConflictFilter| fixture.engine.list_conflicts(&viewer, &filter).await;
    for operation in [None, Some("invoice.charge".to_owned())] {
        let filter = ConflictFilter { operation, limit: Some(2), ..Default::default() };
        let all = both_ways(
            async |cursor| list(ConflictFilter { cursor, ..filter.clone() }).await.unwrap(),
            |row| format!("{} {}", row.key, row.count),
        )
        .await;
        assert_eq!(all, ["k-4 5", "k-3 4", "k-2 3", "k-1 2", "k-0 1"]);
    }
    let none = ConflictFilter { operation: Some("campaign.send".into()), ..Default::default() };
    assert!(list(none).await.unwrap().items.is_empty());
    let found = list(ConflictFilter { q: Some("k-3".into()), ..Default::default() }).await.unwrap();
    let row = &found.items[0];
    assert_eq!((found.items.len(), row.key.as_str(), row.count), (1, "k-3", 4));
    assert_eq!(row.callers, ["billing"]);
    let detail = fixture.engine.conflict(&viewer, row.id).await.unwrap();
    assert_eq!(detail.row.status.as_str(), "succeeded", "the first one succeeded");
    assert_eq!(detail.row.other_amount.as_ref().map(|money| money.amount_minor), Some(129));
    let (first, other) = (detail.first.unwrap(), detail.other.unwrap());
    assert!(first.text.contains("12900") && other.text.contains("129"));
    assert!(!first.text.contains("4111") && !other.text.contains("4222"));
    let changed: Vec<_> =
        detail.comparison.changes.iter().map(|change| change.pointer.as_str()).collect();
    assert_eq!(changed, ["/amount_minor"]);
    assert_eq!(detail.reserved_by, "billing");
    let elsewhere = stranger(&fixture).await;
    let all = ConflictFilter::default();
    assert!(fixture.engine.list_conflicts(&elsewhere, &all).await.unwrap().items.is_empty());
    assert_eq!(code(fixture.engine.conflict(&elsewhere, row.id).await), Code::NotFound);
    let nobodys = ConflictId::new(uuid::Uuid::from_u128(7));
    assert_eq!(code(fixture.engine.conflict(&viewer, nobodys).await), Code::NotFound);
}

#[tokio::test]
async fn stuck_leases_stand_first_and_say_since_when() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    for n in 0..4 {
        won(fixture.reserve(&format!("stuck-{n}")).await);
        fixture.db.advance_clock(Duration::from_secs(1)).await;
    }
    fixture.db.advance_clock(Duration::from_secs(60)).await;
    let (live, _) = fixture.executing("live").await;
    let list = async |filter: LeaseFilter| fixture.engine.list_leases(&viewer, &filter).await;
    for operation in [None, Some("invoice.charge".to_owned())] {
        let filter = LeaseFilter { operation, limit: Some(2), ..Default::default() };
        let all = both_ways(
            async |cursor| list(LeaseFilter { cursor, ..filter.clone() }).await.unwrap(),
            |row| row.key.clone(),
        )
        .await;
        assert_eq!(all, ["stuck-0", "stuck-1", "stuck-2", "stuck-3", "live"]);
    }
    let of = |status| LeaseFilter { status: Some(status), ..Default::default() };
    let stale = list(of(LeaseState::Stale)).await.unwrap();
    assert_eq!(stale.items.len(), 4);
    assert!(stale.items.iter().all(|row| row.stale_since.is_some_and(|since| since < stale.as_of)));
    let only = list(of(LeaseState::Live)).await.unwrap().items;
    assert_eq!((only.len(), only[0].id, only[0].attempt), (1, live, 1));
    assert_eq!(only[0].lease.owner.as_deref(), Some("billing"));
    let holder = LeaseFilter { holder: Some("w-9".into()), ..Default::default() };
    assert!(list(holder).await.unwrap().items.is_empty());
    let found = list(LeaseFilter { q: Some("stuck-2".into()), ..Default::default() }).await;
    assert_eq!(found.unwrap().items.len(), 1);
    for cursor in ["n", "nzz", "x0000000000000000"] {
        let bad = LeaseFilter { cursor: Some(cursor.into()), ..Default::default() };
        assert_eq!(code(list(bad).await), Code::FilterInvalid);
    }
    let elsewhere = stranger(&fixture).await;
    let all = LeaseFilter::default();
    assert!(fixture.engine.list_leases(&elsewhere, &all).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn workflows_stand_newest_first_and_however_they_are_narrowed_each_once_both_ways() {
    let fixture = stage(vec![line()]).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    for n in 0..5 {
        Flow::start(&fixture, "line", &format!("w-{n}"), &input()).await;
        fixture.db.advance_clock(Duration::from_secs(1)).await;
    }
    let list = async |filter: WorkflowFilter| {
        fixture.engine.list_workflows(&viewer, &filter).await.unwrap()
    };
    let base = || WorkflowFilter { limit: Some(2), ..WorkflowFilter::default() };
    for filter in [
        base(),
        WorkflowFilter { kind: Some("line".into()), ..base() },
        WorkflowFilter { status: Some(WorkflowState::Running), ..base() },
        WorkflowFilter { q: Some("w-".into()), ..base() },
    ] {
        let all = both_ways(
            async |cursor| list(WorkflowFilter { cursor, ..filter.clone() }).await,
            |row| row.key.clone(),
        )
        .await;
        assert_eq!(all, ["w-4", "w-3", "w-2", "w-1", "w-0"], "{filter:?}");
    }
    let ended = WorkflowFilter { status: Some(WorkflowState::Completed), ..base() };
    assert!(list(ended).await.items.is_empty());
    let elsewhere = stranger(&fixture).await;
    let theirs = fixture.engine.list_workflows(&elsewhere, &base()).await.unwrap();
    assert!(theirs.items.is_empty());
}

#[tokio::test]
async fn an_incident_tells_what_it_is_about_and_who_closed_it() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let mut ids = Vec::new();
    for n in 0..3 {
        let (id, fence) = fixture.executing(&format!("k-{n}")).await;
        fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
        webhook(&fixture, &done(&format!("e-{n}"), &id.to_string(), "ch_2", 12_900)).await;
        ids.push(id);
        fixture.db.advance_clock(Duration::from_secs(1)).await;
    }
    let list = async |filter: IncidentFilter| fixture.engine.list_incidents(&viewer, &filter).await;
    let key = |row: &domain::view::IncidentRow| row.about.as_ref().unwrap().key.clone();
    let all = both_ways(
        async |cursor| {
            list(IncidentFilter { cursor, limit: Some(2), ..Default::default() }).await.unwrap()
        },
        key,
    )
    .await;
    assert_eq!(all, ["k-2", "k-1", "k-0"]);
    let found = list(IncidentFilter { q: Some("k-1".into()), ..Default::default() }).await.unwrap();
    let row = found.items[0].clone();
    assert_eq!((found.items.len(), row.cause.as_str()), (1, "double_effect_suspected"));
    let about = row.about.clone().unwrap();
    assert_eq!((about.record, about.id), (RecordType::Operation, ids[1].to_string()));
    assert_eq!(about.amount.map(|money| money.amount_minor), Some(12_900));

    let detail = fixture.engine.incident(&viewer, row.id, None).await.unwrap();
    let rules: Vec<_> = detail.story.iter().map(|step| step.step.rule.as_str()).collect();
    assert_eq!(rules[..3], ["O1", "O2", "O6"]);
    assert_eq!(detail.actions[0].missing, Some(Permission::Incident));
    let subject =
        domain::action::Subject::new(domain::action::TargetType::Incident, row.id.to_string());
    let close = engine::ActionRequest::new(subject, Verb::Close, row.version, "refunded by hand");
    fixture::done(fixture.engine.act(&operator, close).await);
    let detail = fixture.engine.incident(&viewer, row.id, None).await.unwrap();
    assert_eq!(detail.row.status, IncidentState::Closed);
    assert_eq!(detail.reason.as_deref(), Some("refunded by hand"));
    assert_eq!(detail.audit[0].action, "close");
    assert!(detail.actions.is_empty());
    let count = async |status, cause: &str| {
        let filter = IncidentFilter {
            status: Some(status),
            cause: Some(cause.into()),
            ..Default::default()
        };
        list(filter).await.unwrap().items.len()
    };
    assert_eq!(count(IncidentState::Open, "double_effect_suspected").await, 2);
    assert_eq!(count(IncidentState::Closed, "double_effect_suspected").await, 1);
    assert_eq!(count(IncidentState::Open, "another").await, 0);
    let elsewhere = stranger(&fixture).await;
    let all = IncidentFilter::default();
    assert!(fixture.engine.list_incidents(&elsewhere, &all).await.unwrap().items.is_empty());
    assert_eq!(code(fixture.engine.incident(&elsewhere, row.id, None).await), Code::NotFound);
    let nobodys = IncidentId::new(uuid::Uuid::from_u128(7));
    assert_eq!(code(fixture.engine.incident(&viewer, nobodys, None).await), Code::NotFound);
}

#[tokio::test]
async fn the_audit_log_is_read_by_those_who_may_and_a_look_without_the_right_is_in_it() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let auditor = fixture.person("auditor", Role::Auditor).await;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    let mut ids = Vec::new();
    for n in 0..5 {
        let (id, version) = fixture.needs_person(&format!("k-{n}")).await;
        fixture::done(fixture.engine.act(&operator, happened(id, version, "ch_1")).await);
        ids.push(id);
    }
    let denied = fixture.engine.act(&auditor, action(ids[0], Verb::Retry, 1)).await;
    assert_eq!(code(denied), Code::PermissionMissing);
    for role in [Role::Viewer, Role::Approver] {
        let curious = fixture.person(role.as_str(), role).await;
        let refused = fixture.engine.list_audit(&curious, &AuditFilter::default()).await;
        assert_eq!(code(refused), Code::PermissionMissing, "{role}");
    }
    fixture.engine.list_audit(&admin, &AuditFilter::default()).await.unwrap();
    let list = async |filter: AuditFilter| fixture.engine.list_audit(&auditor, &filter).await;
    let confirm = || AuditFilter { verb: Some("confirm".into()), ..Default::default() };
    let targets = both_ways(
        async |cursor| list(AuditFilter { cursor, limit: Some(2), ..confirm() }).await.unwrap(),
        |row| row.target.clone(),
    )
    .await;
    let newest_first: Vec<_> = ids.iter().rev().map(ToString::to_string).collect();
    assert_eq!(targets, newest_first);
    let refused = list(AuditFilter { denied: true, ..Default::default() }).await.unwrap().items;
    let told: Vec<_> = refused.iter().map(|row| (row.verb.as_str(), row.actor.as_str())).collect();
    assert_eq!(
        told,
        [
            ("read_audit", "approver@acme.test"),
            ("read_audit", "viewer@acme.test"),
            ("retry", "auditor@acme.test"),
        ]
    );
    assert!(refused.iter().all(|row| row.code == Some(Code::PermissionMissing)));
    let of = AuditFilter { target: Some(ids[0].to_string()), ..Default::default() };
    assert_eq!(list(of).await.unwrap().items.len(), 2);
    let by = AuditFilter { actor: Some("operator@acme.test".into()), ..confirm() };
    let row = list(by).await.unwrap().items[0].clone();
    assert!(row.before.unwrap().contains("unknown") && row.after.unwrap().contains("succeeded"));
    assert!(row.receipt.is_some() && row.reason.is_some());
    let now = list(AuditFilter::default()).await.unwrap().as_of;
    let earlier = AuditFilter { to: Some(now - chrono::TimeDelta::days(1)), ..Default::default() };
    assert!(list(earlier).await.unwrap().items.is_empty());
    let since = AuditFilter { from: Some(now - chrono::TimeDelta::days(1)), ..confirm() };
    assert_eq!(list(since).await.unwrap().items.len(), 5);
    let elsewhere = stranger(&fixture).await;
    let theirs = fixture.engine.list_audit(&elsewhere, &AuditFilter::default()).await.unwrap();
    assert!(
        theirs
            .items
            .iter()
            .all(|row| row.actor.contains("globex") || row.actor_kind == "command line")
    );
    assert!(!theirs.items.iter().any(|row| row.verb == "confirm"));
}

#[tokio::test]
async fn a_filter_beyond_its_bounds_is_refused_with_its_name() {
    let fixture = Fixture::new().await;
    let auditor = fixture.person("auditor", Role::Auditor).await;
    let long = || Some("x".repeat(2_001));
    let field = |error: engine::EngineError| error.refusal().field.clone();
    let engine = &fixture.engine;
    let events = EventFilter { topic: long(), ..Default::default() };
    assert_eq!(
        field(engine.list_events(&auditor, &events).await.unwrap_err()).as_deref(),
        Some("topic")
    );
    let conflicts = ConflictFilter { limit: Some(201), ..Default::default() };
    assert_eq!(
        field(engine.list_conflicts(&auditor, &conflicts).await.unwrap_err()).as_deref(),
        Some("limit")
    );
    let leases = LeaseFilter { holder: Some("a\0".into()), ..Default::default() };
    assert_eq!(
        field(engine.list_leases(&auditor, &leases).await.unwrap_err()).as_deref(),
        Some("holder")
    );
    let incidents = IncidentFilter { cursor: Some("n1; drop".into()), ..Default::default() };
    assert_eq!(
        field(engine.list_incidents(&auditor, &incidents).await.unwrap_err()).as_deref(),
        Some("cursor")
    );
    let at = |text: &str| Some(chrono::DateTime::parse_from_rfc3339(text).unwrap().to_utc());
    let audit = AuditFilter {
        from: at("2026-01-01T00:00:00Z"),
        to: at("2026-06-01T00:00:00Z"),
        ..Default::default()
    };
    assert_eq!(
        field(engine.list_audit(&auditor, &audit).await.unwrap_err()).as_deref(),
        Some("from")
    );
}
