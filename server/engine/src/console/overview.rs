//! What needs a person now: one queue per cause, read up to a bound and counted exactly below it.

use std::collections::BTreeMap;

use domain::{
    access::Permission,
    money::{Money, exponent},
    view::{AttentionRow, Cause, Overview, Queue},
};

use crate::{
    Engine, StaffCaller,
    error::EngineError,
    store::{lease, listing, listing::Waiting},
};

/// Rows of a queue that are read and counted.
const MAX_COUNTED: i64 = 1000;
/// Rows of the merged queue.
const MAX_MERGED: usize = 50;

impl Engine {
    /// The queues and their merged beginning.
    ///
    /// # Errors
    /// Refused: `permission_missing`.
    pub async fn overview(&self, by: &StaffCaller) -> Result<Overview, EngineError> {
        by.require(Permission::Read)?;
        let (engine, tenant) = (self.clone(), by.tenant_id());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let now = lease::clock(&mut tx).await?;
            let mut queues = Vec::new();
            let mut all = Vec::new();
            for cause in Cause::ALL {
                let max = MAX_COUNTED + 1;
                let waiting = match cause {
                    Cause::UnknownOutcome => listing::waiting_unknown(&mut tx, tenant, max).await?,
                    Cause::StuckLease => listing::waiting_leases(&mut tx, tenant, max).await?,
                    Cause::OpenIncident => listing::waiting_incidents(&mut tx, tenant, max).await?,
                    Cause::PayloadConflict => {
                        listing::waiting_conflicts(&mut tx, tenant, max).await?
                    }
                };
                queues.push(queue(cause, &waiting));
                all.extend(waiting.into_iter().map(|waiting| (cause, waiting)));
            }
            all.sort_by(|(_, a), (_, b)| stake(b).total_cmp(&stake(a)).then(a.since.cmp(&b.since)));
            // An operation stands once, under its most pressing cause.
            let mut merged: Vec<(Cause, Waiting)> = Vec::new();
            for (cause, waiting) in all {
                match merged.iter().position(|(_, known)| known.id == waiting.id) {
                    Some(at) if rank(cause) < rank(merged[at].0) => merged[at] = (cause, waiting),
                    Some(_) => {}
                    None if merged.len() < MAX_MERGED => merged.push((cause, waiting)),
                    None => break,
                }
            }
            let ids: Vec<_> = merged.iter().map(|(_, waiting)| waiting.id).collect();
            let rows = listing::rows(&mut tx, tenant, &ids, now).await?;
            tx.commit().await?;
            let merged = merged
                .into_iter()
                .filter_map(|(cause, waiting)| {
                    let operation = rows.iter().find(|row| row.id == waiting.id)?.clone();
                    Some(AttentionRow { cause, operation, since: waiting.since })
                })
                .collect();
            Ok(Overview { as_of: now, queues, merged })
        })
        .await
    }
}

fn rank(cause: Cause) -> usize {
    Cause::ALL.iter().position(|known| *known == cause).unwrap_or(Cause::ALL.len())
}

/// The stake for ordering alone: major units, currencies taken as equal. Never shown.
fn stake(waiting: &Waiting) -> f64 {
    waiting.amount.as_ref().map_or(0.0, |money| {
        let scale = 10_f64.powi(i32::try_from(exponent(&money.currency)).unwrap_or(2));
        #[expect(
            clippy::cast_precision_loss,
            reason = "orders rows; the amounts themselves stay exact"
        )]
        let minor = money.amount_minor as f64;
        minor / scale
    })
}

fn queue(cause: Cause, waiting: &[Waiting]) -> Queue {
    let found = i64::try_from(waiting.len()).unwrap_or(i64::MAX);
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for money in waiting.iter().filter_map(|waiting| waiting.amount.as_ref()) {
        let sum = sums.entry(&money.currency).or_default();
        *sum = sum.saturating_add(money.amount_minor);
    }
    Queue {
        cause,
        count: found.min(MAX_COUNTED),
        more: found > MAX_COUNTED,
        oldest_at: waiting.iter().map(|waiting| waiting.since).min(),
        at_stake: sums
            .into_iter()
            .map(|(currency, amount_minor)| Money { amount_minor, currency: currency.to_owned() })
            .collect(),
    }
}
