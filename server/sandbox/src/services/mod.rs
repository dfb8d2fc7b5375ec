//! The sample services: an invoicing and a campaign service per tenant, at a low rate.
//!
//! They know the engine only through `/api/v1` and a service token, survive its
//! absence by asking again with growing pauses, and stop within the grace of
//! [`STOP_GRACE`]. What each does next is [`traffic::job`], a pure function of
//! the seed; how far each has come is kept on disk, so that a restarted demo
//! goes on instead of repeating itself. A step done but not noted is done
//! again under the same key, which is what keys are for.

mod progress;
pub mod traffic;
mod worker;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use tokio::{sync::watch, task::JoinSet};

use self::{
    progress::Progress,
    traffic::{Service, Step},
};
use crate::{
    client::{Api, ApiError, ClientError, ProviderClient, ProviderControl},
    life::{LifeError, Timing, World, perform},
};

/// How long a life that has begun may go on after the stop. Beyond, the
/// service dies between start and finish, which its lease will show.
pub const STOP_GRACE: Duration = Duration::from_secs(2);
/// Longest pause between two tries while the engine is away.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// How the sample services are started.
#[derive(Clone, Debug)]
pub struct Config {
    /// The engine's address, such as `http://127.0.0.1:3000`.
    pub api_url: String,
    /// The providers' address.
    pub sandbox_url: String,
    /// Service tokens by tenant; each tenant gets its own services.
    pub service_tokens: BTreeMap<String, String>,
    /// Makes invoices, recipients, amounts and troubles.
    pub seed: u64,
    /// Pause between two steps of one service.
    pub every: Duration,
    /// Where the progress is kept.
    pub data_dir: PathBuf,
    /// Whether the services also claim what is queued or to be retried.
    /// Leave it off where the engine's own workers do.
    pub claim: bool,
    /// Limits of calls and beats.
    pub timing: Timing,
}

impl Config {
    /// One step every two seconds per service, no claiming.
    pub fn new(
        api_url: String,
        sandbox_url: String,
        service_tokens: BTreeMap<String, String>,
        seed: u64,
        data_dir: PathBuf,
    ) -> Self {
        let every = Duration::from_secs(2);
        Self {
            api_url,
            sandbox_url,
            service_tokens,
            seed,
            every,
            data_dir,
            claim: false,
            timing: Timing::default(),
        }
    }
}

/// Why the services do not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No HTTP client can be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A tenant's token is missing.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The progress cannot be read.
    #[error("cannot read the progress in {path}")]
    Progress {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Runs the services until `stop` turns true or its sender is gone.
///
/// # Errors
/// [`Error`] at the start; afterwards every trouble is waited out.
pub async fn run(config: Config, stop: watch::Receiver<bool>) -> Result<(), Error> {
    let api = Api::new(&config.api_url, config.service_tokens.clone())?;
    let provider = ProviderClient::new(&config.sandbox_url)?;
    let control = ProviderControl::new(&config.sandbox_url)?;
    let mut tasks = JoinSet::new();
    for tenant in config.service_tokens.keys() {
        let world = World {
            api: api.tenant(tenant)?,
            provider: provider.clone(),
            control: control.clone(),
            timing: config.timing,
        };
        for service in Service::ALL {
            let path = config.data_dir.join(format!("{tenant}-{}.next", service.name()));
            let progress =
                Progress::open(path.clone()).map_err(|source| Error::Progress { path, source })?;
            let loop_ = ServiceLoop {
                world: world.clone(),
                tenant: tenant.clone(),
                service,
                seed: config.seed,
                every: config.every,
                progress,
                last_charge: None,
            };
            tasks.spawn(loop_.run(stop.clone()));
        }
        if config.claim {
            tasks.spawn(worker::run(world, config.every, stop.clone()));
        }
    }
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a sample service ended early");
        }
    }
    Ok(())
}

/// One service of one tenant.
struct ServiceLoop {
    world: World,
    tenant: String,
    service: Service,
    seed: u64,
    every: Duration,
    progress: Progress,
    /// What the last charge left to refund.
    last_charge: Option<traffic::Charged>,
}

impl ServiceLoop {
    async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut failures = 0;
        while !is_stopped(&stop) {
            let Some(lived) = with_grace(self.step(), &mut stop).await else {
                return;
            };
            match lived {
                Ok(()) => failures = 0,
                Err(error) => {
                    failures += 1;
                    tracing::debug!(tenant = self.tenant, service = self.service.name(), failures, %error, "waits");
                }
            }
            if !pause(&mut stop, backoff(self.every, failures)).await {
                return;
            }
        }
    }

    /// Does the next step; an error leaves it to be done again.
    async fn step(&mut self) -> Result<(), LifeError> {
        let number = self.progress.next();
        let Step { job, is_charge } =
            traffic::job(self.seed, &self.tenant, self.service, number, self.last_charge.as_ref());
        let performed = match perform(&self.world, &job).await {
            // Asking again would not help: an answer beyond the interface is noted, and passed by.
            Err(LifeError::Api(error @ ApiError::Unexpected { .. })) => {
                tracing::warn!(tenant = self.tenant, key = job.key, %error, "passes by");
                None
            }
            lived => Some(lived?),
        };
        if let Some(performed) = performed {
            tracing::debug!(
                tenant = self.tenant,
                key = job.key,
                result = performed.result,
                "lived"
            );
            if is_charge {
                self.last_charge = traffic::Charged::of(&job, performed.reference);
            }
        }
        self.progress.done();
        Ok(())
    }
}

fn is_stopped(stop: &watch::Receiver<bool>) -> bool {
    *stop.borrow() || stop.has_changed().is_err()
}

/// Waits; false when stopped meanwhile.
async fn pause(stop: &mut watch::Receiver<bool>, duration: Duration) -> bool {
    tokio::select! {
        () = tokio::time::sleep(duration) => true,
        _ = stop.wait_for(|stopped| *stopped) => false,
    }
}

/// Lets `life` end, but not longer than the grace after the stop.
async fn with_grace<T>(
    life: impl Future<Output = T>,
    stop: &mut watch::Receiver<bool>,
) -> Option<T> {
    tokio::select! {
        ended = life => Some(ended),
        () = async {
            let _ = stop.wait_for(|stopped| *stopped).await;
            tokio::time::sleep(STOP_GRACE).await;
        } => None,
    }
}

/// The usual pause, doubled with every failure in a row.
fn backoff(every: Duration, failures: u32) -> Duration {
    every.saturating_mul(1 << failures.min(6)).min(LONGEST_PAUSE.max(every))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_grows_and_stays_bounded() {
        let every = Duration::from_secs(2);
        assert_eq!(backoff(every, 0), every);
        assert_eq!(backoff(every, 2), Duration::from_secs(8));
        assert_eq!(backoff(every, 40), LONGEST_PAUSE);
        assert_eq!(backoff(Duration::from_mins(1), 3), Duration::from_mins(1));
    }
}
