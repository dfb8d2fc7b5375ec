//! What the background says of itself: beats of processes, and what each task last did. The writes
//! are the server's to pace: one statement for all tasks every few seconds, none per empty poll.

use domain::{access::Permission, view::BackgroundView};

use crate::{
    Engine, StaffCaller,
    error::EngineError,
    report::Report,
    store::{breaker, kind, lease, outcome, task_status, worker},
};

pub use crate::store::{kind::UnreachedKind, task_status::TaskStatus};

/// Rows that one run forgets.
const BATCH: i64 = 500;
/// How long a breaker's probe may be due; with events that wait it is taken within a minute or two.
const IDLE_BREAKER_MS: i64 = 600_000;
/// Outcomes that one run counts.
const MAX_FOLDED: i64 = 5_000;

/// A beat of this process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessBeat<'a> {
    /// The first since it began.
    pub first: bool,
    /// It was told to stop.
    pub draining: bool,
    /// The last one: it ends in order.
    pub stopped: bool,
    /// Calls under way.
    pub busy: usize,
    /// Kinds that it carries out.
    pub kinds: &'a [String],
    /// The program's version.
    pub program_version: &'a str,
}

impl Engine {
    /// Says that this process lives, and what it is at.
    ///
    /// # Errors
    /// The database's.
    pub async fn beat(&self, beat: &ProcessBeat<'_>) -> Result<(), EngineError> {
        let mut db = self.pools.engine().acquire().await?;
        let beat = worker::Beat {
            name: &self.settings.worker_name,
            first: beat.first,
            draining: beat.draining,
            stopped: beat.stopped,
            busy: i32::try_from(beat.busy).unwrap_or(i32::MAX),
            kinds: beat.kinds,
            program_version: beat.program_version,
        };
        worker::beat(&mut db, &beat).await
    }

    /// Writes down what tasks of this process last did.
    ///
    /// # Errors
    /// The database's.
    pub async fn report_tasks(&self, statuses: &[TaskStatus]) -> Result<(), EngineError> {
        if statuses.is_empty() {
            return Ok(());
        }
        let mut db = self.pools.engine().acquire().await?;
        task_status::put(&mut db, &self.settings.worker_name, statuses).await
    }

    /// Folds what operations became into the counts per hour that the first page shows.
    ///
    /// # Errors
    /// The database's.
    pub async fn fold_outcomes(&self) -> Result<Report, EngineError> {
        let mut db = self.pools.engine().acquire().await?;
        Ok(Report { handled: outcome::fold(&mut db, MAX_FOLDED).await? })
    }

    /// Forgets what processes left that were not seen for a day, and breakers that nobody asks.
    ///
    /// # Errors
    /// The database's.
    pub async fn forget_dead_workers(&self) -> Result<Report, EngineError> {
        let mut db = self.pools.engine().acquire().await?;
        let handled = task_status::forget_dead(&mut db, BATCH).await?
            + worker::forget_dead(&mut db, BATCH).await?
            + breaker::forget_unasked(&mut db, IDLE_BREAKER_MS).await?;
        Ok(Report { handled })
    }

    /// Tasks and processes, for whoever runs the program.
    ///
    /// # Errors
    /// The database's.
    pub async fn background_status(&self) -> Result<BackgroundView, EngineError> {
        let mut db = self.pools.engine().acquire().await?;
        Ok(BackgroundView {
            as_of: lease::clock(&mut db).await?,
            tasks: task_status::all(&mut db).await?,
            workers: worker::all(&mut db).await?,
        })
    }

    /// Kinds whose provider no process at work reaches, for whoever runs the program: what is queued
    /// of them waits, and so do questions about their unknown outcomes.
    ///
    /// # Errors
    /// The database's.
    pub async fn unreached_kinds(&self) -> Result<Vec<UnreachedKind>, EngineError> {
        let mut db = self.pools.engine().acquire().await?;
        kind::unreached(&mut db).await
    }

    /// Tasks and processes, for staff: of the kinds that a process carries out, those that the
    /// reader's tenant has.
    ///
    /// # Errors
    /// Refused: `permission_missing`.
    pub async fn background(&self, by: &StaffCaller) -> Result<BackgroundView, EngineError> {
        by.require(Permission::Read)?;
        let (engine, tenant) = (self.clone(), by.tenant_id());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let own = kind::names(&mut tx, tenant).await?;
            let mut workers = worker::all(&mut tx).await?;
            for worker in &mut workers {
                worker.kinds.retain(|kind| own.contains(kind));
            }
            let view = BackgroundView {
                as_of: lease::clock(&mut tx).await?,
                tasks: task_status::all(&mut tx).await?,
                workers,
            };
            tx.rollback().await?;
            Ok(view)
        })
        .await
    }
}
