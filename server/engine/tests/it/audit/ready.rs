//! For every action a record that it would be carried out on now: a new one needs an arm here.

use std::time::Duration;

use domain::{
    access::Role,
    action::{Outcome, Subject, TargetType, Verb},
    ids::{ApprovalId, OperationId},
    record::RecordName,
    token::TokenVerb,
};
use engine::{
    ActionRequest, AskToken, Engine, EngineError, FinishOutcome, RequestOrigin, Settling,
    StaffCaller, store::kind::KindPolicy,
};

use crate::{
    compensation::{
        decisions::{failed, on, people},
        flows, support,
    },
    fixture::{Fixture, action, asked, charge, done, happened, mail_request},
    outbox::staff::dead,
    workflows::{drift, support as lines},
};

/// A decision that would be carried out now.
pub struct Ready {
    pub fixture: Fixture,
    engine: Engine,
    by: StaffCaller,
    deed: Deed,
}

enum Deed {
    Decide(Box<ActionRequest>),
    Settle(Verb, ApprovalId),
    Issue(AskToken),
}

impl Ready {
    pub fn new(fixture: Fixture, by: StaffCaller, request: ActionRequest) -> Self {
        let engine = fixture.engine.clone();
        Self { fixture, engine, by, deed: Deed::Decide(Box::new(request)) }
    }

    /// The same by a browser whose person proved long ago who they are.
    pub async fn long_after_the_factor(mut self) -> Self {
        let engine = &self.engine;
        let attempt = engine.begin_sign_in(self.by.email()).await.unwrap();
        let here = || RequestOrigin::here("r-4");
        let session = engine.finish_sign_in(attempt, true, here()).await.unwrap();
        sqlx::query("update sessions set factor_at = created_at - interval '1 day'")
            .execute(self.fixture.pool())
            .await
            .unwrap();
        let by = engine.staff_by_session(&session.token, here()).await.unwrap().unwrap();
        assert!(by.factor_lasts().is_none());
        self.by = by;
        self
    }

    /// Carries it out, or asks for the second person that it takes.
    pub async fn act(&self) -> Result<(), EngineError> {
        let (engine, by) = (&self.engine, &self.by);
        let settling = Settling { version: Some(1), reason: "looked at it".into() };
        match &self.deed {
            Deed::Decide(request) => engine.act(by, (**request).clone()).await.map(drop),
            Deed::Settle(Verb::Approve, id) => engine.approve(by, *id, settling).await.map(drop),
            Deed::Settle(Verb::Reject, id) => engine.reject(by, *id, settling).await.map(drop),
            Deed::Settle(_, id) => engine.withdraw(by, *id, settling).await.map(drop),
            Deed::Issue(ask) => engine.issue_token(by, ask.clone()).await.map(drop),
        }
    }
}

/// Makes the record.
pub async fn ready(target: TargetType, verb: Verb) -> Ready {
    match target {
        TargetType::Operation => operation(verb).await,
        TargetType::Workflow => workflow(verb).await,
        TargetType::Compensation => undo(verb).await,
        TargetType::Outbox => event(verb).await,
        TargetType::Inbox => message(verb).await,
        TargetType::Incident => incident(verb).await,
        TargetType::Approval => request(verb).await,
        TargetType::OperationKind => kind(verb).await,
        TargetType::Staff => person(verb).await,
        TargetType::Bulk => bulk(verb).await,
        TargetType::Token => token(verb).await,
        TargetType::Conflict => panic!("{verb} of {target} has no record in this test"),
    }
}

async fn version(fixture: &Fixture, id: OperationId) -> i64 {
    fixture.engine.operation_for_service(&fixture.service, id).await.unwrap().version
}

