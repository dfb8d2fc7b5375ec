//! A tenant with kinds, tokens and people on a database of its own.

use std::time::Duration;

use domain::{
    access::Role, action::Outcome, action::Verb, ids::OperationId, problem::Code,
    view::ApprovalView,
};
use engine::{
    Acted, ActionRequest, Admission, Caller, Decided, Engine, EngineError, Finish, FinishOutcome,
    RequestOrigin, Reserve, ServiceCaller, Settings, StaffCaller,
    identity::{Admin, NewStaff},
    store::kind::KindPolicy,
};
use sqlx::PgPool;
use testkit::TestDatabase;

pub struct Fixture {
    pub db: TestDatabase,
    pub engine: Engine,
    pub service: ServiceCaller,
}

/// A kind that charges, whose provider this process cannot reach.
pub fn charge() -> KindPolicy {
    KindPolicy {
        name: "invoice.charge".into(),
        irreversible: true,
        harmless_reason: None,
        money: true,
        amount_pointer: Some("/amount_minor".into()),
        currency_pointer: Some("/currency".into()),
        provider: Some("payments.charges".into()),
        lookup: false,
        absent_is_proof: false,
        honours_keys: true,
        key_ttl_ms: None,
        call_deadline_ms: 10_000,
        lease_ms: 30_000,
        settle_window_ms: 60_000,
        max_attempts: 3,
        max_claims: 3,
        max_reconcile_tries: 3,
        backoff_ms: 1_000,
        retention_ms: Some(86_400_000),
        approval_threshold_minor: Some(50_000),
        masked_pointers: vec!["/card".into()],
        search_pointers: vec!["/invoice_id".into(), "/card".into()],
        reference_url: Some("https://provider.example/charges/{reference}".into()),
        undo_kind: None,
        undo_reference_member: None,
        purge_after_ms: None,
        publication: false,
        approval_ttl_ms: 86_400_000,
    }
}

/// A kind that mails: no money, so one person may decide everything.
pub fn mail() -> KindPolicy {
    KindPolicy {
        name: "campaign.send".into(),
        money: false,
        amount_pointer: None,
        currency_pointer: None,
        approval_threshold_minor: None,
        masked_pointers: Vec::new(),
        search_pointers: vec!["/recipient_id".into()],
        reference_url: None,
        ..charge()
    }
}

pub const PAYLOAD: &str = r#"{"invoice_id":"INV-1","amount_minor":12900,"currency":"EUR"}"#;

impl Fixture {
    pub async fn new() -> Self {
        let db = TestDatabase::create().await;
        let engine = engine(&db).await;
        let service = add_tenant(&db, &engine, "acme").await;
        Self { db, engine, service }
    }

    pub fn pool(&self) -> &PgPool {
        self.db.owner_pool()
    }

    /// A person of the tenant.
    pub async fn person(&self, name: &str, role: Role) -> StaffCaller {
        person(&self.db, &self.engine, "acme", name, role).await
    }

    pub async fn reserve(&self, key: &str) -> Admission {
        self.reserve_as(key, PAYLOAD).await.unwrap()
    }

    pub async fn reserve_as(&self, key: &str, payload: &str) -> Result<Admission, EngineError> {
        self.engine.reserve(&self.service, request(key, payload)).await
    }

    /// Reserves and starts: the id and the fence of a call that may be under way.
    pub async fn executing(&self, key: &str) -> (OperationId, i64) {
        let (id, fence) = won(self.reserve(key).await);
        self.engine.start(&self.service, id, fence).await.unwrap();
        (id, fence)
    }

    /// An operation that a person must decide about; its page shows the version returned.
    pub async fn needs_person(&self, key: &str) -> (OperationId, i64) {
        let (id, fence) = self.executing(key).await;
        self.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
        self.engine.reconcile_due().await.unwrap();
        let view = self.engine.operation_for_service(&self.service, id).await.unwrap();
        assert!(view.needs_manual);
        (id, view.version)
    }

    pub async fn finish(
        &self,
        id: OperationId,
        fence: i64,
        outcome: FinishOutcome,
        reference: Option<&str>,
    ) -> Result<engine::Finished, EngineError> {
        self.engine.finish(&self.service, id, finish(fence, outcome, reference)).await
    }

    pub async fn status(&self, id: OperationId) -> String {
        sqlx::query_scalar("select status from operations where id = $1")
            .bind(id.uuid())
            .fetch_one(self.pool())
            .await
            .unwrap()
    }

    /// How many rows a statement counts.
    pub async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(self.pool()).await.unwrap()
    }
}

