//! A tenant, a provider process, and workers to hurt.

use std::time::Duration;

use domain::{access::Role, ids::OperationId};
use engine::{
    Admission, Caller, Engine, ProviderEndpoint, RequestOrigin, Reserve, ServiceCaller, Settings,
    StaffCaller,
    identity::{Admin, NewStaff},
    store::kind::KindPolicy,
};
use sandbox::{
    EffectKind, Provider,
    client::ProviderControl,
    providers::{Mode, Rule},
};
use testkit::{TestDatabase, eventually};

use super::processes::Process;
use crate::support::{WEBHOOK_SECRET, charge};

/// How long anything may take that happens by itself; ten times the usual.
pub const LIMIT: Duration = Duration::from_secs(30);
/// Longer than every lease of these kinds.
pub const PAST_LEASE: Duration = Duration::from_secs(61);

/// One of the two effects that the seed's faults are about.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    Charge,
    Mail,
}

impl Effect {
    pub const BOTH: [Self; 2] = [Self::Charge, Self::Mail];

    pub const fn kind(self) -> EffectKind {
        match self {
            Self::Charge => EffectKind::Charge,
            Self::Mail => EffectKind::Mail,
        }
    }

    const fn provider(self) -> Provider {
        match self {
            Self::Charge => Provider::Payments,
            Self::Mail => Provider::Mail,
        }
    }

