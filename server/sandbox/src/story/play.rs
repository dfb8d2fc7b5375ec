//! Plays the story through the API, once.
//!
//! Every episode stands under its own key, so a story broken off half way can
//! be played again: what was played answers as a repeat and is left alone.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use super::{Episode, plan};
use crate::{
    client::{Api, ApiError, ClientError, ControlError, ProviderClient, ProviderControl},
    life::{LifeError, Performed, Timing, World, perform},
};

/// How long the engine may be away before the story gives up.
const AWAY_TRIES: u32 = 20;
const AWAY_PAUSE: Duration = Duration::from_millis(250);

/// Why the story cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum StoryError {
    /// A tenant of the story has no token, or the engine is away for good.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// An episode failed.
    #[error("episode {key}: {source}")]
    Episode {
        /// The operation key.
        key: String,
        /// Why.
        source: LifeError,
    },
    /// The trouble could not be arranged.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// No HTTP client can be made.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// One episode as it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Whose service.
    pub tenant: &'static str,
    /// The operation key.
    pub key: String,
    /// What it shows.
    pub title: &'static str,
    /// What the service saw.
    pub performed: Performed,
}

/// The story as it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Played now, in order.
    pub played: Vec<Played>,
    /// Episodes that an earlier run had played.
    pub already_played: usize,
    /// Episodes that ended otherwise than planned, a sentence each.
    pub surprises: Vec<String>,
}

impl Report {
    /// How many episodes ended how.
    pub fn results(&self) -> BTreeMap<&str, usize> {
        self.played.iter().fold(BTreeMap::new(), |mut counts, played| {
            *counts.entry(played.performed.result.as_str()).or_default() += 1;
            counts
        })
    }
}

/// Plays the story of `seed`: a few seconds when the engine answers.
///
/// # Errors
/// [`StoryError`] when the engine or the sandbox stays away; a different
/// outcome than planned is no error but a surprise in the [`Report`].
pub async fn play(api: &Api, control: &ProviderControl, seed: u64) -> Result<Report, StoryError> {
    let provider = ProviderClient::new(control.url())?;
    let mut worlds = HashMap::new();
    let mut references: HashMap<(&str, String), String> = HashMap::new();
    let mut report = Report::default();
    for mut episode in plan(seed) {
        let world = match worlds.get(episode.tenant) {
            Some(world) => world,
            None => {
                let world = World {
                    api: api.tenant(episode.tenant)?,
                    provider: provider.clone(),
                    control: control.clone(),
                    timing: Timing::default(),
                };
                worlds.entry(episode.tenant).or_insert(world)
            }
        };
        if let Some(invoice) = episode.refunds {
            // Without its charge of this run there is nothing to refund: it was told before.
            let Some(reference) = references.get(&(episode.tenant, invoice.to_owned())) else {
                report.already_played += 1;
                continue;
            };
            episode.job.payload["charge_reference"] = reference.clone().into();
        }
        let performed = patiently(world, &episode).await?;
        if let (Some(invoice), Some(reference)) = (episode.job.subject(), &performed.reference) {
            references
                .entry((episode.tenant, invoice.to_owned()))
                .or_insert_with(|| reference.clone());
        }
        note(&mut report, &episode, performed);
    }
    Ok(report)
}

async fn patiently(world: &World, episode: &Episode) -> Result<Performed, StoryError> {
    let mut attempt = 1;
    loop {
        match perform(world, &episode.job).await {
            Ok(performed) => return Ok(performed),
            Err(LifeError::Api(ApiError::Away(_))) if attempt < AWAY_TRIES => {
                attempt += 1;
                tokio::time::sleep(AWAY_PAUSE).await;
            }
            Err(source) => {
                return Err(StoryError::Episode { key: episode.job.key.clone(), source });
            }
        }
    }
}

fn note(report: &mut Report, episode: &Episode, performed: Performed) {
    const TOLD_BEFORE: [&str; 6] = [
        "replayed",
        "outcome_unknown",
        "operation_in_progress",
        "retry_later",
        "failed_terminal",
        "tombstoned",
    ];
    if performed.result != episode.expect {
        if TOLD_BEFORE.contains(&performed.result.as_str()) {
            report.already_played += 1;
            return;
        }
        report.surprises.push(format!(
            "{} of {}: {} instead of {}",
            episode.job.key, episode.tenant, performed.result, episode.expect
        ));
    }
    report.played.push(Played {
        tenant: episode.tenant,
        key: episode.job.key.clone(),
        title: episode.title,
        performed,
    });
}
