//! A consumer of events: the service of another team that takes what the engine tells.
//!
//! Plain HTTP/1 on a loopback address of its own. It believes nobody: an event is
//! taken only under a signature that is right and young, once per event id however
//! often it is delivered, and what it took stands in an append-only ledger. That
//! ledger is the oracle of the outbox (I11).
//!
//! | route | does |
//! |---|---|
//! | `POST /events` | takes one CloudEvents 1.0 envelope in structured JSON, under its id as `Idempotency-Key` and signed as [`crate::signature`] says: 200; again: 200 with `Idempotent-Replayed: true`; the same id with another body: 409 `event_reused`; a signature that is wrong or old: 401; no such event: 400 |
//! | `GET /ledger` with any of `id`, `tenant`, `topic`, `aggregate`, `operation_id` | what was taken, in that order, JSON lines; `deliveries` says how often it came |
//! | `GET`, `PUT`, `POST`, `DELETE /modes` | the rules in force, a list; replaced; new ones put in front; all forgotten |
//! | `GET /health` | 200 once the ledger is read |

mod event;
mod handlers;
mod ledger;
mod rules;

use std::{future::Future, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};
use tokio::{net::TcpListener, sync::watch};

pub use self::rules::{EventMatch, EventRule, Trouble};
use self::{handlers::Shared, ledger::Ledger, rules::RuleTable};
use crate::providers::{
    Error,
    connection::{CuttableListener, Wire},
};

/// Largest request body, bytes: more than the largest event that is sent.
const BODY_LIMIT: usize = 2 * 1024 * 1024;
/// How long open requests may take after the stop.
const DRAIN: Duration = Duration::from_millis(500);
/// How far the time of a signature may lie from this service's clock.
const TOLERANCE: Duration = Duration::from_mins(5);

/// How the consumer is started.
#[derive(Clone)]
pub struct Config {
    /// Loopback only; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where the ledger and the rules are kept; its own folder.
    pub data_dir: PathBuf,
    /// What the sender signs with.
    pub secret: String,
    /// How far the time of a signature may lie from this service's clock.
    pub tolerance: Duration,
}

impl Config {
    /// A free loopback port, five minutes of tolerance.
    pub fn new(data_dir: PathBuf, secret: String) -> Self {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        Self { listen, data_dir, secret, tolerance: TOLERANCE }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("listen", &self.listen)
            .field("data_dir", &self.data_dir)
            .finish_non_exhaustive()
    }
}

/// A consumer that has read its ledger and holds its port.
pub struct Consumer {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Consumer {
    /// Reads the ledger and takes the port.
    ///
    /// # Errors
    /// [`Error`], with the address or file at fault.
    pub async fn bind(config: Config) -> Result<Self, Error> {
        if !config.listen.ip().is_loopback() {
            return Err(Error::NotLoopback(config.listen));
        }
        let ledger = Ledger::open(&config.data_dir)?;
        let path = config.data_dir.join("modes.json");
        let rules =
            RuleTable::open(path.clone()).map_err(|source| Error::Modes { path, source })?;
        let fail = |source| Error::Listen { address: config.listen, source };
        let listener = TcpListener::bind(config.listen).await.map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let shared = Shared::new(ledger, rules, config.secret, config.tolerance);
        Ok(Self { listener, address, shared: Arc::new(shared) })
    }

    /// Where it answers, such as `http://127.0.0.1:40000`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves until `stop` is ready, then lets open requests end for half a second.
    ///
    /// # Errors
    /// [`Error::Serve`] when the server ends by itself.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), Error> {
        let (tell, stopped) = watch::channel(false);
        tokio::spawn(async move {
            stop.await;
            tell.send_replace(true);
        });
        let over = |mut stopped: watch::Receiver<bool>| async move {
            // An error means the sender is gone, which is a stop as well.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        let app = router(self.shared).into_make_service_with_connect_info::<Wire>();
        let server = axum::serve(CuttableListener(self.listener), app)
            .with_graceful_shutdown(over(stopped.clone()));
        tokio::select! {
            ended = server => ended.map_err(Error::Serve),
            () = async {
                over(stopped).await;
                tokio::time::sleep(DRAIN).await;
            } => Ok(()),
        }
    }
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/events", post(handlers::take))
        .route("/ledger", get(handlers::ledger))
        .route("/health", get(|| async { "ok" }))
        .route(
            "/modes",
            get(handlers::show_modes)
                .put(handlers::replace_modes)
                .post(handlers::add_modes)
                .delete(handlers::clear_modes),
        )
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(shared)
}
