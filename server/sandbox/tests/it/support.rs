//! A running sandbox per test, with a folder of its own.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use sandbox::{
    EffectKind,
    client::{Call, ProviderClient, ProviderControl},
    providers::{Config, Modes, Providers, Rule},
};
use serde_json::{Map, Value, json};
use tokio::{sync::oneshot, task::JoinHandle};

/// Longer than any answer takes, shorter than a person waits.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// A folder that is gone after the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("onceover-sandbox-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder can be made");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder left behind harms no other test.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running sandbox.
pub struct Running {
    pub url: String,
    pub address: std::net::SocketAddr,
    pub provider: ProviderClient,
    pub control: ProviderControl,
    pub http: reqwest::Client,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), sandbox::providers::Error>>,
}

impl Running {
    pub async fn start(folder: &Folder) -> Self {
        Self::with(Config::new(folder.path().to_owned(), 7)).await
    }

    pub async fn with(config: Config) -> Self {
        let providers = Providers::bind(config).await.expect("the sandbox starts");
        let address = providers.address();
        let url = format!("http://{address}");
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(providers.run(async {
            let _ = stopped.await;
        }));
        let provider = ProviderClient::new(&url).expect("a client");
        let control = ProviderControl::new(&url).expect("controls");
        Self { address, provider, control, http: http(), url, stop, task }
    }

    pub async fn stop(self) {
        self.stop.send(()).expect("the sandbox still runs");
        tokio::time::timeout(DEADLINE, self.task)
            .await
            .expect("the sandbox stops promptly")
            .expect("the sandbox does not panic")
            .expect("the sandbox ends well");
    }

    pub async fn rule(&self, rule: Rule) {
        self.control.add(EffectKind::Charge.provider(), rule).await.expect("the rule is taken");
    }

    pub async fn rules(&self, modes: &Modes) {
        self.control.replace(modes).await.expect("the rules are taken");
    }

    pub async fn charge(&self, key: &str, invoice: &str, amount_minor: i64) -> Call {
        self.charge_within(key, invoice, amount_minor, DEADLINE).await
    }

    pub async fn charge_within(
        &self,
        key: &str,
        invoice: &str,
        amount_minor: i64,
        deadline: Duration,
    ) -> Call {
        self.provider
            .call(EffectKind::Charge, key, &charge_body(invoice, amount_minor), deadline)
            .await
    }

    pub async fn ledger(&self, name: &str, value: &str) -> Vec<Map<String, Value>> {
        self.control.ledger(&[(name, value)]).await.expect("the ledger answers")
    }

    /// Status and body of a GET.
    pub async fn get(&self, path: &str) -> (u16, Value) {
        let response =
            self.http.get(format!("{}{path}", self.url)).send().await.expect("an answer");
        let status = response.status().as_u16();
        (status, response.json().await.expect("JSON"))
    }
}

pub fn charge_body(invoice: &str, amount_minor: i64) -> Value {
    json!({ "amount_minor": amount_minor, "currency": "EUR", "reference": invoice, "invoice_id": invoice })
}

/// A plain client for loopback.
pub fn http() -> reqwest::Client {
    let crypto = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .expect("ring knows the default versions")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .timeout(DEADLINE)
        .build()
        .expect("a client")
}

/// Polls until `check` gives a value; fails after the deadline.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, check: impl Fn() -> F) -> T {
    let waited = tokio::time::timeout(DEADLINE, async {
        loop {
            if let Some(value) = check().await {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never: {what}"))
}
