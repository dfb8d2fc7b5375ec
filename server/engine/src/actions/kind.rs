//! Writing a kind's policy. What loosens it takes a second person: otherwise the rule of two people
//! could be walked around by changing the rule first (A5).

use domain::problem::Code;

use super::{
    ActionRequest, carry::Effect, hand::Hand, held::Held, policy, request::unfit, weigh::Weighed,
};
use crate::{
    database::Tx,
    error::EngineError,
    store::kind::{self, KindPolicy},
};

/// Weighs a new policy: what it loosens takes a second person.
pub(super) fn weigh(
    current: Option<&(KindPolicy, i64)>,
    request: &ActionRequest,
) -> Result<Weighed, EngineError> {
    let policy = asked(request)?;
    policy::check(policy)?;
    let Some((current, _)) = current else { return Ok(Weighed::default()) };
    if current == policy {
        return Err(unfit("policy", "nothing would change"));
    }
    let changes = loosened(current, policy);
    let second = (!changes.is_empty()).then(|| "It loosens what protects this kind.".to_owned());
    Ok(Weighed { second, changes, ..Weighed::default() })
}

/// What a new policy would loosen, before anybody sends it; refused as it would be then.
pub(crate) fn preview(
    current: Option<&KindPolicy>,
    policy: &KindPolicy,
) -> Result<Vec<String>, EngineError> {
    policy::check(policy)?;
    Ok(current.map(|current| loosened(current, policy)).unwrap_or_default())
}

/// Writes the policy.
pub(super) async fn put(
    tx: &mut Tx,
    hand: &Hand<'_>,
    held: &Held,
    request: &ActionRequest,
) -> Result<Effect, EngineError> {
    let before = held.state();
    kind::put(tx, hand.tenant(), asked(request)?).await.map_err(unfit_policy)?;
    let after = Held::lock(tx, hand.tenant(), &request.target).await?.state();
    let followed = vec!["It holds for every operation of this kind from now on.".to_owned()];
    Ok(Effect { before, after, followed })
}

fn asked(request: &ActionRequest) -> Result<&KindPolicy, EngineError> {
    request.policy.as_deref().ok_or_else(|| EngineError::refused(Code::Unprocessable))
}

/// The database's own checks say what a policy may not be; which one did is all that is told.
fn unfit_policy(error: EngineError) -> EngineError {
    match &error {
        EngineError::Database(sqlx::Error::Database(fault)) if fault.is_check_violation() => {
            let rule = fault.constraint().unwrap_or("a check").replace('_', " ");
            unfit("policy", &format!("the policy contradicts itself: {rule}"))
        }
        _ => error,
    }
}

/// What a new policy loosens, a sentence each. Every field of a policy is named here: a new one does
/// not compile before somebody has thought about it.
pub(super) fn loosened(old: &KindPolicy, new: &KindPolicy) -> Vec<String> {
    let KindPolicy {
        name: _,
        irreversible,
        harmless_reason: _,
        money,
        amount_pointer,
        currency_pointer,
        provider,
        lookup: _,
        absent_is_proof,
        honours_keys,
        key_ttl_ms,
        call_deadline_ms,
        lease_ms: _,
        settle_window_ms,
        max_attempts,
        max_claims: _,
        max_reconcile_tries: _,
        backoff_ms: _,
        retention_ms: _,
        approval_threshold_minor,
        masked_pointers,
        search_pointers: _,
        reference_url: _,
        undo_kind,
        undo_reference_member: _,
        purge_after_ms,
        publication,
        approval_ttl_ms,
    } = new;
    // An absent bound is the loosest for a threshold and a key's life, the tightest for a purge.
    let above = |new: Option<i64>, old: Option<i64>| match (new, old) {
        (None, Some(_)) => true,
        (Some(new), Some(old)) => new > old,
        (_, None) => false,
    };
    let sooner = |new: Option<i64>, old: Option<i64>| match (new, old) {
        (Some(_), None) => true,
        (Some(new), Some(old)) => new < old,
        (None, _) => false,
    };
    let found = [
        (old.irreversible && !irreversible, "A repeat would count as harmless."),
        (old.money && !money, "It would no longer count as money."),
        (
            (amount_pointer, currency_pointer) != (&old.amount_pointer, &old.currency_pointer),
            "The amount would be read from another place.",
        ),
        (provider != &old.provider, "Another provider's word would be proof."),
        (
            *absent_is_proof && !old.absent_is_proof,
            "The provider's \u{201c}not found\u{201d} would be proof.",
        ),
        (*honours_keys && !old.honours_keys, "The provider would be trusted to honour keys."),
        (
            *honours_keys && above(*key_ttl_ms, old.key_ttl_ms),
            "The provider would be trusted to remember keys for longer.",
        ),
        (
            call_deadline_ms + settle_window_ms < old.call_deadline_ms + old.settle_window_ms,
            "\u{201c}It did not happen\u{201d} could be said sooner after a call.",
        ),
        (*max_attempts > old.max_attempts, "It would be tried more often."),
        (
            above(*approval_threshold_minor, old.approval_threshold_minor),
            "One person could confirm larger amounts.",
        ),
        (
            old.masked_pointers.iter().any(|pointer| !masked_pointers.contains(pointer)),
            "Masked fields would be shown.",
        ),
        (undo_kind != &old.undo_kind, "It would be undone by another kind."),
        (sooner(*purge_after_ms, old.purge_after_ms), "Old keys would be freed sooner."),
        (old.publication && !publication, "It would no longer count as a publication."),
        (
            *approval_ttl_ms > old.approval_ttl_ms,
            "A request for a second person would stand longer.",
        ),
    ];
    found.into_iter().filter(|(is, _)| *is).map(|(_, what)| what.to_owned()).collect()
}
