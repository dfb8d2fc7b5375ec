//! What the undo of an operation is asked to do: the members of the forward payload, the provider's
//! reference of what is undone, and the amount that goes back.

use domain::{ids::OperationId, json::Json, money::Money};

use crate::{
    error::EngineError,
    operations::check_own,
    settings::Limits,
    store::{correction::Corrected, kind::KindPolicy, operation::Operation, unwind::StepOperation},
};

/// What is known of the operation to undo.
pub(super) struct Forward<'a> {
    pub(super) id: OperationId,
    pub(super) kind: &'a str,
    pub(super) amount: Option<&'a Money>,
    pub(super) external_reference: Option<&'a str>,
    pub(super) tombstoned: bool,
}

impl<'a> Forward<'a> {
    pub(super) fn of(row: &'a Operation, corrected: Option<&'a Corrected>) -> Self {
        Self {
            id: row.target.id,
            kind: &row.operation,
            amount: row.amount.as_ref(),
            external_reference: corrected
                .and_then(|corrected| corrected.external_reference.as_deref())
                .or(row.external_reference.as_deref()),
            tombstoned: row.tombstoned_at.is_some(),
        }
    }

    pub(super) fn of_step(operation: &'a StepOperation) -> Self {
        Self {
            id: operation.id,
            kind: &operation.kind,
            amount: operation.amount.as_ref(),
            external_reference: operation.external_reference.as_deref(),
            tombstoned: operation.tombstoned,
        }
    }
}

/// What an undo is asked to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UndoWork {
    pub(super) payload: Vec<u8>,
    pub(super) amount: Option<Money>,
}

/// The work of an undo, or a sentence that says why there can be none. `amount`: how much of it;
/// `None` gives all of it back.
pub(super) fn undo_work(
    forward: &Forward<'_>,
    undo: &KindPolicy,
    payload: Option<&[u8]>,
    amount: Option<&Money>,
    limits: &Limits,
) -> Result<UndoWork, String> {
    let payload = payload.filter(|_| !forward.tombstoned).ok_or_else(|| {
        format!("The contents of {} have expired: what to undo is not known any more.", forward.id)
    })?;
    let parsed =
        Json::parse(payload).map_err(|error| format!("Its payload cannot be read: {error}."))?;
    let Json::Object(mut members) = parsed else {
        return Err(format!(
            "The payload of {} is no object that an undo could be made from.",
            forward.kind
        ));
    };
    if let Some(member) = &undo.undo_reference_member {
        let reference = forward.external_reference.ok_or_else(|| {
            format!("The provider's reference is not on record, and {} needs it.", undo.name)
        })?;
        set(&mut members, member, Json::String(reference.to_owned()));
    }
    let amount = amount.or(forward.amount).filter(|_| undo.money).cloned();
    if let Some(money) = &amount {
        if let Some(pointer) = &undo.amount_pointer {
            put(&mut members, pointer, Json::Number(money.amount_minor.to_string()));
        }
        if let Some(pointer) = &undo.currency_pointer {
            put(&mut members, pointer, Json::String(money.currency.clone()));
        }
    }
    // Not the canonical form: a provider reads 12900, never 129e2.
    let payload = Json::Object(members).pretty().into_bytes();
    check_own(undo, &payload, amount.as_ref(), limits).map_err(|error| not_taken(undo, &error))?;
    Ok(UndoWork { payload, amount })
}

fn not_taken(undo: &KindPolicy, error: &EngineError) -> String {
    let refusal = error.refusal();
    let why = refusal.detail.unwrap_or_else(|| refusal.code.title().to_owned());
    format!("{} does not take what it would be asked: {why}.", undo.name)
}

fn set(members: &mut Vec<(String, Json)>, name: &str, value: Json) {
    match members.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value,
        None => members.push((name.to_owned(), value)),
    }
}

/// Puts a value where an RFC 6901 pointer says, making the objects on the way.
fn put(members: &mut Vec<(String, Json)>, pointer: &str, value: Json) {
    let Some(path) = pointer.strip_prefix('/') else { return };
    let (token, rest) =
        path.split_once('/').map_or((path, None), |(token, rest)| (token, Some(rest)));
    let name = token.replace("~1", "/").replace("~0", "~");
    let Some(rest) = rest else { return set(members, &name, value) };
    if !matches!(members.iter().find(|(known, _)| *known == name), Some((_, Json::Object(_)))) {
        set(members, &name, Json::Object(Vec::new()));
    }
    if let Some((_, Json::Object(inner))) = members.iter_mut().find(|(known, _)| *known == name) {
        put(inner, &format!("/{rest}"), value);
    }
}
