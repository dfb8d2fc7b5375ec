//! The whole story, in the order in which its parts need each other: trouble is arranged before
//! whatever meets it, and people decide when there is something to decide about.

use std::time::{Duration, Instant};

use super::{
    MARKED_TENANT, PAID, REFUSED_INVOICE, Report, StoryError, decisions, flows, messages, play,
};
use crate::{
    Provider,
    client::{Api, ConsumerControl, ControlError, Desk, ProviderControl},
    consumer::{EventRule, Trouble},
    providers::Rule,
};

/// How long what happens by itself may take before it is a surprise.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(100);

/// Everyone who takes part.
#[derive(Clone, Debug)]
pub struct Cast {
    /// The services.
    pub api: Api,
    /// The people.
    pub desk: Desk,
    /// The fake providers.
    pub providers: ProviderControl,
    /// The consumer of events.
    pub consumer: ConsumerControl,
}

/// Tells the story of `seed`. Everything in it stands under a key, an id or a version of its own,
/// so that a story that broke off, or was told already, can be told again and adds nothing twice.
///
/// # Errors
/// [`StoryError`] when the engine or the sandbox stays away; what went otherwise than planned is a
/// surprise in the [`Report`].
pub async fn tell(cast: &Cast, seed: u64) -> Result<Report, StoryError> {
    let refusal = EventRule::always(Trouble::Reject { code: "unknown_customer".into() });
    let refusal = refusal.about(MARKED_TENANT, &format!("invoice:{REFUSED_INVOICE}"), PAID);
    if !cast.consumer.modes().await?.contains(&refusal) {
        cast.consumer.add(refusal).await?;
    }
    let begun = flows::begin(cast).await?;
    let mut report = play(&cast.api, &cast.providers, seed).await?;
    messages::hand_in(cast, &mut report).await?;
    flows::see_through(cast, begun, &mut report).await?;
    decisions::decide(cast, &mut report).await?;
    Ok(report)
}

/// Puts a rule in force that holds for ever, unless it does already.
pub(super) async fn ensure(
    control: &ProviderControl,
    provider: Provider,
    rule: Rule,
) -> Result<(), ControlError> {
    let known = control.modes().await?;
    if known.0.get(&provider).is_some_and(|rules| rules.contains(&rule)) {
        return Ok(());
    }
    control.add(provider, rule).await
}

/// Waits until `check` says so; false when it never does.
pub(super) async fn patiently<F>(check: impl Fn() -> F) -> Result<bool, StoryError>
where
    F: Future<Output = Result<bool, StoryError>>,
{
    let begun = Instant::now();
    loop {
        if check().await? {
            return Ok(true);
        }
        if begun.elapsed() > PATIENCE {
            return Ok(false);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
