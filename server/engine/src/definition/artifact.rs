//! What a step brings forth: a named body that is written once and never changed (D31).

use sha2::{Digest as _, Sha256};

/// The artifact that a provider's answer is stored as.
pub(crate) const RESPONSE: &str = "response";
/// The artifact that a decision is stored as.
pub(crate) const DECISION: &str = "decision";
/// The most that one artifact holds.
pub const MAX_ARTIFACT_BYTES: usize = 10 * 1024 * 1024;

/// One artifact with its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Its name within the step, such as `response` or `decision`.
    pub name: String,
    /// Media type.
    pub content_type: String,
    /// The bytes.
    pub body: Vec<u8>,
}

impl Artifact {
    /// SHA-256 of the body.
    #[must_use]
    pub fn sha256(&self) -> Vec<u8> {
        Sha256::digest(&self.body).to_vec()
    }
}
