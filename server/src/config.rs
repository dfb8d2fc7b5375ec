//! Everything that can be set from outside, read once at the start and checked there.
//!
//! The environment wins over the file named by `ONCEOVER_CONFIG`. [`KEYS`] is the list of all
//! keys; docs/configuration.md explains the same list, and a test holds the two together. Guards
//! against a program that runs on with a key it did not understand, a secret that anybody can
//! guess, or sessions sent in the clear.

mod checks;
mod connections;
mod limits;
mod oidc;
mod source;
mod sources;

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use engine::{Anchors, Destination, InboxSource, Limits, ProviderEndpoint};
use url::Url;

use crate::{
    listener::{Bounds, TlsFiles},
    security::origin::Site,
};
pub(crate) use checks::is_loopback;
pub use oidc::{OidcSettings, RoleRule};
use source::Source;
pub use source::{ConfigError, KEYS, Key, Kind};

/// A text that logs and debug output never show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The settings of one process.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the console listens.
    pub addr: SocketAddr,
    /// The console's public address, where it differs from `addr`.
    pub origin: Option<Url>,
    /// Further host names that the console answers to, ports included.
    pub hosts: Vec<String>,
    /// Whether a proxy in front ends TLS.
    pub trusted_proxy: bool,
    /// Certificate and key, where this program ends TLS itself.
    pub tls: Option<TlsFiles>,
    /// What connections may take.
    pub bounds: Bounds,
    /// Proxies in front that each write down whom they were asked by.
    pub trusted_hops: usize,
    /// The database of services and workers; carries a password.
    pub database_url: Option<Secret>,
    /// The database as its owner, for migrations.
    pub migrate_url: Option<Secret>,
    /// Connections for services and workers.
    pub engine_connections: u32,
    /// Connections for the console.
    pub console_connections: u32,
    /// Where providers answer.
    pub providers: Vec<ProviderEndpoint>,
    /// Secrets of signed webhooks, by provider.
    pub webhook_secrets: Vec<(String, Secret)>,
    /// Brokers whose messages come in.
    pub inbox_sources: Vec<InboxSource>,
    /// Key of the hashes of masked search terms.
    pub search_secret: Option<Secret>,
    /// Key under which the secrets of second factors are sealed.
    pub factor_secret: Option<Secret>,
    /// How long calls under way may take once the program is told to stop.
    pub drain: Duration,
    /// This process's name as a holder of leases.
    pub worker_name: String,
    /// How much is taken and kept, and how long sessions last.
    pub limits: Limits,
    /// Where events are told.
    pub destinations: Vec<Destination>,
    /// How many days events that were told are kept.
    pub event_retention_days: u32,
    /// Where the heads of the audit chains are kept outside the database.
    pub anchors: Anchors,
    /// The identity provider that people may sign in with.
    pub oidc: Option<OidcSettings>,
    /// Where the built site lies; found beside the program where not set.
    pub site_root: Option<PathBuf>,
    /// Which log lines are written.
    pub log: String,
    /// The demo's folder.
    pub data: PathBuf,
    /// The demo's password.
    pub demo_password: Option<Secret>,
    /// The demo's seed.
    pub demo_seed: u64,
    /// Whether the demo's sample services go on working after the story.
    pub demo_traffic: bool,
}

impl Config {
    /// Reads the process's environment and the file that it names.
    ///
    /// # Errors
    /// [`ConfigError`]: a sentence for the person who started the program, never with a value.
    pub fn load() -> Result<Self, ConfigError> {
        let environment: Vec<_> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let path = environment.iter().find(|(name, _)| name == "ONCEOVER_CONFIG");
        let file = match path {
            Some((_, path)) if !path.is_empty() => {
                Some(std::fs::read_to_string(path).map_err(|error| {
                    ConfigError::new("ONCEOVER_CONFIG", format!("cannot read {path}: {error}"))
                })?)
            }
            _ => None,
        };
        Self::read(&environment, file.as_deref())
    }

