//! The demo's operation kinds, and where the fake providers take their effects.
//!
//! Times are short, so that a person can watch a lease run out; the policies are those of careful
//! production: payments and mails are never sent again on a guess.

use engine::{ProviderEndpoint, store::kind::KindPolicy};
use sandbox::{EffectKind, PREVIEW};

/// The provider whose webhooks the demo takes.
pub(super) const PAYMENTS: &str = "payments";

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The name of the endpoint that a kind's provider answers at.
const fn endpoint(kind: EffectKind) -> &'static str {
    match kind {
        EffectKind::Charge => "payments.charges",
        EffectKind::Refund => "payments.refunds",
        EffectKind::Mail => "mail.messages",
        EffectKind::Publication => "publications",
        EffectKind::Unpublication => "publications.withdrawals",
        EffectKind::Draft => "drafts",
    }
}

/// The endpoints of the fake providers at `url`, whose mail server is at `smtp`.
pub(super) fn endpoints(url: &str, smtp: &str) -> Vec<ProviderEndpoint> {
    EffectKind::ALL
        .into_iter()
        .map(|kind| {
            let name = endpoint(kind).to_owned();
            let http = format!("{url}{}", kind.path());
            match kind {
                // Workers mail by SMTP and look up by HTTP; the sample services do both by HTTP.
                EffectKind::Mail => ProviderEndpoint {
                    name,
                    url: format!("{smtp}?from=campaigns@acme.test&recipients=recipients.test"),
                    lookup_url: Some(http),
                },
                // Behind the trait that any other model would stand behind.
                EffectKind::Draft => {
                    ProviderEndpoint { name, url: format!("model+{http}"), lookup_url: None }
                }
                _ => ProviderEndpoint { name, url: http, lookup_url: None },
            }
        })
        .collect()
}

/// Every kind of the demo.
pub(super) fn all() -> Vec<KindPolicy> {
    EffectKind::ALL.into_iter().map(policy).chain([preview()]).collect()
}

fn policy(kind: EffectKind) -> KindPolicy {
    let base = base(kind);
    match kind {
        EffectKind::Charge => KindPolicy {
            search_pointers: pointers(&["/invoice_id"]),
            masked_pointers: pointers(&["/customer_id"]),
            reference_url: Some("https://payments.example/charges/{reference}".into()),
            undo_kind: Some(EffectKind::Refund.operation().into()),
            ..base
        },
        EffectKind::Refund => KindPolicy {
            search_pointers: pointers(&["/invoice_id", "/charge_reference"]),
            reference_url: Some("https://payments.example/refunds/{reference}".into()),
            undo_reference_member: Some("charge_reference".into()),
            ..base
        },
        EffectKind::Mail => KindPolicy {
            search_pointers: pointers(&["/campaign_id", "/recipient_id"]),
            retention_ms: Some(90 * DAY_MS),
            ..base
        },
        // Here a machine may find out by itself.
        EffectKind::Publication => KindPolicy {
            undo_kind: Some(EffectKind::Unpublication.operation().into()),
            ..publication(base)
        },
        EffectKind::Unpublication => KindPolicy {
            undo_reference_member: Some("publication_reference".into()),
            ..publication(base)
        },
        EffectKind::Draft => KindPolicy {
            search_pointers: pointers(&["/draft_id"]),
            irreversible: false,
            harmless_reason: Some("a second draft replaces nothing and reaches nobody".into()),
            // A lookup would prove the call, not bring the text back: what is lost is drafted again.
            lookup: false,
            call_deadline_ms: 2_000,
            lease_ms: 4_000,
            retention_ms: Some(30 * DAY_MS),
            ..base
        },
    }
}

/// Publications and withdrawals: the provider is strongly consistent and remembers keys.
fn publication(base: KindPolicy) -> KindPolicy {
    KindPolicy {
        search_pointers: pointers(&["/document_id"]),
        absent_is_proof: true,
        honours_keys: true,
        key_ttl_ms: Some(DAY_MS),
        publication: true,
        ..base
    }
}

/// Drafts that only services make; what one of them leaves behind waits for a person or a repeat.
fn preview() -> KindPolicy {
    KindPolicy { name: PREVIEW.to_owned(), provider: None, ..policy(EffectKind::Draft) }
}

fn base(kind: EffectKind) -> KindPolicy {
    let money = kind.moves_money();
    KindPolicy {
        name: kind.operation().to_owned(),
        irreversible: true,
        harmless_reason: None,
        money,
        amount_pointer: money.then(|| "/amount_minor".to_owned()),
        currency_pointer: money.then(|| "/currency".to_owned()),
        provider: Some(endpoint(kind).to_owned()),
        lookup: true,
        absent_is_proof: false,
        honours_keys: false,
        key_ttl_ms: None,
        call_deadline_ms: 5_000,
        lease_ms: 10_000,
        settle_window_ms: 10_000,
        max_attempts: 5,
        max_claims: 10,
        max_reconcile_tries: 6,
        backoff_ms: 2_000,
        retention_ms: None,
        approval_threshold_minor: money.then_some(100_000),
        masked_pointers: Vec::new(),
        search_pointers: Vec::new(),
        reference_url: None,
        undo_kind: None,
        undo_reference_member: None,
        purge_after_ms: None,
        publication: false,
        approval_ttl_ms: 86_400_000,
    }
}

fn pointers(pointers: &[&str]) -> Vec<String> {
    pointers.iter().map(|pointer| (*pointer).to_owned()).collect()
}