    /// A request whose business subject is named for the key.
    pub fn request(self, key: &str) -> Reserve {
        let payload = match self {
            Self::Charge => {
                format!(r#"{{"invoice_id":"{key}","amount_minor":12900,"currency":"EUR"}}"#)
            }
            Self::Mail => format!(r#"{{"campaign_id":"spring","recipient_id":"{key}"}}"#),
        };
        Reserve {
            operation: self.kind().operation().into(),
            key: key.into(),
            payload: payload.into_bytes(),
            amount_minor: None,
            currency: None,
            queued: true,
            workflow_id: None,
            step_key: None,
            wait: Duration::ZERO,
        }
    }
}

pub struct Scene {
    pub database: TestDatabase,
    pub engine: Engine,
    pub service: ServiceCaller,
    pub operator: StaffCaller,
    pub providers: ProviderControl,
    endpoints: String,
    _sandbox: Process,
    _ledgers: Ledgers,
}

/// The sandbox's folder, gone with the scene.
struct Ledgers(std::path::PathBuf);

impl Drop for Ledgers {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn policy(effect: Effect, lookup: bool) -> KindPolicy {
    let kind = effect.kind();
    let money = kind.moves_money();
    KindPolicy {
        name: kind.operation().into(),
        money,
        amount_pointer: money.then(|| "/amount_minor".into()),
        currency_pointer: money.then(|| "/currency".into()),
        provider: Some(kind.name().into()),
        lookup,
        call_deadline_ms: 20_000,
        lease_ms: 60_000,
        settle_window_ms: 60_000,
        approval_threshold_minor: money.then_some(100_000),
        search_pointers: vec![],
        ..charge()
    }
}

impl Scene {
    /// A scene whose provider can be asked, or offers no lookup.
    pub async fn open(lookup: bool) -> Self {
        let database = TestDatabase::create().await;
        let mut admin = Admin::connect(&database.url()).await.unwrap();
        let tenant = admin.ensure_tenant("acme", "Acme").await.unwrap();
        for effect in Effect::BOTH {
            admin.put_kind(tenant, &policy(effect, lookup)).await.unwrap();
        }
        let ledgers = std::env::temp_dir()
            .join(format!("onceover-faults-{}", hex::encode(rand::random::<[u8; 6]>())));
        let folder = ledgers.to_str().unwrap();
        let (sandbox, url) =
            Process::start(&["sandbox", "--with-parent", "--data", folder], &[], "sandbox ready: ");
        let endpoints: Vec<_> = EffectKind::ALL
            .into_iter()
            .map(|kind| ProviderEndpoint {
                name: kind.name().into(),
                url: format!("{url}{}", kind.path()),
                lookup_url: None,
            })
            .collect();
        let listed = endpoints.iter().map(|endpoint| format!("{}={}", endpoint.name, endpoint.url));
        let listed = listed.collect::<Vec<_>>().join(",");
        let engine = Engine::connect(Settings {
            database_url: database.url(),
            engine_connections: 8,
            console_connections: 4,
            providers: endpoints,
            webhook_secrets: vec![("payments".into(), WEBHOOK_SECRET.into())],
            inbox_sources: Vec::new(),
            search_secret: WEBHOOK_SECRET.as_bytes().to_vec(),
            factor_secret: None,
            workflows: Vec::new(),
            worker_name: "test".into(),
            limits: engine::Limits::default(),
            destinations: Vec::new(),
            console_url: None,
            event_retention_days: 30,
            anchors: engine::Anchors::default(),
        })
        .await
        .unwrap();
        let token = admin.add_service_token("acme", "billing", &[], None).await.unwrap();
        let Some(Caller::Service(service)) =
            engine.caller_by_bearer(&token, RequestOrigin::here("r")).await.unwrap()
        else {
            panic!()
        };
        let email = "operator@acme.test";
        let new = NewStaff {
            email,
            name: "Olga",
            password_hash: "none",
            tenant_slug: "acme",
            role: Role::Operator,
        };
        admin.add_staff(&new).await.unwrap();
        let token = admin.add_staff_token(email, "acme", "olga", None).await.unwrap();
        let Some(Caller::Staff(operator)) =
            engine.caller_by_bearer(&token, RequestOrigin::here("r")).await.unwrap()
        else {
            panic!()
        };
        Self {
            providers: ProviderControl::new(&url).unwrap(),
            database,
            engine,
            service,
            operator,
            endpoints: listed,
            _sandbox: sandbox,
            _ledgers: Ledgers(ledgers),
        }
    }

    /// A worker process that begins at once.
    pub fn worker(&self, name: &str) -> Process {
        self.worker_with(name, &[])
    }

    /// A worker process with settings of its own.
    pub fn worker_with(&self, name: &str, settings: &[(&str, &str)]) -> Process {
        let url = self.database.url();
        let mut environment = vec![
            ("DATABASE_URL", url.as_str()),
            ("ONCEOVER_PROVIDERS", &self.endpoints),
            ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET),
            ("ONCEOVER_WORKER_NAME", name),
        ];
        environment.extend_from_slice(settings);
        Process::start(&["work"], &environment, "working: ").0
    }

    pub async fn mode(&self, effect: Effect, mode: Mode) {
        self.providers.add(effect.provider(), Rule::always(mode)).await.unwrap();
    }

    pub async fn queue(&self, effect: Effect, key: &str) -> OperationId {
        match self.engine.reserve(&self.service, effect.request(key)).await.unwrap() {
            Admission::Queued { id } => id,
            other => panic!("{other:?}"),
        }
    }

    /// How often the provider did the effect of an operation, by its own ledger.
    pub async fn effects(&self, id: OperationId) -> usize {
        self.providers.ledger(&[("key", &id.to_string())]).await.unwrap().len()
    }

    pub async fn status(&self, id: OperationId) -> String {
        self.engine.operation_for_service(&self.service, id).await.unwrap().status.to_string()
    }

    pub async fn until_applied(&self, id: OperationId) {
        eventually("the provider did the effect", LIMIT, async || self.effects(id).await == 1)
            .await;
    }

    pub async fn until_status(&self, id: OperationId, status: &str) {
        eventually(status, LIMIT, async || self.status(id).await == status).await;
    }

    pub async fn until_needs_person(&self, id: OperationId) {
        eventually("a person is needed", LIMIT, async || {
            self.engine.operation_for_service(&self.service, id).await.unwrap().needs_manual
        })
        .await;
    }
}
