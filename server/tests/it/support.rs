//! The stage of a test: a database of its own, two tenants with people and tokens, and the router.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
};
use domain::access::Role;
use engine::{
    Engine, RequestOrigin,
    identity::{Admin, NewStaff},
    store::kind::KindPolicy,
};
use serde_json::{Value, json};
use server::{auth::password::Passwords, commands::serve, config::Config, router::AppState};
use testkit::TestDatabase;
use tokio::sync::OnceCell;

pub use crate::clients::{Answer, Browser, Program, form, from_our_page, send};

pub const HOST: &str = "127.0.0.1:3000";
pub const PASSWORD: &str = "a password of the tests";
pub const WEBHOOK_SECRET: &str = "q8Zk2mWv7Rt4Yx1Lp9Nc5Hs3Jd6Fb0Ga";

const STAFF: [(&str, &str, Role); 6] = [
    ("viewer@acme.test", "acme", Role::Viewer),
    ("operator@acme.test", "acme", Role::Operator),
    ("approver@acme.test", "acme", Role::Approver),
    ("admin@acme.test", "acme", Role::TenantAdmin),
    ("auditor@acme.test", "acme", Role::Auditor),
    ("operator@globex.test", "globex", Role::Operator),
];

/// Everything a test needs.
pub struct Stage {
    pub database: TestDatabase,
    pub config: Config,
    pub state: AppState,
    pub router: Router,
    /// What [`Stage::effects`] asks, once it is known which tables there are.
    pub effects_of: OnceCell<Arc<str>>,
}

/// One hash for all: a test waits for none but those it asks for.
fn password_hash() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| {
        let hashing = || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(Passwords::new().hash(PASSWORD))
        };
        std::thread::spawn(hashing).join().unwrap()
    })
}

/// Money that cannot be asked about: what a person must decide.
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
        honours_keys: false,
        key_ttl_ms: None,
        call_deadline_ms: 5_000,
        lease_ms: 10_000,
        settle_window_ms: 10_000,
        max_attempts: 3,
        max_claims: 10,
        max_reconcile_tries: 3,
        backoff_ms: 1_000,
        retention_ms: Some(1_000),
        approval_threshold_minor: Some(100_000),
        masked_pointers: vec![],
        search_pointers: vec!["/invoice_id".into()],
        reference_url: None,
        undo_kind: None,
        undo_reference_member: None,
        purge_after_ms: None,
        publication: false,
        approval_ttl_ms: 86_400_000,
    }
}

impl Stage {
    /// Charges of acme can be given back, by a refund.
    pub async fn refundable(&self) {
        let mut admin = self.admin().await;
        let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
        let refund = KindPolicy {
            name: "invoice.refund".into(),
            undo_reference_member: Some("charge_id".into()),
            search_pointers: vec![],
            ..charge()
        };
        let undoable = KindPolicy { undo_kind: Some("invoice.refund".into()), ..charge() };
        for kind in [refund, undoable] {
            admin.put_kind(tenant, &kind).await.unwrap();
        }
    }

