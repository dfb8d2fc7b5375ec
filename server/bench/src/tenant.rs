//! A tenant with one kind, a service that calls, and the settings of an engine beside it.

use std::sync::atomic::{AtomicU64, Ordering};

use domain::{
    access::Role,
    ids::{OperationId, TenantId},
};
use engine::{
    Admission, Caller, Destination, Engine, Finish, FinishOutcome, Limits, ProviderEndpoint,
    RequestOrigin, Reserve, ServiceCaller, Settings, StaffCaller, identity::Admin,
    identity::NewStaff, store::answer::StoredAnswer, store::kind::KindPolicy,
};

use crate::{bench::Database, fault::Fault};

/// The kind that is measured: a charge, with a search term, as the demo has it.
pub const KIND: &str = "invoice.charge";
/// The provider that it names.
pub const PROVIDER: &str = "payments.charges";
const SLUG: &str = "acme";

/// A tenant on a database.
pub struct Tenant {
    url: String,
    pub id: TenantId,
    pub service: ServiceCaller,
}

/// Numbers of subjects, never the same twice in a run.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Tenant {
    /// Makes it, with the kind as `policy` leaves it.
    pub async fn open(database: &Database, policy: KindPolicy) -> Result<Self, Fault> {
        let mut admin = Admin::connect(&database.url).await?;
        let id = admin.ensure_tenant(SLUG, "Acme").await?;
        admin.put_kind(id, &policy).await?;
        let token = admin.add_service_token(SLUG, "billing", &[], None).await?;
        let engine = Engine::connect(settings(&database.url, "w-setup", 2)).await?;
        match engine.caller_by_bearer(&token, RequestOrigin::here("r-1")).await? {
            Some(Caller::Service(service)) => Ok(Self { url: database.url.clone(), id, service }),
            _ => Err(Fault::Said("the service's token is not known".into())),
        }
    }

    /// An engine of its own, as a service has one in its process, with as many connections as it
    /// has callers.
    pub async fn engine(&self, callers: usize) -> Result<Engine, Fault> {
        let connections = u32::try_from(callers).unwrap_or(u32::MAX).max(2);
        Ok(Engine::connect(settings(&self.url, "w-bench", connections)).await?)
    }

    /// An engine as the program has it, that publishes to a broker.
    pub async fn publisher(&self, broker: &str) -> Result<Engine, Fault> {
        let mut settings = settings(&self.url, "w-relay", CONNECTIONS);
        settings.destinations = vec![Destination {
            name: "events".into(),
            url: broker.into(),
            topics: Vec::new(),
            secret: None,
            allow_private: true,
            tenant: None,
        }];
        Ok(Engine::connect(settings).await?)
    }

    /// The whole life of one operation: reserved, started, finished. What the effect itself takes is
    /// the provider's, and none is called.
    pub async fn life(&self, engine: &Engine) -> Result<(), Fault> {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let (id, fence) = match engine.reserve(&self.service, request(n, false)).await? {
            Admission::Won { id, fence, .. } => (id, fence),
            other => return Err(Fault::Said(format!("a new key was not won: {other:?}"))),
        };
        engine.start(&self.service, id, fence).await?;
        engine.finish(&self.service, id, done(n, id, fence)).await?;
        Ok(())
    }

    /// Somebody who reads.
    pub async fn reader(&self, engine: &Engine) -> Result<StaffCaller, Fault> {
        const EMAIL: &str = "reader@acme.test";
        let mut admin = Admin::connect(&self.url).await?;
        let new = NewStaff {
            email: EMAIL,
            name: "Reader",
            password_hash: "none",
            tenant_slug: SLUG,
            role: Role::Viewer,
        };
        admin.add_staff(&new).await?;
        let token = admin.add_staff_token(EMAIL, SLUG, "reader", None).await?;
        match engine.caller_by_bearer(&token, RequestOrigin::here("r-2")).await? {
            Some(Caller::Staff(staff)) => Ok(staff),
            _ => Err(Fault::Said("the reader's token is not known".into())),
        }
    }

    /// A reservation alone.
    pub async fn reserve(&self, engine: &Engine) -> Result<(), Fault> {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        match engine.reserve(&self.service, request(n, false)).await? {
            Admission::Won { .. } => Ok(()),
            other => Err(Fault::Said(format!("a new key was not won: {other:?}"))),
        }
    }

    /// An operation left for a worker.
    pub async fn queue(&self, engine: &Engine) -> Result<(), Fault> {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        engine.reserve(&self.service, request(n, true)).await?;
        Ok(())
    }
}

/// The program's own default for its engine's pool.
const CONNECTIONS: u32 = 16;

/// What an engine of the bench is made with.
pub fn settings(url: &str, worker: &str, connections: u32) -> Settings {
    Settings {
        database_url: url.into(),
        engine_connections: connections,
        console_connections: 1,
        providers: Vec::new(),
        webhook_secrets: Vec::new(),
        inbox_sources: Vec::new(),
        search_secret: b"search secret of the bench".to_vec(),
        factor_secret: None,
        workflows: Vec::new(),
        worker_name: worker.into(),
        limits: Limits::default(),
        destinations: Vec::new(),
        console_url: None,
        event_retention_days: 30,
        anchors: engine::Anchors::default(),
    }
}

/// Where the kind's provider answers.
pub fn provider_at(url: &str) -> ProviderEndpoint {
    ProviderEndpoint { name: PROVIDER.into(), url: url.into(), lookup_url: None }
}

/// The policy of the kind.
pub fn charge() -> KindPolicy {
    KindPolicy {
        name: KIND.into(),
        irreversible: true,
        harmless_reason: None,
        money: true,
        amount_pointer: Some("/amount_minor".into()),
        currency_pointer: Some("/currency".into()),
        provider: Some(PROVIDER.into()),
        lookup: true,
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
        retention_ms: Some(30 * 86_400_000),
        approval_threshold_minor: Some(50_000),
        masked_pointers: Vec::new(),
        search_pointers: vec!["/invoice_id".into()],
        reference_url: None,
        undo_kind: None,
        undo_reference_member: None,
        purge_after_ms: None,
        publication: false,
        approval_ttl_ms: 86_400_000,
    }
}

fn request(n: u64, queued: bool) -> Reserve {
    Reserve {
        operation: KIND.into(),
        key: format!("charge INV-{n:019}"),
        // The bytes of floor/life.sql.
        payload: format!(
            r#"{{"invoice_id":"INV-{n:019}","amount_minor": 12900,"currency":"EUR","customer_id":"c-1042","description":"Subscription, one month"}}"#
        )
        .into_bytes(),
        amount_minor: None,
        currency: None,
        queued,
        workflow_id: None,
        step_key: None,
        wait: std::time::Duration::ZERO,
    }
}

fn done(n: u64, id: OperationId, fence: i64) -> Finish {
    Finish {
        fence,
        outcome: FinishOutcome::Done,
        external_reference: Some(format!("ch_{n:019}")),
        amount_minor: Some(12_900),
        currency: Some("EUR".into()),
        response: Some(StoredAnswer {
            status: 201,
            content_type: "application/json".into(),
            body: format!(r#"{{"id":"{id}","status":"captured"}}"#).into_bytes(),
            cut: false,
        }),
        events: Vec::new(),
    }
}
