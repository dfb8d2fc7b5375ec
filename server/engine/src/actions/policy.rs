//! What a kind's policy must be, field by field, so that a slip is refused beside its field. The
//! database's own checks say the same of whoever writes past this.

use super::request::unfit;
use crate::{error::EngineError, store::kind::KindPolicy};

/// The longest time that any of the fields may hold: ten years.
const LONGEST_MS: i64 = 10 * 366 * 24 * 60 * 60 * 1_000;
const HOUR_MS: i64 = 60 * 60 * 1_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Refuses a policy that contradicts itself, naming the field.
pub(super) fn check(policy: &KindPolicy) -> Result<(), EngineError> {
    check_name(policy)?;
    check_numbers(policy)?;
    check_pointers(policy)?;
    let empty = |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
    let rules = [
        (
            !policy.irreversible && empty(&policy.harmless_reason),
            "harmless_reason",
            "say why a repeat does no harm: machines act on it",
        ),
        (
            policy.money && policy.amount_pointer.is_none(),
            "amount_pointer",
            "a kind that moves money names where its amount stands",
        ),
        (
            policy.money && policy.currency_pointer.is_none(),
            "currency_pointer",
            "a kind that moves money names where its currency stands",
        ),
        (
            policy.call_deadline_ms >= policy.lease_ms,
            "lease_ms",
            "a lease lasts longer than a call may take",
        ),
        (
            policy.absent_is_proof && !policy.lookup,
            "absent_is_proof",
            "a provider that cannot be asked never says \u{201c}not found\u{201d}",
        ),
        (
            policy.purge_after_ms.is_some() && (policy.money || policy.publication),
            "purge_after_ms",
            "keys of money and of publications stay closed for ever",
        ),
        (
            policy.undo_kind.as_deref() == Some(policy.name.as_str()),
            "undo_kind",
            "a kind is undone by another one",
        ),
        (
            policy.reference_url.as_deref().is_some_and(|url| {
                !url.starts_with("https://") || !url.contains("{reference}") || url.len() > 2_000
            }),
            "reference_url",
            "begins with https:// and holds {reference}",
        ),
    ];
    match rules.into_iter().find(|(broken, ..)| *broken) {
        Some((_, field, why)) => Err(wrong(field, why)),
        None => Ok(()),
    }
}

fn wrong(field: &str, why: &str) -> EngineError {
    unfit(&format!("policy.{field}"), why)
}

fn check_name(policy: &KindPolicy) -> Result<(), EngineError> {
    let length = policy.name.chars().count();
    let plain = !policy.name.chars().any(|c| c.is_control() || c.is_whitespace());
    if !(1..=128).contains(&length) || !plain || policy.name.starts_with("console.") {
        return Err(wrong(
            "name",
            "a name has 1 to 128 characters without spaces; console.* is the engine's own",
        ));
    }
    Ok(())
}

fn check_numbers(policy: &KindPolicy) -> Result<(), EngineError> {
    let within = [
        ("call_deadline_ms", Some(policy.call_deadline_ms), 1, HOUR_MS),
        ("lease_ms", Some(policy.lease_ms), 100, DAY_MS),
        ("settle_window_ms", Some(policy.settle_window_ms), 0, 7 * DAY_MS),
        ("max_attempts", Some(policy.max_attempts.into()), 1, 1_000),
        ("max_claims", Some(policy.max_claims.into()), 1, 1_000),
        ("max_reconcile_tries", Some(policy.max_reconcile_tries.into()), 1, 1_000),
        ("backoff_ms", Some(policy.backoff_ms), 1, DAY_MS),
        ("key_ttl_ms", policy.key_ttl_ms, 1, LONGEST_MS),
        ("retention_ms", policy.retention_ms, 1, LONGEST_MS),
        ("purge_after_ms", policy.purge_after_ms, 1, LONGEST_MS),
        ("approval_threshold_minor", policy.approval_threshold_minor, 0, i64::MAX),
        ("approval_ttl_ms", Some(policy.approval_ttl_ms), 1_000, 30 * DAY_MS),
    ];
    for (field, value, least, most) in within {
        if value.is_some_and(|value| !(least..=most).contains(&value)) {
            return Err(wrong(field, &format!("is a number from {least} to {most}")));
        }
    }
    Ok(())
}

fn check_pointers(policy: &KindPolicy) -> Result<(), EngineError> {
    let one = |pointer: &Option<String>| pointer.iter().cloned().collect::<Vec<_>>();
    for (field, pointers) in [
        ("amount_pointer", one(&policy.amount_pointer)),
        ("currency_pointer", one(&policy.currency_pointer)),
        ("masked_pointers", policy.masked_pointers.clone()),
        ("search_pointers", policy.search_pointers.clone()),
    ] {
        let fits = |pointer: &String| {
            pointer.starts_with('/') && pointer.len() <= 512 && !pointer.contains('\0')
        };
        if pointers.len() > 100 || !pointers.iter().all(fits) {
            return Err(wrong(field, "JSON pointers such as /customer/name, at most 100"));
        }
    }
    Ok(())
}
