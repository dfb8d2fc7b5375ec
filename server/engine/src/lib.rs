//! The engine: operations under (tenant, operation, key) with strict states, leases and fences,
//! and the commands by which people settle what machines cannot.
//!
//! Knows neither axum nor Leptos. Pages, the JSON API and background tasks are doors to the same
//! commands; none of them holds a rule of its own. Every command authorises first, decides in
//! `domain`, writes through `store` in one transaction and commits with its event and audit rows.

mod actor;
mod backoff;
mod caller;
mod changes;
mod crash;
mod database;
mod definition;
mod error;
mod feed;
mod hints;
mod pooler;
mod report;
mod smtp;

pub mod actions;
pub mod audit;
pub mod background;
pub mod bulk;
pub mod compensation;
pub mod console;
pub mod identity;
pub mod inbox;
pub mod operations;
pub mod outbox;
pub mod provider;
pub mod reconciliation;
pub mod settings;
pub mod store;
pub mod workflows;

use std::sync::Arc;

pub use actions::{
    Acted, ActionRequest, AskToken, Attach, Attached, Decided, Issued, NewToken, Settling,
};
pub use actor::Actor;
pub use bulk::FreezeRequest;
pub use caller::{Caller, RequestOrigin, ServiceCaller, StaffCaller, Standing};
pub use error::EngineError;
pub use feed::{Following, News};
pub use inbox::{InboxSource, ReceiveMessage, Received, WebhookTaken};
pub use operations::{
    Admission, Beat, ClaimedWork, Finish, FinishOutcome, Finished, NewEvent, Reserve, Started,
};
pub use settings::{Anchors, Destination, Limits, ProviderEndpoint, Settings};
pub use store::{answer::StoredAnswer, detail::ServiceView};

use database::Pools;
use hints::Ears;
use operations::{Replays, Walks};
use provider::Providers;
use reconciliation::Turns;
use workflows::Registry;

/// The engine's handle; cloning shares it.
#[derive(Clone)]
pub struct Engine {
    pools: Pools,
    ears: Arc<Ears>,
    providers: Arc<Providers>,
    turns: Arc<Turns>,
    walks: Arc<Walks>,
    replays: Replays,
    settings: Arc<Settings>,
    workflows: Arc<Registry>,
}

impl Engine {
    /// Connects the pools. The database must have been migrated.
    ///
    /// # Errors
    /// [`EngineError::Database`] where the server cannot be reached or lacks the roles;
    /// [`EngineError::Pooled`] where a pooler stands before it;
    /// [`EngineError::Definition`] for workflows that cannot stand beside each other.
    pub async fn connect(settings: Settings) -> Result<Self, EngineError> {
        Self::connect_with_models(settings, Vec::new()).await
    }

    /// [`Engine::connect`], with models of this process besides those that the settings name: each
    /// under the provider's name that operation kinds give.
    ///
    /// # Errors
    /// As [`Engine::connect`].
    pub async fn connect_with_models(
        settings: Settings,
        models: Vec<(String, Arc<dyn provider::Model>)>,
    ) -> Result<Self, EngineError> {
        let pools = Pools::connect(&settings).await?;
        let replays = Replays::start(pools.engine().clone());
        let providers = Arc::new(Providers::new(&settings, models)?);
        let workflows = Arc::new(Registry::new(&settings.workflows)?);
        Ok(Self {
            pools,
            ears: Arc::new(Ears::new()),
            providers,
            turns: Arc::default(),
            walks: Arc::default(),
            replays,
            settings: Arc::new(settings),
            workflows,
        })
    }

    /// Whether `url` leads to PostgreSQL itself, and not through a pooler of connections.
    ///
    /// # Errors
    /// [`EngineError::Pooled`] says what the pooler does; [`EngineError::Database`] where nobody
    /// answers.
    pub async fn check_direct(url: &str) -> Result<(), EngineError> {
        database::check_direct(url).await
    }

    /// Brings the database at `url` to this build's schema; forward only.
    ///
    /// # Errors
    /// [`EngineError::Migration`] names the step that failed; those before it stay.
    pub async fn migrate(url: &str) -> Result<(), EngineError> {
        database::migrate(url).await
    }

    /// Whether the database at `url` has every migration of this build, unchanged.
    ///
    /// # Errors
    /// [`EngineError::Migration`] names the first that is missing or differs.
    pub async fn check_migrated(url: &str) -> Result<(), EngineError> {
        database::check_migrated(url).await
    }

    /// Whether the database answers on every pool.
    ///
    /// # Errors
    /// [`EngineError::Database`].
    pub async fn ping(&self) -> Result<(), EngineError> {
        self.pools.ping().await
    }

    /// The settings it was made with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs a command to its end even when whoever asked goes away (F5): axum drops a handler
    /// when its client hangs up, and a dropped `begin` poisons a connection (F4).
    async fn detached<T, F>(command: F) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, EngineError>> + Send + 'static,
    {
        tokio::spawn(command).await.map_err(|_| EngineError::Panicked)?
    }
}
