//! The fake providers: payments, mail, publications and drafts behind one address.
//!
//! Plain HTTP/1 on loopback, and [SMTP](smtp) beside it for mail, both without
//! credentials: anyone who can reach them can make them lie, so any other address
//! is refused at the start.
//!
//! | route | does |
//! |---|---|
//! | `POST /payments/charges`, `/payments/refunds`, `/mail/messages`, `/publications`, `/publications/withdrawals`, `/drafts` | one effect under the header `Idempotency-Key`: 201 with the answer; the same key again: the stored answer with `Idempotent-Replayed: true`; the same key with another body: 409 `idempotency_key_reused` |
//! | `GET` of the same paths, `?key=` or `?reference=` (the provider's id) | lookup: 200 `{found: true, count, …the newest answer}` or 404 `{found: false}` |
//! | `GET /publications/visible?document_id=` | the version that the public sees: `{document_id, visible, version, publication_reference}` |
//! | `GET /ledger` with any of `reference` (provider's id or merchant's), `key`, `invoice_id`, `campaign_id`, `recipient_id`, `document_id`, `version`, `publication_reference`, `draft_id`, `prompt_sha256`, `kind`, `provider` | the ledger lines that meet all terms, JSON lines |
//! | `GET`, `PUT`, `POST`, `DELETE /modes` | the rules in force; replaced for the providers named; new ones put in front; all forgotten |
//! | `GET /addresses` | where else it listens: `{smtp: "smtp://…", consumer: "http://…"}`, the latter where it [takes events](crate::consumer) |
//! | `GET /health` | 200 once the ledgers are read |
//!
//! Only effects are remembered under a key; a refusal or a failure is decided
//! anew. Money is not checked against earlier money: a refund beyond its charge
//! goes through and stands in the ledger, for that is what tests must see; so does the withdrawal
//! of a publication that never was.

pub(crate) mod connection;
mod controls;
mod draft;
mod effect;
mod error;
mod handlers;
mod ledger;
mod lookup;
mod mode;
mod modes;
pub(crate) mod reply;
mod smtp;
mod table;
mod webhook;

use std::{
    collections::HashMap, future::Future, io, io::Write as _, net::SocketAddr, path::PathBuf,
    sync::Arc, time::Duration,
};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Query, State},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch};

use self::{
    connection::{CuttableListener, Wire},
    handlers::Shared,
    ledger::Ledger,
    smtp::SmtpServer,
    table::ModeTable,
    webhook::WebhookSender,
};
pub use self::{
    error::Error,
    ledger::LedgerError,
    modes::{Match, Mode, Modes, Rule, WebhookPlan},
    smtp::SmtpLimits,
    webhook::WebhookTarget,
};
use crate::{EffectKind, client, consumer};

/// Largest request body, bytes: more than the engine's largest payload.
const BODY_LIMIT: usize = 1024 * 1024;
/// How long open requests may take after the stop.
const DRAIN: Duration = Duration::from_millis(500);

/// How the providers are started.
#[derive(Clone, Debug)]
pub struct Config {
    /// Loopback only; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where mail is taken by SMTP: loopback only; port 0 takes a free one.
    pub smtp_listen: SocketAddr,
    /// What an SMTP session may take.
    pub smtp: SmtpLimits,
    /// Where the ledgers and the rules are kept.
    pub data_dir: PathBuf,
    /// Makes ids and generated texts.
    pub seed: u64,
    /// Rules of the very first start; later starts read the kept ones.
    pub modes: Modes,
    /// How long idempotency keys are remembered after their effect.
    pub key_ttl: Duration,
    /// Where webhooks go; none: no rule sends one.
    pub webhook: Option<WebhookTarget>,
    /// The consumer of events that is started beside them; none: there is none.
    pub consumer: Option<consumer::Config>,
}

impl Config {
    /// A free loopback port, keys remembered for a day, no rule, no webhook.
    pub fn new(data_dir: PathBuf, seed: u64) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            smtp_listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            smtp: SmtpLimits::default(),
            data_dir,
            seed,
            modes: Modes::default(),
            key_ttl: Duration::from_hours(24),
            webhook: None,
            consumer: None,
        }
    }
}

/// Providers that have read their ledgers and hold their port.
pub struct Providers {
    listener: TcpListener,
    address: SocketAddr,
    smtp: SmtpServer,
    smtp_address: SocketAddr,
    consumer: Option<consumer::Consumer>,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
}

