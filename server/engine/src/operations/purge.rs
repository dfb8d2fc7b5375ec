//! Removing tombstones whose kind allows it (O29): never of money, of publications, or of anything
//! that a workflow, an undo or a correction is part of. The database refuses them too.
//!
//! With the row goes all that hangs on it. Its timeline stays, as every timeline does, and says that
//! it was removed. The same key is a new operation from then on.

use super::{kind_of, logged, retrying, walk::Mark};
use crate::{
    Engine,
    error::EngineError,
    report::Report,
    store::{
        Target, conflict, due, evidence, incident, kind, note, operation, pointer, replay, term,
    },
};

/// Rows of one run.
const BATCH: usize = 100;
/// Rows that one look at a kind reads.
const LOOK: i64 = 500;

impl Engine {
    /// Removes one batch of tombstones whose kind's policy lets them go.
    ///
    /// # Errors
    /// The database's; what was done before stays done.
    pub async fn purge_due(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut db = engine.pools.engine().acquire().await?;
            let kinds = kind::purgeable(&mut db).await?;
            drop(db);
            let (mut done, mut handled) = (0, 0);
            for (tenant, name, after_ms) in kinds {
                let mut db = engine.pools.engine().acquire().await?;
                let from = engine.walks.purge(tenant, &name).map(Mark::key);
                let seen = due::purgeable(&mut db, tenant, &name, after_ms, from, LOOK).await?;
                drop(db);
                let mut left = false;
                for row in &seen {
                    if done == BATCH {
                        left = true;
                        break;
                    }
                    let mark = Mark { at: row.at, id: row.target.id };
                    engine.walks.set_purge(tenant, &name, Some(mark));
                    if row.is_free {
                        done += 1;
                        let purged = retrying(|| engine.purge(row.target)).await;
                        handled += u64::from(logged(row.target, purged)?);
                    }
                }
                if !left && i64::try_from(seen.len()).unwrap_or(LOOK) < LOOK {
                    engine.walks.set_purge(tenant, &name, None);
                }
                if done == BATCH {
                    break;
                }
            }
            Ok(Report { handled })
        })
        .await
    }

    async fn purge(&self, target: Target) -> Result<bool, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let Some(row) = operation::lock(&mut tx, target).await? else {
            return Ok(false);
        };
        let kind = kind_of(&mut tx, &row).await?;
        let allowed = kind.purge_after_ms.is_some() && !kind.money && !kind.publication;
        if !allowed || row.tombstoned_at.is_none() || pointer::keeps(&mut tx, target).await? {
            return Ok(false);
        }
        term::remove(&mut tx, target).await?;
        conflict::purge(&mut tx, target).await?;
        evidence::purge(&mut tx, target).await?;
        note::purge(&mut tx, target).await?;
        incident::purge(&mut tx, target).await?;
        replay::purge(&mut tx, target).await?;
        let purged = operation::purge(&mut tx, &row).await?;
        tx.commit().await?;
        Ok(purged)
    }
}
