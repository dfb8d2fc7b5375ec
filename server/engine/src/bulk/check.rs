//! Looking at each row of a frozen set: would the decision be carried out as things are, and if not, why
//! not. The checks are those of the decision itself; nothing is written but what was found out.

use domain::{
    action::Subject,
    bulk::{BulkState, BulkSum, Standing},
};

use super::{advance::still_held, freeze::asked_by};
use crate::{
    ActionRequest, Engine,
    error::EngineError,
    identity::standing,
    store::{
        bulk::{self, Bulk, Held, Progress},
        bulk_row::{self, Looked, Next},
    },
};
use domain::problem::Code;

/// Rows that one batch looks at.
const BATCH: i64 = 100;

/// What the decision about a row is asked with while it is only looked at; it is kept nowhere.
const NO_REASON_YET: &str = "looked at";

impl Engine {
    /// Looks at the next rows of a set; how many.
    pub(super) async fn check_on(&self, held: Held) -> Result<u64, EngineError> {
        let place = (held.tenant, held.id);
        let mut tx = self.pools.begin_console(held.tenant).await?;
        let Some(now) = still_held(&mut tx, held, BulkState::Checking).await? else {
            return Ok(0);
        };
        let rows = bulk_row::next(&mut tx, place, Standing::Frozen, BATCH).await?;
        if rows.is_empty() {
            bulk::make_move(&mut tx, &now, BulkState::Ready, None).await?;
            tx.commit().await?;
            return Ok(1);
        }
        let by = standing(&mut tx, held.tenant, now.frozen_by_id, asked_by(held.id)).await?;
        // The lock goes before the rows are looked at: each of those is a transaction of its own.
        tx.commit_quietly().await?;
        let mut looked = Vec::with_capacity(rows.len());
        for row in &rows {
            let why_not = match &by {
                Some(by) => {
                    let (engine, by) = (self.clone(), by.clone());
                    let request = decision(&now, row, NO_REASON_YET);
                    // In a task of its own, so that a panic costs one row (R22).
                    let looked =
                        Self::detached(async move { engine.look_at_row(&by, &request).await });
                    looked.await.err().map(refusal).transpose()?
                }
                None => Some((Code::PermissionMissing, None)),
            };
            looked.push(Looked { place: row.place, why_not });
        }
        let mut tx = self.pools.begin_console(held.tenant).await?;
        let Some(now) = still_held(&mut tx, held, BulkState::Checking).await? else {
            return Ok(0);
        };
        bulk_row::looked_at(&mut tx, place, &looked).await?;
        let mut sums = now.sums.clone();
        let can = rows.iter().zip(&looked).filter(|(_, looked)| looked.why_not.is_none());
        can.clone().for_each(|(row, _)| add(&mut sums, row));
        let (all, eligible) = (count(rows.len()), count(can.count()));
        let made = Progress { eligible, ineligible: all - eligible, ..Progress::default() };
        bulk::progress(&mut tx, &now, made, &sums).await?;
        tx.commit().await?;
        Ok(u64::try_from(all).unwrap_or_default())
    }
}

/// The decision about one row.
pub(super) fn decision(bulk: &Bulk, row: &Next, reason: &str) -> ActionRequest {
    let target = Subject::new(bulk.row.target_type, row.target.to_string());
    ActionRequest::new(target, bulk.row.verb, row.version, reason)
}

/// Why a row cannot be decided. A database that does not answer says nothing about the row; what is
/// wrong with one row is logged and does not stop the others (I18).
pub(super) fn refusal(error: EngineError) -> Result<(Code, Option<String>), EngineError> {
    let refusal = error.refusal();
    if refusal.code == Code::Unavailable || error.is_transient() {
        return Err(error);
    }
    if error.is_fault() {
        tracing::error!(error = ?error, "a row of a bulk was passed over");
    }
    Ok((refusal.code, refusal.detail))
}

fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

fn add(sums: &mut Vec<BulkSum>, row: &Next) {
    let currency = row.amount.as_ref().map(|money| money.currency.clone());
    let amount_minor = row.amount.as_ref().map_or(0, |money| money.amount_minor);
    match sums.iter_mut().find(|sum| sum.kind == row.label && sum.currency == currency) {
        Some(sum) => {
            sum.amount_minor = sum.amount_minor.saturating_add(amount_minor);
            sum.rows += 1;
        }
        None => sums.push(BulkSum { kind: row.label.clone(), currency, amount_minor, rows: 1 }),
    }
}
