//! The fields of a kind's policy in the order in which a person thinks of them, each with what it
//! decides.

use crate::error::Field;

/// How a field is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Words.
    Words,
    /// A name, a pointer, an address.
    Mono,
    /// A length of time or a number.
    Short,
    /// Yes or no.
    Tick,
}

/// A field with what stands below it.
pub type Described = (Field, Shape, &'static str);

/// The fields by what they are about.
pub const GROUPS: &[(&str, &[Described])] = &[
    (
        "What it does outside",
        &[
            (
                Field::Money,
                Shape::Tick,
                "Amount and currency are then required. Who says that it did not move needs a second person; who says that it did, from the amount set below on.",
            ),
            (
                Field::AmountPointer,
                Shape::Mono,
                "In the payload, as an integer of the currency\u{2019}s smallest unit.",
            ),
            (Field::CurrencyPointer, Shape::Mono, "In the payload, as three capital letters."),
            (Field::Publication, Shape::Tick, "A key of it is never used again."),
            (
                Field::Irreversible,
                Shape::Tick,
                "The safe choice. Without it a machine may repeat what it does not know the outcome of.",
            ),
            (
                Field::HarmlessReason,
                Shape::Words,
                "Only where a repeat does no harm; stands beside every such repeat.",
            ),
            (Field::UndoKind, Shape::Mono, "The kind whose operation undoes one of this kind."),
            (
                Field::UndoReferenceMember,
                Shape::Mono,
                "Only of an undo: the member of its payload that names the reference of what it undoes.",
            ),
        ],
    ),
    (
        "Its provider",
        &[
            (
                Field::Provider,
                Shape::Mono,
                "Whom machines call and ask. Without one the service calls by itself, and nobody can be asked.",
            ),
            (
                Field::Lookup,
                Shape::Tick,
                "After a call without an answer it is asked what became of it.",
            ),
            (
                Field::AbsentIsProof,
                Shape::Tick,
                "Only where its lookup never lags: a wrong \u{201c}not found\u{201d} is a second charge.",
            ),
            (
                Field::HonoursKeys,
                Shape::Tick,
                "Then the same request may be sent again to find out, while it remembers the key.",
            ),
            (Field::KeyTtlMs, Shape::Short, "Beyond it the same request would be a new one."),
            (
                Field::ReferenceUrl,
                Shape::Mono,
                "Turns a reference into a link to the provider\u{2019}s own page.",
            ),
        ],
    ),
    (
        "Times and numbers",
        &[
            (
                Field::CallDeadlineMs,
                Shape::Short,
                "A call without an answer by then has an unknown outcome.",
            ),
            (
                Field::LeaseMs,
                Shape::Short,
                "A worker that does not beat for so long is taken for gone.",
            ),
            (
                Field::SettleWindowMs,
                Shape::Short,
                "Before that nobody can say that it did not happen.",
            ),
            (Field::MaxAttempts, Shape::Short, "Of calls that certainly did nothing."),
            (Field::MaxClaims, Shape::Short, "Workers that took it and never began."),
            (Field::MaxReconcileTries, Shape::Short, "Then it waits for a person."),
            (Field::BackoffMs, Shape::Short, "Between calls and between questions."),
        ],
    ),
    (
        "People",
        &[
            (
                Field::ApprovalThresholdMinor,
                Shape::Short,
                "In the currency\u{2019}s smallest unit. From it on, and where the amount is unknown, a confirmation takes two people.",
            ),
            (
                Field::ApprovalTtlMs,
                Shape::Short,
                "After that it is void, and can be asked for again.",
            ),
            (
                Field::MaskedPointers,
                Shape::Mono,
                "Nobody sees them but who reveals them, with a reason, on the record.",
            ),
            (
                Field::SearchPointers,
                Shape::Mono,
                "Masked ones are found exactly only. Holds for operations that are reserved from now on.",
            ),
        ],
    ),
    (
        "How long it is kept",
        &[
            (Field::RetentionMs, Shape::Short, "Then the contents go and the key stays closed."),
            (Field::PurgeAfterMs, Shape::Short, "Then the key is free again."),
        ],
    ),
];

/// All fields of a policy but its name.
pub fn all() -> impl Iterator<Item = Described> {
    GROUPS.iter().flat_map(|(_, fields)| fields.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{
        admin::KindPolicy,
        policy::{Typed, fresh},
    };

    #[test]
    fn every_field_of_a_policy_can_be_typed() {
        let some = |text: &str| Some(text.to_owned());
        let policy = KindPolicy {
            name: "n".into(),
            harmless_reason: some("r"),
            money: true,
            amount_pointer: some("/a"),
            currency_pointer: some("/c"),
            provider: some("p"),
            lookup: true,
            absent_is_proof: true,
            honours_keys: true,
            key_ttl_ms: Some(1),
            retention_ms: Some(1),
            approval_threshold_minor: Some(1),
            masked_pointers: vec!["/m".into()],
            search_pointers: vec!["/s".into()],
            reference_url: some("https://x/{reference}"),
            undo_kind: some("u"),
            undo_reference_member: some("m"),
            purge_after_ms: Some(1),
            publication: true,
            ..fresh()
        };
        let typed = Typed::of(&policy);
        let mut missing: Vec<_> = typed.fields().map(|(name, _)| name.to_owned()).collect();
        missing.retain(|name| name != "name" && !all().any(|(field, ..)| field.as_str() == name));
        assert!(missing.is_empty(), "{missing:?}");
        assert_eq!(typed.fields().count(), all().count() + 1);
    }
}
