//! The one gate that every repeat of a key passes (D05): the hash is compared before the status is
//! looked at, in every state.

use domain::{idempotency::Fingerprint, operation::Event, operation::Status};

use crate::{error::EngineError, store::operation::Operation};

/// What a repeat of a key meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Another payload (D04).
    Reused,
    /// The contents are gone (D39).
    Tombstoned,
    /// It happened: replay (D06).
    Succeeded,
    /// It did not, for good: replay (D07).
    FailedTerminal,
    /// Nobody knows (D11).
    Unknown,
    /// A call is under way.
    Executing,
    /// No call has begun.
    Reserved,
    /// It will be tried again (D09).
    FailedRetryable,
}

/// Classifies a repeat. `asked` hashes the request under the version that the row was stored with.
///
/// # Errors
/// [`EngineError::Unreadable`] where this build does not know that version: a newer one wrote the
/// row, and guessing would be running it again.
pub(crate) fn classify(
    row: &Operation,
    asked: impl FnOnce(i16) -> Option<Fingerprint>,
) -> Result<Class, EngineError> {
    let asked = asked(row.hash_version)
        .ok_or_else(|| EngineError::Unreadable(format!("hash version {}", row.hash_version)))?;
    if asked.hash != row.hash {
        return Ok(Class::Reused);
    }
    if row.tombstoned_at.is_some() {
        return Ok(Class::Tombstoned);
    }
    Ok(match row.status {
        Status::Succeeded => Class::Succeeded,
        Status::FailedTerminal => Class::FailedTerminal,
        Status::Unknown => Class::Unknown,
        Status::Executing => Class::Executing,
        Status::Reserved => Class::Reserved,
        Status::FailedRetryable => Class::FailedRetryable,
    })
}

/// Whether a final failure is proven by the provider, so that a new key is safe (D07); open
/// incidents and contrary evidence are the caller's to look up.
pub(crate) const fn is_proven_failure(ended_by: Option<Event>) -> bool {
    matches!(ended_by, Some(Event::Rejected | Event::ProofRejected | Event::NotDoneLast))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_provider_proved_not_done_frees_a_new_key() {
        let proven = [Event::Rejected, Event::ProofRejected, Event::NotDoneLast];
        for event in Event::ALL {
            assert_eq!(is_proven_failure(Some(*event)), proven.contains(event), "{event}");
        }
        assert!(!is_proven_failure(None));
    }
}