async fn operation(verb: Verb) -> Ready {
    if verb == Verb::Compensate {
        let fixture = support::fixture().await;
        let (operator, _) = people(&fixture).await;
        let id = support::charged(&fixture, "k").await;
        let request = action(id, verb, version(&fixture, id).await);
        return Ready::new(fixture, operator, request);
    }
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    fixture.person("ada", Role::Approver).await;
    let id = match verb {
        Verb::Confirm | Verb::Reconcile => fixture.needs_person("k").await.0,
        Verb::Release => {
            let (id, _) = fixture.executing("k").await;
            fixture.db.advance_clock(Duration::from_secs(31)).await;
            id
        }
        Verb::Retry => {
            let (id, fence) = fixture.executing("k").await;
            fixture.finish(id, fence, FinishOutcome::NotDone, None).await.unwrap();
            id
        }
        Verb::Cancel => {
            let queued = engine::Reserve { queued: true, ..mail_request("k") };
            fixture.engine.reserve(&fixture.service, queued).await.unwrap();
            let id =
                sqlx::query_scalar("select id from operations").fetch_one(fixture.pool()).await;
            OperationId::new(id.unwrap())
        }
        Verb::Correct => {
            let (id, version) = fixture.needs_person("k").await;
            done(fixture.engine.act(&operator, happened(id, version, "ch_1")).await);
            id
        }
        _ => panic!("{verb} of an operation has no record in this test"),
    };
    let version = version(&fixture, id).await;
    let request = match verb {
        Verb::Confirm => happened(id, version, "ch_1"),
        Verb::Correct => {
            ActionRequest { outcome: Some(Outcome::NotHappenedStop), ..action(id, verb, version) }
        }
        _ => action(id, verb, version),
    };
    Ready::new(fixture, operator, request)
}

async fn workflow(verb: Verb) -> Ready {
    let fixture = lines::stage(vec![lines::line()]).await;
    let operator = fixture.person("operator", Role::Operator).await;
    let mut flow = drift::mailed(&fixture).await;
    if matches!(verb, Verb::Resume | Verb::Compensate) {
        flow.engine = lines::with(&fixture.db, vec![drift::drifted()]).await;
        flow.turn().await;
    }
    let id = flow.id;
    drop(flow);
    let version = fixture.engine.workflow(&operator, id).await.unwrap().row.version;
    let target = Subject::new(TargetType::Workflow, id.to_string());
    let request = ActionRequest::new(target, verb, version, "the customer asked for it");
    Ready::new(fixture, operator, request)
}

async fn undo(verb: Verb) -> Ready {
    if verb == Verb::Continue {
        let fixture = flows::stage(vec![flows::trip(3)]).await;
        let (operator, _) = people(&fixture).await;
        let flow = flows::Flow::start(&fixture, "trip", "k").await;
        flow.drive(&|now| match now {
            "do s3" | "undo s2" => Some(FinishOutcome::Rejected),
            _ => Some(FinishOutcome::Done),
        })
        .await;
        let undo = flow.undo("s2").await.unwrap();
        drop(flow);
        return Ready::new(fixture, operator, on(undo.id, verb, undo.version));
    }
    let fixture = support::fixture().await;
    let people = people(&fixture).await;
    let (id, version) = failed(&fixture, &people).await;
    Ready::new(fixture, people.0, on(id, verb, version))
}

async fn event(verb: Verb) -> Ready {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, version) = dead(&fixture).await;
    let target = Subject::new(TargetType::Outbox, id.to_string());
    let request = ActionRequest::new(target, verb, version, "the receiver was mended");
    Ready::new(fixture, operator, request)
}

