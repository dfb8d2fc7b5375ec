//! Deciding the rows of a bulk that was started, one after the other, in the name of whoever started it.
//! Before each row the bulk and the person's right are looked at again; a row's result is written after
//! its decision, and a run that dies between the two finds the receipt by the derived key.

use domain::bulk::{BulkState, Standing};

use super::{
    advance::still_held,
    check::{decision, refusal},
    freeze::asked_by,
};
use crate::{
    Engine, StaffCaller,
    crash::crash_point,
    database::Tx,
    error::EngineError,
    identity::standing,
    store::{
        bulk::{self, Bulk, Held, Progress},
        bulk_row::{self, Next, Outcome},
    },
};

/// Rows that one batch decides.
const BATCH: usize = 20;

impl Engine {
    /// Decides the next rows of a bulk that runs; how many.
    pub(super) async fn run_on(&self, held: Held) -> Result<u64, EngineError> {
        let mut handled = 0;
        for _ in 0..BATCH {
            let Some((now, row, by)) = self.next_row(held).await? else { break };
            crash_point!("B1");
            let reason = now.reason.as_deref().unwrap_or_default();
            let request = decision(&now, &row, reason);
            // In a task of its own, so that a panic costs one row (R22).
            let engine = self.clone();
            let decided =
                Self::detached(async move { engine.act_on_row(&by, held.id, &request).await });
            let outcome = match decided.await {
                Ok(acted) => Outcome::Done(acted.receipt.id),
                Err(error) => {
                    let (code, detail) = refusal(error)?;
                    Outcome::Refused(code, detail)
                }
            };
            crash_point!("B2");
            self.settle_row(held, &row, &outcome).await?;
            handled += 1;
        }
        Ok(handled)
    }

    /// The next row, and who decides it as they stand now; `None` where the bulk is to rest: it was
    /// paused or given up, somebody else works on it, its rows are at their end, or the right is gone.
    async fn next_row(&self, held: Held) -> Result<Option<(Bulk, Next, StaffCaller)>, EngineError> {
        let mut tx = self.pools.begin_console(held.tenant).await?;
        let Some(now) = still_held(&mut tx, held, BulkState::Running).await? else {
            return Ok(None);
        };
        let place = (held.tenant, held.id);
        let Some(row) = bulk_row::next(&mut tx, place, Standing::Eligible, 1).await?.pop() else {
            bulk::make_move(&mut tx, &now, BulkState::Over, None).await?;
            tx.commit().await?;
            return Ok(None);
        };
        let Some(by) = who_may(&mut tx, &now).await? else {
            let right = now.row.verb.permission_on(now.row.target_type);
            let who = now.row.run_by.as_deref().unwrap_or("Whoever started it");
            let why = format!("{who} does not have the right to {} any more.", right.label());
            bulk::make_move(&mut tx, &now, BulkState::Paused, Some(&why)).await?;
            tx.commit().await?;
            return Ok(None);
        };
        tx.commit_quietly().await?;
        Ok(Some((now, row, by)))
    }

    /// Writes a row's result. The decision was taken, whatever became of the bulk meanwhile.
    async fn settle_row(
        &self,
        held: Held,
        row: &Next,
        outcome: &Outcome,
    ) -> Result<(), EngineError> {
        let place = (held.tenant, held.id);
        let mut tx = self.pools.begin_console(held.tenant).await?;
        let Some(now) = bulk::lock(&mut tx, held.tenant, held.id).await? else { return Ok(()) };
        if bulk_row::settle(&mut tx, place, row.place, outcome).await? {
            let done = i64::from(matches!(outcome, Outcome::Done(_)));
            let made = Progress { done, refused: 1 - done, ..Progress::default() };
            bulk::progress(&mut tx, &now, made, &now.sums).await?;
        }
        crash_point!("B3");
        tx.commit_quietly().await?;
        Ok(())
    }
}

/// The person in whose name the rows are decided, where both rights are still theirs.
async fn who_may(tx: &mut Tx, now: &Bulk) -> Result<Option<StaffCaller>, EngineError> {
    let Some(person) = now.run_by_id else { return Ok(None) };
    let by = standing(tx, now.tenant, person, asked_by(now.row.id)).await?;
    let right = now.row.verb.permission_on(now.row.target_type);
    Ok(by.filter(|by| by.permits(right) && by.permits(domain::access::Permission::Bulk)))
}