pub async fn engine(db: &TestDatabase) -> Engine {
    Engine::connect(settings(db)).await.unwrap()
}

pub fn settings(db: &TestDatabase) -> Settings {
    Settings {
        database_url: db.url(),
        engine_connections: 10,
        console_connections: 10,
        providers: Vec::new(),
        webhook_secrets: vec![
            ("payments".into(), "a secret of the tests".into()),
            ("mail".into(), "a secret of the mail provider".into()),
        ],
        inbox_sources: Vec::new(),
        search_secret: b"search secret of the tests".to_vec(),
        factor_secret: None,
        workflows: Vec::new(),
        worker_name: "w-test".into(),
        limits: engine::Limits::default(),
        destinations: Vec::new(),
        console_url: None,
        event_retention_days: 30,
        anchors: engine::Anchors::default(),
    }
}

/// A tenant with both kinds and a service token.
pub async fn add_tenant(db: &TestDatabase, engine: &Engine, slug: &str) -> ServiceCaller {
    let mut admin = Admin::connect(&db.url()).await.unwrap();
    let tenant = admin.ensure_tenant(slug, slug).await.unwrap();
    admin.put_kind(tenant, &charge()).await.unwrap();
    admin.put_kind(tenant, &mail()).await.unwrap();
    let token = admin.add_service_token(slug, "billing", &[], None).await.unwrap();
    match engine.caller_by_bearer(&token, RequestOrigin::here("r-1")).await.unwrap() {
        Some(Caller::Service(service)) => service,
        other => panic!("not a service: {other:?}"),
    }
}

pub async fn person(
    db: &TestDatabase,
    engine: &Engine,
    tenant: &str,
    name: &str,
    role: Role,
) -> StaffCaller {
    let mut admin = Admin::connect(&db.url()).await.unwrap();
    let email = format!("{name}@{tenant}.test");
    let new = NewStaff { email: &email, name, password_hash: "none", tenant_slug: tenant, role };
    admin.add_staff(&new).await.unwrap();
    let token = admin.add_staff_token(&email, tenant, name, None).await.unwrap();
    match engine.caller_by_bearer(&token, RequestOrigin::here("r-2")).await.unwrap() {
        Some(Caller::Staff(staff)) => staff,
        other => panic!("not a person: {other:?}"),
    }
}

pub fn request(key: &str, payload: &str) -> Reserve {
    Reserve {
        operation: "invoice.charge".into(),
        key: key.into(),
        payload: payload.as_bytes().to_vec(),
        amount_minor: None,
        currency: None,
        queued: false,
        workflow_id: None,
        step_key: None,
        wait: Duration::ZERO,
    }
}

pub fn mail_request(key: &str) -> Reserve {
    Reserve {
        operation: "campaign.send".into(),
        ..request(key, r#"{"campaign_id":"c-1","recipient_id":"r-1"}"#)
    }
}

pub fn finish(fence: i64, outcome: FinishOutcome, reference: Option<&str>) -> Finish {
    Finish {
        fence,
        outcome,
        external_reference: reference.map(str::to_owned),
        amount_minor: None,
        currency: None,
        response: None,
        events: Vec::new(),
    }
}

pub fn won(admission: Admission) -> (OperationId, i64) {
    match admission {
        Admission::Won { id, fence, .. } => (id, fence),
        other => panic!("not won: {other:?}"),
    }
}

pub fn happened(target: OperationId, version: i64, reference: &str) -> ActionRequest {
    ActionRequest {
        outcome: Some(Outcome::Happened),
        external_reference: Some(reference.into()),
        ..action(target, Verb::Confirm, version)
    }
}

pub fn action(target: OperationId, verb: Verb, version: i64) -> ActionRequest {
    ActionRequest::new(target, verb, version, "seen in the provider's dashboard")
}

/// The decision that was carried out.
#[track_caller]
pub fn done(decided: Result<Decided, EngineError>) -> Acted {
    match decided.unwrap() {
        Decided::Done(acted) => *acted,
        Decided::Asked { approval, .. } => panic!("it waits: {approval:?}"),
    }
}

/// The request that waits for a second person.
#[track_caller]
pub fn asked(decided: Result<Decided, EngineError>) -> ApprovalView {
    match decided.unwrap() {
        Decided::Asked { approval, .. } => *approval,
        Decided::Done(acted) => panic!("one person did it: {acted:?}"),
    }
}

pub fn code<T: std::fmt::Debug>(result: Result<T, EngineError>) -> Code {
    match result {
        Err(EngineError::Refused(refusal)) => refusal.code,
        other => panic!("not refused: {other:?}"),
    }
}