async fn message(verb: Verb) -> Ready {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let mut message = fixture.message("m-1").await;
    message.produced_at -= 8 * crate::inbox::DAY;
    message.then = Some(br#"{"operation":{"operation":"campaign.send"}}"#.into());
    message.payload = br#"{"campaign_id":"c","recipient_id":"r"}"#.into();
    let id = fixture.receive(&message).await.unwrap().id;
    let target = Subject::new(TargetType::Inbox, id.to_string());
    let request = ActionRequest::new(target, verb, 1, "seen at the provider");
    Ready::new(fixture, operator, request)
}

async fn incident(verb: Verb) -> Ready {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let records: Vec<RecordName> = vec![
        fixture.needs_person("k-1").await.0.into(),
        fixture.needs_person("k-2").await.0.into(),
    ];
    let id = fixture.engine.gathering(&operator, &[]).await.unwrap().new_id;
    let target = Subject::new(TargetType::Incident, id.to_string());
    let open = ActionRequest {
        summary: Some("Charges without an answer".into()),
        records: records[..1].to_vec(),
        ..ActionRequest::new(target.clone(), Verb::Open, 0, "the provider was down")
    };
    if verb == Verb::Open {
        return Ready::new(fixture, operator, open);
    }
    let opened = done(fixture.engine.act(&operator, open).await);
    let records = match verb {
        Verb::Add => records[1..].to_vec(),
        Verb::Remove => records[..1].to_vec(),
        _ => Vec::new(),
    };
    let version = opened.receipt.after.version;
    let request = ActionRequest {
        records,
        ..ActionRequest::new(target, verb, version, "they belong together")
    };
    Ready::new(fixture, operator, request)
}

async fn request(verb: Verb) -> Ready {
    let fixture = support::fixture().await;
    let (operator, approver) = people(&fixture).await;
    let id = support::charged(&fixture, "k").await;
    let compensate = action(id, Verb::Compensate, version(&fixture, id).await);
    let waits = asked(fixture.engine.act(&operator, compensate).await);
    let by = if verb == Verb::Withdraw { operator } else { approver };
    let engine = fixture.engine.clone();
    Ready { fixture, engine, by, deed: Deed::Settle(verb, waits.id) }
}

async fn kind(verb: Verb) -> Ready {
    let fixture = Fixture::new().await;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    let fresh = KindPolicy { name: "invoice.dispute".into(), ..charge() };
    let target = Subject::new(TargetType::OperationKind, fresh.name.clone());
    let request = ActionRequest {
        policy: Some(Box::new(fresh)),
        ..ActionRequest::new(target, verb, 0, "the finance team asked for it")
    };
    Ready::new(fixture, admin, request)
}

async fn person(verb: Verb) -> Ready {
    let fixture = Fixture::new().await;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    let carl = fixture.person("carl", Role::Viewer).await;
    let target = Subject::new(TargetType::Staff, carl.staff_id().to_string());
    let request = ActionRequest {
        role: Some(Role::Operator),
        ..ActionRequest::new(target, verb, 1, "joins the desk")
    };
    Ready::new(fixture, admin, request)
}

async fn bulk(verb: Verb) -> Ready {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(fixture.unknown_mail(&format!("m-{n}")).await.0);
    }
    let id = fixture.freeze_picked(&operator, Verb::Reconcile, &ids).await.unwrap().id;
    fixture.advance().await;
    let before: &[Verb] = match verb {
        Verb::Pause => &[Verb::Run],
        Verb::Resume => &[Verb::Run, Verb::Pause],
        _ => &[],
    };
    for verb in before {
        done(fixture.decide_bulk(&operator, id, *verb).await);
    }
    let version = fixture.engine.bulk(&operator, id).await.unwrap().row.version;
    let target = Subject::new(TargetType::Bulk, id.to_string());
    let request = ActionRequest::new(target, verb, version, "the provider is back");
    Ready::new(fixture, operator, request)
}

async fn token(verb: Verb) -> Ready {
    let fixture = Fixture::new().await;
    let engine = fixture.engine.clone();
    let by = fixture.person("admin", Role::TenantAdmin).await;
    let ask = AskToken {
        id: engine.new_token_id(&by).await.unwrap().to_string(),
        name: "billing worker".into(),
        own: false,
        kinds: Vec::new(),
        verbs: vec![TokenVerb::Reserve],
        days: 30,
        reason: "the new billing worker".into(),
    };
    if verb == Verb::Issue {
        return Ready { fixture, engine, by, deed: Deed::Issue(ask) };
    }
    let target = engine.issue_token(&by, ask).await.unwrap().receipt.target;
    let request = ActionRequest::new(
        Subject::new(TargetType::Token, target),
        verb,
        1,
        "it was on a lost laptop",
    );
    Ready::new(fixture, by, request)
}
