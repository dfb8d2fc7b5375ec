//! What each command does; `main` turns a failure into sentences and an exit code.

pub mod audit;
pub mod demo;
pub mod doctor;
mod durable;
pub mod report;
pub mod sandbox;
pub mod serve;
pub mod staff;
pub mod token;

use std::{error::Error, fmt::Display, future::Future};

use engine::{Engine, EngineError, identity::Admin};

use crate::{
    cli::{Arguments, Command},
    config::{Config, ConfigError, Secret},
    refusal::chain,
    telemetry,
};

/// Why a command failed: sentences for the person at the terminal.
#[derive(Debug)]
pub struct Failure(Vec<String>);

impl Failure {
    /// One sentence.
    #[must_use]
    pub fn new(sentence: impl Display) -> Self {
        Self(vec![sentence.to_string()])
    }

    /// Several, one per fault.
    #[must_use]
    pub const fn all(sentences: Vec<String>) -> Self {
        Self(sentences)
    }

    /// What went wrong while doing something.
    #[must_use]
    pub fn doing(what: &str, error: &(dyn Error + 'static)) -> Self {
        Self::new(format!("{what}: {}", chain(error)))
    }

    /// The sentences.
    #[must_use]
    pub fn sentences(&self) -> &[String] {
        &self.0
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(error)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match &error {
            EngineError::Refused(refusal) => {
                let detail = refusal.detail.clone().unwrap_or_default();
                Self::new(format!("{} {detail}", refusal.code.title()).trim())
            }
            error => Self::new(chain(error)),
        }
    }
}

/// Runs a command to its end.
///
/// # Errors
/// [`Failure`], with the sentences to print.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        // A report is looked at where there is neither configuration nor database.
        Command::Report(command) => report::run(command),
        Command::Serve { no_workers } => {
            configured(|config| logged(config, serve::serve(config, !no_workers)))
        }
        Command::Work => configured(|config| logged(config, serve::work(config))),
        Command::Migrate => configured(|config| block_on(serve::migrate(config))),
        Command::Staff(command) => configured(|config| block_on(staff::run(config, command))),
        Command::Token(command) => configured(|config| block_on(token::run(config, command))),
        Command::Audit(command) => configured(|config| block_on(audit::run(config, command))),
        Command::Doctor => configured(|config| block_on(doctor::run(config))),
        Command::Sandbox(options) => configured(|config| logged(config, sandbox::run(options))),
        Command::Demo => configured(demo::run),
    }
}

fn configured(command: impl FnOnce(&Config) -> Result<(), Failure>) -> Result<(), Failure> {
    command(&Config::load()?)
}

fn logged(config: &Config, work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    telemetry::start(&config.log);
    block_on(work)
}

fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::doing("cannot start threads", &error))?
        .block_on(work)
}

/// A connection of the database's owner, for a command that administers.
async fn administer(config: &Config) -> Result<Admin, Failure> {
    config.database()?;
    let url = config.migrate_url.as_ref().map(Secret::expose).unwrap_or_default();
    Engine::check_direct(url).await?;
    Ok(Admin::connect(url).await?)
}
