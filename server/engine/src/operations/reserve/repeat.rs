//! A key that is sent again: the one gate, and what each state answers (D03 to D11, O4, O13, O28).

use domain::{operation::Event, problem::Code};

use super::{
    super::{
        classify::{Class, classify, is_proven_failure},
        moves::Moves,
        payload,
    },
    Admission, Checked, Reserve,
};
use crate::{
    caller::ServiceCaller,
    database::Tx,
    error::EngineError,
    store::{
        Target, answer,
        answer::StoredAnswer,
        compensation,
        conflict::{self, Conflict},
        event, evidence, incident,
        kind::KindPolicy,
        lease,
        operation::{self, Change, Operation},
    },
};

/// How much of a conflicting payload is kept.
const MAX_CONFLICT_BYTES: usize = 64 * 1024;

/// The second statement of D23 and the gate. The inner result is a refusal that must commit.
pub(super) async fn admit_repeat(
    tx: &mut Tx,
    by: &ServiceCaller,
    request: &Reserve,
    checked: &Checked<'_>,
) -> Result<Option<Result<Admission, EngineError>>, EngineError> {
    let tenant = by.tenant_id();
    let Some(id) =
        operation::find_by_key(tx, tenant, &checked.kind.name, checked.key.as_str()).await?
    else {
        return Ok(None);
    };
    let Some(mut row) = operation::lock(tx, Target { tenant, id }).await? else {
        return Ok(None);
    };
    let kind = &checked.kind;
    let admission = match classify(&row, |version| checked.fingerprint(version))? {
        Class::Reused => {
            keep_conflict(tx, by, request, checked, &row).await?;
            return Ok(Some(Err(EngineError::refused(Code::KeyReused))));
        }
        Class::Tombstoned => {
            let mut moves = Moves::new(tx, by.actor());
            moves.make(&mut row, kind, Event::TombstoneReplay, Change::default()).await?;
            moves.finish().await?;
            Admission::Tombstoned {
                id,
                status: row.status,
                external_reference: row.external_reference,
            }
        }
        Class::Succeeded => {
            let stored = answer::find(tx, row.target).await?;
            Admission::Replayed {
                id,
                answer: stored.unwrap_or_else(|| StoredAnswer::of_success(&row)),
            }
        }
        Class::FailedTerminal => Admission::FailedTerminal {
            id,
            answer: answer::find(tx, row.target).await?,
            safe_new_key: is_proven_failure(row.ended_by)
                && !event::was_guessed(tx, row.target).await?
                && !incident::any_open(tx, row.target).await?
                && !evidence::any_done(tx, row.target).await?,
        },
        Class::Unknown => Admission::OutcomeUnknown { id },
        Class::Executing => Admission::InProgress { id, retry_after_s: 1 },
        Class::Reserved => take_reserved(tx, by, kind, &mut row).await?,
        Class::FailedRetryable => retry(tx, by, kind, &mut row).await?,
    };
    Ok(Some(Ok(admission)))
}

async fn keep_conflict(
    tx: &mut Tx,
    by: &ServiceCaller,
    request: &Reserve,
    checked: &Checked<'_>,
    row: &Operation,
) -> Result<(), EngineError> {
    let Some(asked) = checked.fingerprint(row.hash_version) else {
        return Ok(());
    };
    let masked = checked.kind.masked_pointers.as_slice();
    let text = if masked.is_empty() {
        String::from_utf8_lossy(&request.payload).into_owned()
    } else {
        payload::masked(checked.payload.clone(), masked).payload.pretty()
    };
    let (text, cut) = payload::bounded(text, MAX_CONFLICT_BYTES);
    conflict::record(
        tx,
        row.target,
        Conflict {
            hash: &asked.hash,
            hash_version: asked.version,
            caller: by.name(),
            amount: checked.amount.as_ref(),
            // Of what has expired nothing is kept again (D39).
            payload: Some(text.as_bytes()).filter(|_| row.tombstoned_at.is_none()),
            cut,
        },
    )
    .await
}

/// A repeat of a reserved operation: in progress while held or queued, else taken over (O4).
async fn take_reserved(
    tx: &mut Tx,
    by: &ServiceCaller,
    kind: &KindPolicy,
    row: &mut Operation,
) -> Result<Admission, EngineError> {
    let id = row.target.id;
    if row.queued {
        return Ok(Admission::InProgress { id, retry_after_s: 1 });
    }
    if let Some(held) = lease::lock(tx, row.target).await?
        && held.is_live()
    {
        return Ok(Admission::InProgress { id, retry_after_s: seconds(held.left_ms) });
    }
    let mut moves = Moves::new(tx, by.actor());
    if row.claims >= kind.max_claims {
        let change = Change { failure_code: Some("crash_loop"), ..Change::default() };
        let event = moves.make(row, kind, Event::ClaimBound, change).await?;
        moves.finish().await?;
        return Ok(if event == Event::ClaimBound {
            Admission::FailedTerminal { id, answer: None, safe_new_key: false }
        } else {
            Admission::OutcomeUnknown { id }
        });
    }
    let change = Change { claims: Some(row.claims + 1), ..Change::default() };
    moves.make(row, kind, Event::TakeOver, change).await?;
    moves.finish().await?;
    win(tx, by, kind, row).await
}

/// A repeat of a failed operation that may be tried again: leased to the caller once it is due
/// (O13, D09).
async fn retry(
    tx: &mut Tx,
    by: &ServiceCaller,
    kind: &KindPolicy,
    row: &mut Operation,
) -> Result<Admission, EngineError> {
    let id = row.target.id;
    if let Some(next_at) = row.next_at.filter(|next_at| *next_at > row.now) {
        return Ok(Admission::RetryLater {
            id,
            retry_after_s: seconds((next_at - row.now).num_milliseconds()),
        });
    }
    // Asked to be undone, it is not tried again but given up, in a moment (O13, O14).
    if row.queued || compensation::stops_retry(tx, row.target).await? {
        return Ok(Admission::InProgress { id, retry_after_s: 1 });
    }
    let mut moves = Moves::new(tx, by.actor());
    let event = moves
        .make(row, kind, Event::Retry, Change { claims: Some(0), ..Change::default() })
        .await?;
    moves.finish().await?;
    if event == Event::Retry {
        win(tx, by, kind, row).await
    } else {
        Ok(Admission::OutcomeUnknown { id })
    }
}

async fn win(
    tx: &mut Tx,
    by: &ServiceCaller,
    kind: &KindPolicy,
    row: &Operation,
) -> Result<Admission, EngineError> {
    let lease_until = lease::grant(tx, row.target, row.fence, by.name(), kind.lease_ms).await?;
    let id = row.target.id;
    Ok(Admission::Won { id, fence: row.fence, lease_until, provider_key: id.to_string() })
}

/// Whole seconds to wait, at least one, at most a minute.
fn seconds(ms: i64) -> u64 {
    u64::try_from(ms / 1000 + 1).unwrap_or(1).clamp(1, 60)
}
