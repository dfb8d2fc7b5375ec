//! Whether a provider's words are about the effect that was asked about (D10, F22): another tenant's
//! object or another recipient is no answer to our question, however well it reads.

use domain::json::Json;

/// Whether no field that names the target in both the payload and the message differs.
pub(crate) fn same_target(payload: &[u8], message: &Json) -> bool {
    let Ok(Json::Object(members)) = Json::parse(payload) else {
        return true;
    };
    members.iter().filter(|(name, _)| name.ends_with("_id") || name == "version").all(
        |(name, value)| {
            message
                .pointer(&format!("/{name}"))
                .is_none_or(|other| other.scalar_text() == value.scalar_text())
        },
    )
}

/// Whether a body that names a key names this one, and the payload's target where it names one.
pub(super) fn is_about(provider_key: &str, payload: Option<&[u8]>, body: &Json) -> bool {
    let other_key = ["/idempotency_key", "/provider_key"]
        .into_iter()
        .filter_map(|pointer| body.pointer(pointer).and_then(Json::scalar_text))
        .any(|named| named != provider_key);
    !other_key && payload.is_none_or(|payload| same_target(payload, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_of_somebody_else_is_told_by_its_key_or_its_target() {
        let about = |body: &str| {
            let payload = br#"{"invoice_id":"INV-1","amount_minor":1}"#;
            is_about("op_1", Some(payload), &Json::parse(body.as_bytes()).unwrap())
        };
        assert!(about(r#"{"id":"ch_1"}"#), "naming neither contradicts nothing");
        assert!(about(r#"{"id":"ch_1","idempotency_key":"op_1","invoice_id":"INV-1"}"#));
        assert!(!about(r#"{"id":"ch_1","idempotency_key":"op_2"}"#));
        assert!(!about(r#"{"id":"ch_1","provider_key":"op_2","invoice_id":"INV-1"}"#));
        assert!(!about(r#"{"id":"ch_1","invoice_id":"INV-2"}"#));
    }
}
