//! The stored answer, replayed byte for byte (D06).

use crate::store::{answer::StoredAnswer, operation::Operation};

/// The most of an answer that is stored; cut beyond and marked.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

impl StoredAnswer {
    /// Cuts the body at the limit and says so.
    #[must_use]
    pub(crate) fn bounded(mut self) -> Self {
        if self.body.len() > MAX_ANSWER_BYTES {
            self.body.truncate(MAX_ANSWER_BYTES);
            self.cut = true;
        }
        self
    }

    /// The answer for a success whose service stored none: made from columns that no longer
    /// change, so it is the same on every repeat.
    #[must_use]
    pub(crate) fn of_success(row: &Operation) -> Self {
        let body = serde_json::json!({
            "id": row.target.id,
            "status": "succeeded",
            "external_reference": row.external_reference,
        });
        Self {
            status: 200,
            content_type: "application/json".into(),
            body: body.to_string().into_bytes(),
            cut: false,
        }
    }
}
