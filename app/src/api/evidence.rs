//! Files as evidence: those that a form carries, and the way back to it after one was attached.

use domain::{
    action::Verb,
    evidence::MAX_FILE_BYTES,
    ids::{EvidenceId, OperationId},
    view::{EvidenceFile, Refusal},
};
use form_urlencoded::Serializer;

use super::{
    context::{caller, carry_out, engine},
    refused::{Kept, RefusedForm, read_ids},
    written::written,
};
use crate::error::{ConsoleError, RefusalView};

/// The files of an operation that a form carries.
///
/// # Errors
/// The engine's refusal; the page that asks keeps its own status.
pub async fn files(
    id: OperationId,
    ids: Vec<EvidenceId>,
) -> Result<Vec<EvidenceFile>, ConsoleError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let (engine, caller) = (engine()?, caller()?);
    let by = caller.clone();
    carry_out(&caller, async move { engine.evidence_files(&by, id, &ids).await }).await
}

/// The most bytes that this server takes in a file.
#[must_use]
pub fn file_limit() -> i64 {
    let limit = engine().map_or(MAX_FILE_BYTES, |engine| engine.settings().limits.evidence_bytes);
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Where a file's form leads: back to the decision that it belongs to with everything typed but the
/// choice, or to the operation's evidence.
#[must_use]
pub fn back(
    id: OperationId,
    fields: &[(String, String)],
    attached: Result<EvidenceId, Refusal>,
) -> String {
    let text = |name: &str| {
        let found = fields.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, text)| text.as_str())
    };
    let verb = text("back").parse::<Verb>().ok();
    let verb = verb.filter(|verb| matches!(verb, Verb::Confirm | Verb::Correct));
    let mut files = read_ids(text("evidence_files"));
    files.extend(attached.as_ref().ok());
    files.dedup();
    let kept = Kept {
        reason: text("reason").to_owned(),
        external_reference: text("external_reference").to_owned(),
        amount_minor: text("amount_minor").to_owned(),
        currency: text("currency").to_owned(),
        evidence: written(text("evidence_kept"), text("evidence")),
        evidence_files: files,
        ..Kept::default()
    };
    let version = text("version").trim().parse::<i64>().ok();
    match (verb, attached) {
        (Some(verb), Ok(_)) => {
            let mut query = Serializer::new(String::new());
            query.append_pair("attached", "1");
            if let Some(version) = version {
                query.append_pair("version", &version.to_string());
            }
            kept.write(&mut query);
            format!("/operations/{id}/{verb}?{}#file", query.finish())
        }
        (Some(verb), Err(refusal)) => {
            let refusal = RefusalView { shown: version, ..RefusalView::from(refusal) };
            format!("/operations/{id}/{verb}?{}", RefusedForm { refusal, kept }.to_query())
        }
        (None, Ok(_)) => format!("/operations/{id}#evidence"),
        (None, Err(refusal)) => {
            let kept = Kept { text: text("text").to_owned(), ..Kept::default() };
            let refused = RefusedForm { refusal: refusal.into(), kept };
            format!("/operations/{id}/evidence?{}", refused.to_query())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::value;

    fn fields(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect()
    }

    #[test]
    fn everything_typed_comes_back_but_the_choice() {
        let (id, file) = (uuid::Uuid::from_u128(7), EvidenceId::new(uuid::Uuid::from_u128(8)));
        let typed = fields(&[
            ("back", "confirm"),
            ("version", "3"),
            ("outcome", "happened"),
            ("reason", "seen & \r\nLocation: https://evil"),
            ("evidence", "Ticket 7"),
        ]);
        let place = back(OperationId::new(id), &typed, Ok(file));
        assert!(place.starts_with(&format!("/operations/{id}/confirm?")), "{place}");
        assert!(place.bytes().all(|b| b.is_ascii_graphic()), "{place}");
        let query = place.split('?').nth(1).unwrap().trim_end_matches("#file");
        let kept = Kept::from_query(query);
        assert_eq!(kept.reason, "seen & \r\nLocation: https://evil");
        assert_eq!((kept.evidence.as_str(), kept.evidence_files), ("Ticket 7", vec![file]));
        assert_eq!(value(query, "outcome"), None, "a decision is not preselected");
    }

    #[test]
    fn a_word_that_is_no_decision_leads_to_the_operation() {
        let id = OperationId::new(uuid::Uuid::from_u128(7));
        let file = EvidenceId::new(uuid::Uuid::from_u128(8));
        for word in ["", "release", "//evil.example", "confirm/../x"] {
            let place = back(id, &fields(&[("back", word)]), Ok(file));
            assert_eq!(place, format!("/operations/{id}#evidence"));
        }
    }
}