    /// The provider's webhook said of an operation that it happened, under a reference that nobody else named.
    pub async fn webhook_said_done(&self, id: &str) {
        sqlx::query(
            "insert into evidence (tenant_id, operation_id, source, says, external_reference, amount_minor, currency,
               actor_kind, actor)
             select tenant_id, id, 'webhook', 'done', 'ch_9', 12900, 'EUR', 'provider', 'payments'
             from operations where id = $1::uuid",
        )
        .bind(id)
        .execute(self.database.owner_pool())
        .await
        .unwrap();
    }

    pub async fn open() -> Self {
        Self::open_with(&[]).await
    }

    /// A stage whose configuration says more than the usual.
    pub async fn open_with(more: &[(&str, &str)]) -> Self {
        Self::open_on(TestDatabase::create().await, more).await
    }

    /// The same on a database that the test made.
    pub async fn open_on(database: TestDatabase, more: &[(&str, &str)]) -> Self {
        let url = database.url();
        let mut admin = Admin::connect(&url).await.unwrap();
        for slug in ["acme", "globex"] {
            let tenant = admin.ensure_tenant(slug, slug).await.unwrap();
            admin.put_kind(tenant, &charge()).await.unwrap();
        }
        for (email, tenant_slug, role) in STAFF {
            let new =
                NewStaff { email, name: email, password_hash: password_hash(), tenant_slug, role };
            admin.add_staff(&new).await.unwrap();
        }
        let webhook_secrets = format!("payments={WEBHOOK_SECRET}");
        let usual = [
            ("DATABASE_URL", url.as_str()),
            ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET),
            ("ONCEOVER_WEBHOOK_SECRETS", &webhook_secrets),
            ("ONCEOVER_ENGINE_CONNECTIONS", "4"),
            ("ONCEOVER_CONSOLE_CONNECTIONS", "4"),
        ];
        let settings: Vec<_> = usual
            .iter()
            .chain(more)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let config = Config::read(&settings, None).unwrap();
        let engine = Engine::connect(config.engine().unwrap()).await.unwrap();
        let addr: SocketAddr = HOST.parse().unwrap();
        let state = serve::state(&config, engine, addr).unwrap();
        let router = server::router::router(state.clone());
        Self { database, config, state, router, effects_of: OnceCell::new() }
    }

    pub async fn admin(&self) -> Admin {
        Admin::connect(&self.database.url()).await.unwrap()
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        send(&self.router, request).await
    }

    /// A browser with a session of its own, without the detour over the sign-in form.
    pub async fn browser(&self, email: &str) -> Browser<'_> {
        let attempt = self.state.engine.begin_sign_in(email).await.unwrap();
        let session = self
            .state
            .engine
            .finish_sign_in(attempt, true, RequestOrigin::here("test"))
            .await
            .unwrap();
        Browser { stage: self, cookie: Some(format!("__Host-sid={}", session.token)) }
    }

    pub fn stranger(&self) -> Browser<'_> {
        Browser { stage: self, cookie: None }
    }

    /// A service's program of a tenant.
    pub async fn service(&self, tenant: &str) -> Program<'_> {
        let name = format!("svc {}", hex::encode(rand::random::<[u8; 4]>()));
        let token = self.admin().await.add_service_token(tenant, &name, &[], None).await.unwrap();
        Program { stage: self, token: Some(token) }
    }

    /// A person's program.
    pub async fn staff(&self, email: &str) -> Program<'_> {
        let tenant = email.split(['@', '.']).nth(1).unwrap();
        let name = format!("staff {}", hex::encode(rand::random::<[u8; 4]>()));
        let token = self.admin().await.add_staff_token(email, tenant, &name, None).await.unwrap();
        Program { stage: self, token: Some(token) }
    }

    /// An operation whose call ended without an answer.
    pub async fn unknown(&self, tenant: &str, key: &str) -> Operation {
        let service = self.service(tenant).await;
        let won = service.reserve(key, 12_900).await;
        won.expect(StatusCode::CREATED);
        let (id, fence) = (won.json()["id"].clone(), won.json()["fence"].clone());
        let id = id.as_str().unwrap().to_owned();
        service
            .post(&format!("/operations/{id}/start"), &json!({ "fence": fence }))
            .await
            .expect(StatusCode::OK);
        let finish = json!({ "fence": fence, "outcome": "ambiguous" });
        let finished = service.post(&format!("/operations/{id}/finish"), &finish).await;
        finished.expect(StatusCode::OK);
        assert_eq!(finished.json()["status"], "unknown");
        let version = finished.json()["version"].as_i64().unwrap();
        Operation { id, version }
    }

    /// Rows of the audit log with this result.
    pub async fn audited(&self, result: &str) -> i64 {
        sqlx::query_scalar("select count(*) from audit where result = $1")
            .bind(result)
            .fetch_one(self.database.owner_pool())
            .await
            .unwrap()
    }
}

pub struct Operation {
    pub id: String,
    pub version: i64,
}

impl Operation {
    pub fn confirm(&self) -> Value {
        json!({
            "version": self.version,
            "outcome": "happened",
            "external_reference": "ch_1",
            "reason": "the provider's page shows it",
            "evidence": "https://provider.example/ch_1",
        })
    }
}
