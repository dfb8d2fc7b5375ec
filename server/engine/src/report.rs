//! What one run of a background task did.

/// The result of one bounded batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows handled; a full batch means that there is more.
    pub handled: u64,
}
