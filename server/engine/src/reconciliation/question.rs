//! How to ask about an unknown outcome (D13): by the provider's reference, else by our key, else, and
//! only while the provider surely remembers that key, by sending the same request under it again.
//!
//! Guards against the question that becomes a second effect: a key may be forgotten, and then the
//! repeat is done. So its age is counted from the first call begun, with a margin, and on this
//! process's own clock from before that was read: a process that was paused does not send.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use super::MAX_TAKEOVERS;
use crate::{
    error::EngineError,
    store::{answer, evidence, kind::KindPolicy, operation::Operation, pointer},
};

/// What a turn does.
pub(super) enum Ask {
    /// The provider's lookup.
    Lookup,
    /// The same request under the same key. Not to be sent after the instant.
    Resend(Vec<u8>, Instant),
    /// Nothing yet: a request may still be under way.
    Wait(DateTime<Utc>),
    /// There is no way.
    Nothing,
}

impl Ask {
    /// Its name in the timeline.
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Resend(..) => "resend",
            Self::Wait(_) => "wait",
            Self::Nothing => "nothing",
        }
    }
}

/// Chooses. `read` is an instant from before the row's clock was read.
pub(super) async fn choose(
    db: &mut PgConnection,
    row: &Operation,
    kind: &KindPolicy,
    read: Instant,
) -> Result<Ask, EngineError> {
    if kind.lookup && !row.ask_by_resend {
        return Ok(Ask::Lookup);
    }
    if !may_resend(db, row, kind).await? {
        return Ok(Ask::Nothing);
    }
    let (Some(left), Some(payload)) =
        (remembered_for(row, kind), answer::payload(db, row.target).await?)
    else {
        return Ok(Ask::Nothing);
    };
    // Two of the same at once are what a provider's keys are worst at.
    match settled_at(row, kind) {
        Some(at) if row.now < at => Ok(Ask::Wait(at)),
        _ => Ok(Ask::Resend(payload, read + left)),
    }
}

/// Whether there is nothing left to ask by the chosen way. Turns whose reconcilers died within them count:
/// a question that kills whoever asks it is asked a bounded number of times, too (I18).
pub(super) fn is_spent(ask: &Ask, row: &Operation, kind: &KindPolicy) -> bool {
    match ask {
        Ask::Nothing => true,
        Ask::Lookup => row.reconcile_tries >= kind.max_reconcile_tries,
        Ask::Resend(..) | Ask::Wait(_) => false,
    }
}

/// Whether sending again may be asked by at all, now.
pub(super) async fn may_resend(
    db: &mut PgConnection,
    row: &Operation,
    kind: &KindPolicy,
) -> Result<bool, EngineError> {
    Ok(remembered_for(row, kind).is_some()
        && row.takeovers < MAX_TAKEOVERS
        && row.resends < kind.max_reconcile_tries
        && !evidence::any_outcome(db, row.target).await?
        && !pointer::is_being_undone(db, row.target).await?)
}

/// How long the provider still surely remembers the key: its memory, less a tenth and the time that a
/// request may take to arrive. `None`: it may have been forgotten, or nobody says for how long it is
/// kept.
fn remembered_for(row: &Operation, kind: &KindPolicy) -> Option<Duration> {
    let memory = kind.key_ttl_ms.filter(|_| kind.honours_keys)?;
    let age = (row.now - row.first_started_at?).num_milliseconds().max(0);
    let left = memory - memory / 10 - kind.call_deadline_ms - age;
    u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_millis)
}

/// When whatever was last sent has settled: its deadline and the settle window are over.
pub(super) fn settled_at(row: &Operation, kind: &KindPolicy) -> Option<DateTime<Utc>> {
    let after = TimeDelta::try_milliseconds(kind.call_deadline_ms + kind.settle_window_ms)?;
    row.last_sent_at()?.checked_add_signed(after)
}
