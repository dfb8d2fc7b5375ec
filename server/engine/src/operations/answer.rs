//! The stored answer, replayed byte for byte (D06).

use crate::store::{answer::StoredAnswer, operation::Operation};

impl StoredAnswer {
    /// Cuts the body at a limit in bytes and says so.
    #[must_use]
    pub(crate) fn bounded(mut self, limit: usize) -> Self {
        if self.body.len() > limit {
            self.body.truncate(limit);
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