    /// Reads settings from the given environment and file.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn read(environment: &[(String, String)], file: Option<&str>) -> Result<Self, ConfigError> {
        let mut source = Source::new(environment, file)?;
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 3000));
        let addr = source.parsed("ONCEOVER_ADDR", here, "an address and port: 127.0.0.1:3000")?;
        let database_url = checks::database("DATABASE_URL", source.secret("DATABASE_URL")?)?;
        let migrate_url =
            checks::database("ONCEOVER_MIGRATE_URL", source.secret("ONCEOVER_MIGRATE_URL")?)?;
        let tls = connections::tls(&mut source)?;
        let drain = Duration::from_secs(source.between("ONCEOVER_DRAIN_SECONDS", 20, 1, 3_600)?);
        let destinations = checks::destinations(&mut source)?;
        let config = Self {
            addr,
            origin: source
                .text("ONCEOVER_ORIGIN")?
                .map(|text| checks::origin(&text))
                .transpose()?,
            hosts: source.list("ONCEOVER_HOSTS")?,
            trusted_proxy: source.parsed("ONCEOVER_TRUSTED_PROXY", false, "true or false")?,
            bounds: connections::bounds(&mut source, tls.is_some(), drain)?,
            tls,
            migrate_url: migrate_url.or_else(|| database_url.clone()),
            trusted_hops: source.between("ONCEOVER_TRUSTED_HOPS", 0, 0, 10)?,
            database_url,
            engine_connections: source.between("ONCEOVER_ENGINE_CONNECTIONS", 16, 2, 500)?,
            console_connections: source.between("ONCEOVER_CONSOLE_CONNECTIONS", 8, 1, 500)?,
            providers: checks::providers(
                source.pairs("ONCEOVER_PROVIDERS")?,
                source.pairs("ONCEOVER_PROVIDER_LOOKUPS")?,
            )?,
            webhook_secrets: checks::webhook_secrets(source.pairs("ONCEOVER_WEBHOOK_SECRETS")?)?,
            inbox_sources: sources::inbox_sources(source.pairs("ONCEOVER_INBOX_SOURCES")?)?,
            search_secret: checks::secret(&mut source, "ONCEOVER_SEARCH_SECRET")?,
            factor_secret: checks::secret(&mut source, "ONCEOVER_FACTOR_SECRET")?,
            drain,
            worker_name: source.text("ONCEOVER_WORKER_NAME")?.unwrap_or_else(checks::worker_name),
            limits: limits::read(&mut source)?,
            anchors: checks::anchors(&mut source, &destinations)?,
            destinations,
            event_retention_days: source.between("ONCEOVER_EVENT_RETENTION_DAYS", 30, 1, 3_650)?,
            oidc: oidc::read(&mut source)?,
            site_root: source.text("ONCEOVER_SITE_ROOT")?.map(PathBuf::from),
            log: source.text("ONCEOVER_LOG")?.unwrap_or_else(|| "info".to_owned()),
            data: source.text("ONCEOVER_DATA")?.unwrap_or_else(|| ".data".to_owned()).into(),
            demo_password: checks::demo_password(source.secret("ONCEOVER_DEMO_PASSWORD")?)?,
            demo_seed: source.parsed("ONCEOVER_DEMO_SEED", 1, "a whole number")?,
            demo_traffic: source.parsed("ONCEOVER_DEMO_TRAFFIC", true, "true or false")?,
        };
        checks::log(&config.log)?;
        checks::transport(&config)?;
        Ok(config)
    }

    /// The names and the scheme of the console that listens on `bound`.
    #[must_use]
    pub fn site(&self, bound: SocketAddr) -> Site {
        let origin = self.origin.clone().unwrap_or_else(|| {
            let scheme = self.scheme();
            Url::parse(&format!("{scheme}://{bound}")).expect("a socket address is an authority")
        });
        let mut hosts = self.hosts.clone();
        if let Some(host) = origin.host_str() {
            let port = origin.port();
            let with_port =
                |name: &str| port.map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
            hosts.push(with_port(host));
            if checks::is_loopback(host) {
                hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(with_port));
            }
        }
        Site::new(origin.scheme(), hosts)
    }

    /// The address at which people open the console that listens on `bound`.
    #[must_use]
    pub fn public_url(&self, bound: SocketAddr) -> String {
        match &self.origin {
            Some(origin) => origin.as_str().trim_end_matches('/').to_owned(),
            None => format!("{}://{bound}", self.scheme()),
        }
    }

    /// The host that people open, without its port.
    #[must_use]
    pub fn site_host(&self) -> String {
        let own = || self.addr.ip().to_string();
        self.origin.as_ref().and_then(Url::host_str).map_or_else(own, str::to_owned)
    }

    /// How this program itself speaks.
    const fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// The engine's settings.
    ///
    /// # Errors
    /// [`ConfigError`] where the database or the search secret is not set.
    pub fn engine(&self) -> Result<engine::Settings, ConfigError> {
        let database_url = self.database()?.expose().to_owned();
        let search_secret = self.search_secret.as_ref().ok_or_else(|| {
            ConfigError::new(
                "ONCEOVER_SEARCH_SECRET",
                "is not set; any 32 characters that stay the same will do",
            )
        })?;
        Ok(engine::Settings {
            database_url,
            engine_connections: self.engine_connections,
            console_connections: self.console_connections,
            providers: self.providers.clone(),
            webhook_secrets: self
                .webhook_secrets
                .iter()
                .map(|(name, secret)| (name.clone(), secret.expose().to_owned()))
                .collect(),
            inbox_sources: self.inbox_sources.clone(),
            search_secret: search_secret.expose().as_bytes().to_vec(),
            factor_secret: self
                .factor_secret
                .as_ref()
                .map(|secret| secret.expose().as_bytes().to_vec()),
            workflows: vec![
                engine::workflows::campaign_agent().expect("a test builds every definition"),
            ],
            worker_name: self.worker_name.clone(),
            limits: self.limits,
            destinations: self.destinations.clone(),
            console_url: Some(self.public_url(self.addr)),
            event_retention_days: self.event_retention_days,
            anchors: self.anchors.clone(),
        })
    }

    /// The database's address.
    ///
    /// # Errors
    /// [`ConfigError`] where it is not set.
    pub fn database(&self) -> Result<&Secret, ConfigError> {
        self.database_url.as_ref().ok_or_else(|| {
            ConfigError::new(
                "DATABASE_URL",
                "is not set; `onceover demo` brings a database of its own",
            )
        })
    }
}

#[cfg(test)]
mod secret_tests;
#[cfg(test)]
mod tests;