impl Providers {
    /// Reads the ledgers and takes the port.
    ///
    /// # Errors
    /// [`Error`], with the address or file at fault.
    pub async fn bind(config: Config) -> Result<Self, Error> {
        for listen in [config.listen, config.smtp_listen] {
            if !listen.ip().is_loopback() {
                return Err(Error::NotLoopback(listen));
            }
        }
        let ledger = Ledger::open(&config.data_dir, config.seed)?;
        let path = config.data_dir.join("modes.json");
        let modes = ModeTable::open(path.clone(), config.modes)
            .map_err(|source| Error::Modes { path, source })?;
        let (stop, stopped) = watch::channel(false);
        let webhooks = match config.webhook {
            Some(target) => {
                Some(WebhookSender::new(target, client::http_client()?, stopped.clone()))
            }
            None => None,
        };
        let fail = |source| Error::Listen { address: config.listen, source };
        let listener = TcpListener::bind(config.listen).await.map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let fail = |source| Error::Listen { address: config.smtp_listen, source };
        let smtp = SmtpServer::bind(config.smtp_listen, config.smtp).await.map_err(fail)?;
        let smtp_address = smtp.address().map_err(fail)?;
        let consumer = match config.consumer {
            Some(config) => Some(consumer::Consumer::bind(config).await?),
            None => None,
        };
        let shared =
            Arc::new(Shared::new(ledger, modes, config.seed, config.key_ttl, webhooks, stopped));
        Ok(Self { listener, address, smtp, smtp_address, consumer, shared, stop })
    }

    /// The address taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address taken for SMTP.
    pub fn smtp_address(&self) -> SocketAddr {
        self.smtp_address
    }

    fn addresses(&self) -> Value {
        let mut addresses = json!({ "smtp": format!("smtp://{}", self.smtp_address) });
        if let Some(url) = self.consumer_url() {
            addresses["consumer"] = url.into();
        }
        addresses
    }

    /// Where events are taken, if they are.
    pub fn consumer_url(&self) -> Option<String> {
        self.consumer.as_ref().map(consumer::Consumer::url)
    }

    /// Serves until `stop` is ready, then lets open requests end for half a second.
    ///
    /// # Errors
    /// [`Error::Serve`] when the server ends by itself.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), Error> {
        let addresses = self.addresses();
        let Self { listener, smtp, consumer, shared, stop: stop_sender, .. } = self;
        let mut stopped = shared.stopped();
        let mut drained = shared.stopped();
        tokio::spawn(async move {
            stop.await;
            stop_sender.send_replace(true);
        });
        let mail = smtp.run(Arc::clone(&shared), shared.stopped());
        let mut events_stopped = shared.stopped();
        let events = async move {
            match consumer {
                Some(consumer) => {
                    let stop = async move {
                        let _ = events_stopped.wait_for(|stopped| *stopped).await;
                    };
                    consumer.run(stop).await
                }
                None => Ok(()),
            }
        };
        let app = router(shared, addresses).into_make_service_with_connect_info::<Wire>();
        let server =
            axum::serve(CuttableListener(listener), app).with_graceful_shutdown(async move {
                // An error means the sender is gone, which is a stop as well.
                let _ = stopped.wait_for(|stopped| *stopped).await;
            });
        let all = async {
            let (ended, (), events) = tokio::join!(server, mail, events);
            ended.map_err(Error::Serve).and(events)
        };
        tokio::select! {
            ended = all => ended,
            () = async {
                let _ = drained.wait_for(|stopped| *stopped).await;
                tokio::time::sleep(DRAIN).await;
            } => Ok(()),
        }
    }
}

/// Binds, prints `sandbox ready: http://…` and where mail is taken on standard output and serves until
/// `stop` is ready. What `onceover sandbox` runs.
///
/// # Errors
/// As [`Providers::bind`] and [`Providers::run`].
pub async fn serve(
    config: Config,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Error> {
    let providers = Providers::bind(config).await?;
    let (http, smtp) = (providers.address(), providers.smtp_address());
    let mut text = format!("sandbox ready: http://{http}\nmail by SMTP: smtp://{smtp}\n");
    if let Some(url) = providers.consumer_url() {
        text.push_str(&format!("events: {url}/events\n"));
    }
    // In one write: whoever waits for the first line may close the pipe after it.
    if let Err(error) = io::stdout().write_all(text.as_bytes()) {
        tracing::warn!(%error, "nobody reads where the sandbox listens");
    }
    providers.run(stop).await
}

fn router(shared: Arc<Shared>, addresses: Value) -> Router {
    let mut router = Router::new()
        .route("/addresses", get(move || async move { Json(addresses) }))
        .route("/health", get(|| async { "ok" }))
        .route("/ledger", get(controls::ledger))
        .route("/publications/visible", get(controls::visible))
        .route(
            "/modes",
            get(controls::show_modes)
                .put(controls::replace_modes)
                .post(controls::add_modes)
                .delete(controls::clear_modes),
        );
    for kind in EffectKind::ALL {
        router = router.route(
            kind.path(),
            post(move |state, wire, headers, body| {
                handlers::effect(kind, state, wire, headers, body)
            })
            .get(
                move |State(shared): State<Arc<Shared>>,
                      Query(query): Query<HashMap<String, String>>| async move {
                    lookup::lookup(kind, &shared, &query)
                },
            ),
        );
    }
    router.layer(DefaultBodyLimit::max(BODY_LIMIT)).with_state(shared)
}
