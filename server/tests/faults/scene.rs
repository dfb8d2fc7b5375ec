//! A tenant, a provider in another process, and workers to hurt; and how a scene ends: driven to
//! quiet, with nothing left that is due.

use std::{
    path::PathBuf,
    sync::{
        Mutex as StdMutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use domain::{access::Role, ids::OperationId};
use engine::{
    Admission, Caller, Engine, EngineError, ProviderEndpoint, RequestOrigin, ServiceCaller,
    Settings, StaffCaller,
    background::Worker,
    identity::{Admin, NewStaff},
};
use rand::{RngExt as _, rngs::StdRng};
use sandbox::{
    EffectKind,
    client::ProviderControl,
    providers::{Mode, Rule},
};
use testkit::{TestDatabase, eventually};
use tokio::sync::Mutex;

use crate::{
    consumer::Consumer,
    effects::{Effect, PAST_LEASE},
    processes::Process,
    workflows,
};

/// How long anything may take that happens by itself.
pub const LIMIT: Duration = Duration::from_secs(30);
pub const SECRET: &str = "q8Zk2mWv7Rt4Yx1Lp9Nc5Hs3Jd6Fb0Ga";

/// An operation that was accepted.
#[derive(Clone, Debug)]
pub struct Asked {
    pub id: OperationId,
    pub effect: Effect,
    pub subject: String,
}

pub struct Scene {
    pub name: String,
    pub database: TestDatabase,
    pub engine: Engine,
    pub service: ServiceCaller,
    /// Of another tenant, who must see nothing.
    pub stranger: ServiceCaller,
    pub operator: StaffCaller,
    pub operator_token: String,
    pub providers: ProviderControl,
    pub endpoints: String,
    /// Of its events, wherever they come from.
    pub consumer: Consumer,
    pub asked: StdMutex<Vec<Asked>>,
    pub folder: PathBuf,
    hands: Mutex<Worker>,
    next: AtomicU32,
    _sandbox: Process,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// `name=url,…` for providers at an address.
pub fn endpoints(url: &str) -> String {
    let listed = EffectKind::ALL
        .into_iter()
        .map(|kind| format!("{}={}{}", kind.name(), url.trim_end_matches('/'), kind.path()));
    listed.collect::<Vec<_>>().join(",")
}

/// What an engine of the suite is made with.
pub fn settings(database: &str, endpoints: &str, worker_name: &str) -> Settings {
    Settings {
        database_url: database.to_owned(),
        engine_connections: 8,
        console_connections: 4,
        providers: endpoints
            .split(',')
            .filter_map(|each| each.split_once('='))
            .map(|(name, url)| ProviderEndpoint {
                name: name.into(),
                url: url.into(),
                lookup_url: None,
            })
            .collect(),
        webhook_secrets: vec![("payments".into(), SECRET.into())],
        search_secret: SECRET.as_bytes().to_vec(),
        factor_secret: None,
        inbox_sources: Vec::new(),
        workflows: workflows::definitions(),
        worker_name: worker_name.into(),
        limits: engine::Limits::default(),
        destinations: Vec::new(),
        console_url: None,
        event_retention_days: 30,
        anchors: engine::Anchors::default(),
    }
}

impl Scene {
    /// A scene whose providers can be asked, or offer no lookup.
    pub async fn open(name: &str, lookup: bool) -> Self {
        Self::open_on(name, lookup, TestDatabase::create().await).await
    }

    pub async fn open_on(name: &str, lookup: bool, database: TestDatabase) -> Self {
        let mut admin = Admin::connect(&database.url()).await.unwrap();
        for slug in ["acme", "globex"] {
            let tenant = admin.ensure_tenant(slug, slug).await.unwrap();
            for policy in Effect::ALL.into_iter().flat_map(|effect| effect.policies(lookup)) {
                admin.put_kind(tenant, &policy).await.unwrap();
            }
        }
        let folder = std::env::temp_dir()
            .join(format!("onceover-faults-{}", hex::encode(rand::random::<[u8; 6]>())));
        let data = folder.to_str().unwrap();
        let (sandbox, url) =
            Process::start(&["sandbox", "--with-parent", "--data", data], &[], "sandbox ready: ");
        let endpoints = endpoints(&url);
        let engine =
            Engine::connect(settings(&database.url(), &endpoints, "the suite")).await.unwrap();
        let mut services = Vec::new();
        for slug in ["acme", "globex"] {
            let token = admin.add_service_token(slug, "billing", &[], None).await.unwrap();
            let Some(Caller::Service(service)) =
                engine.caller_by_bearer(&token, RequestOrigin::here("r")).await.unwrap()
            else {
                panic!()
            };
            services.push(service);
        }
        let email = "operator@acme.test";
        let new = NewStaff {
            email,
            name: "Olga",
            password_hash: "none",
            tenant_slug: "acme",
            role: Role::Operator,
        };
        admin.add_staff(&new).await.unwrap();
        let operator_token = admin.add_staff_token(email, "acme", "olga", None).await.unwrap();
        let Some(Caller::Staff(operator)) =
            engine.caller_by_bearer(&operator_token, RequestOrigin::here("r")).await.unwrap()
        else {
            panic!()
        };
        let stranger = services.pop().unwrap();
        Self {
            name: name.into(),
            hands: Mutex::new(Worker::new(&engine, 16).unwrap()),
            providers: ProviderControl::new(&url).unwrap(),
            database,
            engine,
            service: services.pop().unwrap(),
            stranger,
            operator,
            operator_token,
            endpoints,
            consumer: Consumer::start(&folder).await,
            asked: StdMutex::default(),
            folder,
            next: AtomicU32::new(0),
            _sandbox: sandbox,
        }
    }

    /// What the program is told; further settings win.
    pub fn process(
        &self,
        command: &[&str],
        ready: &str,
        more: &[(&str, &str)],
    ) -> (Process, String) {
        let url = self.database.url();
        let name = format!("w-{}", self.next.fetch_add(1, Ordering::Relaxed));
        let secrets = format!("payments={SECRET}");
        let mut environment = vec![
            ("DATABASE_URL", url.as_str()),
            ("ONCEOVER_PROVIDERS", &self.endpoints),
            ("ONCEOVER_SEARCH_SECRET", SECRET),
            ("ONCEOVER_WEBHOOK_SECRETS", &secrets),
            ("ONCEOVER_WORKER_NAME", &name),
            ("ONCEOVER_ENGINE_CONNECTIONS", "4"),
            ("ONCEOVER_CONSOLE_CONNECTIONS", "2"),
        ];
        environment.retain(|(known, _)| more.iter().all(|(name, _)| name != known));
        environment.extend(more);
        Process::start(command, &environment, ready)
    }

    /// A worker process that begins at once.
    pub fn worker(&self, more: &[(&str, &str)]) -> Process {
        self.process(&["work"], "working: ", more).0
    }

    /// Where a process says which crash points it reached.
    pub fn report(&self, point: &str) -> String {
        self.folder.join(format!("{point}.reached")).to_str().unwrap().to_owned()
    }

    pub async fn mode(&self, mode: Mode) {
        for effect in Effect::ALL {
            self.providers.add(effect.provider(), Rule::always(mode.clone())).await.unwrap();
        }
    }

    /// Asks for an effect on a new subject.
    pub async fn queue(&self, rng: &mut StdRng) -> Asked {
        self.try_queue(rng).await.unwrap()
    }

    /// The same, where it may fail; what was not answered counts as not accepted.
    pub async fn try_queue(&self, rng: &mut StdRng) -> Result<Asked, EngineError> {
        let effect = Effect::ALL[rng.random_range(0..Effect::ALL.len())];
        let subject = format!("{}-{}", self.name, self.next.fetch_add(1, Ordering::Relaxed));
        let request = effect.request(&subject, false);
        let id = match self.engine.reserve(&self.service, request).await? {
            Admission::Queued { id } => id,
            other => panic!("{other:?}"),
        };
        let asked = Asked { id, effect, subject };
        self.asked.lock().unwrap().push(asked.clone());
        Ok(asked)
    }

    pub fn all_asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub async fn status(&self, id: OperationId) -> String {
        self.engine.operation_for_service(&self.service, id).await.unwrap().status.to_string()
    }

    pub async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(self.database.owner_pool()).await.unwrap()
    }

    pub async fn has_operation(&self, key: &str) -> bool {
        sqlx::query_scalar("select exists (select from operations where key = $1)")
            .bind(key)
            .fetch_one(self.database.owner_pool())
            .await
            .unwrap()
    }

    /// One round of all that runs in the background, by this process, which nobody kills.
    pub async fn round(&self) -> u64 {
        let mut handled = self.engine.take_over_expired().await.unwrap().handled;
        handled += self.engine.reconcile_due().await.unwrap().handled;
        handled + self.calls().await
    }

    /// Claims and calls, and nothing else.
    pub async fn round_of_calls(&self) {
        while self.calls().await > 0 {}
    }

    /// One claim, and waits until its calls are over.
    async fn calls(&self) -> u64 {
        const HELD: &str = "select count(*) from leases where owner = 'the suite'";
        let handled = self.hands.lock().await.claim_some().await.unwrap().handled;
        if handled > 0 {
            eventually("the calls are over", LIMIT, async || self.count(HELD).await == 0).await;
        }
        handled
    }

    /// Rounds and moved clocks until nothing is left for machines.
    ///
    /// # Panics
    /// Where it does not become quiet.
    pub async fn settle(&self) {
        const OPEN: &str = "select count(*) from operations
            where status not in ('succeeded', 'failed_terminal') and not needs_manual";
        for _ in 0..60 {
            self.database.advance_clock(PAST_LEASE).await;
            while self.round().await > 0 {}
            if self.count(OPEN).await == 0 {
                return;
            }
        }
        let open: Vec<(String, i32, i32, i64)> = sqlx::query_as(
            "select status, attempt, claims, fence from operations
             where status not in ('succeeded', 'failed_terminal') and not needs_manual",
        )
        .fetch_all(self.database.owner_pool())
        .await
        .unwrap();
        panic!("{}: does not become quiet: {open:?}", self.name);
    }

    /// The end of a scene: providers as usual, then quiet.
    pub async fn quiet(&self) {
        self.providers.clear().await.unwrap();
        self.settle().await;
    }
}
