//! The seed's three effects: a charge, a mail and a publication, each about a business subject that
//! must meet it once.

use std::time::Duration;

use engine::{Reserve, store::kind::KindPolicy};
use sandbox::{EffectKind, Provider};
use serde_json::{Map, Value};

use crate::undoing::undo_of;

/// How long a lease of these kinds lasts. Nobody waits for it: the database's clock is moved.
pub const LEASE_MS: i64 = 60_000;
/// How long contents of mails stay after their end; of money and publications they stay for good.
pub const RETENTION_MS: i64 = 30 * 24 * 60 * 60 * 1_000;
/// Longer than each lease, pause and window of these kinds.
pub const PAST_LEASE: Duration = Duration::from_secs(61);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Charge,
    Mail,
    Publication,
}

impl Effect {
    pub const ALL: [Self; 3] = [Self::Charge, Self::Mail, Self::Publication];

    pub const fn kind(self) -> EffectKind {
        match self {
            Self::Charge => EffectKind::Charge,
            Self::Mail => EffectKind::Mail,
            Self::Publication => EffectKind::Publication,
        }
    }

    pub fn provider(self) -> Provider {
        self.kind().provider()
    }

    /// The field of the payload, and of the ledger, that names the subject.
    pub const fn subject(self) -> &'static str {
        match self {
            Self::Charge => "invoice_id",
            Self::Mail => "recipient_id",
            Self::Publication => "document_id",
        }
    }

    fn payload(self, subject: &str, other: bool) -> String {
        let more = if other { r#","note":"another""# } else { "" };
        match self {
            Self::Charge => format!(
                r#"{{"invoice_id":"{subject}","amount_minor":12900,"currency":"EUR"{more}}}"#
            ),
            Self::Mail => {
                format!(r#"{{"campaign_id":"spring","recipient_id":"{subject}"{more}}}"#)
            }
            Self::Publication => format!(r#"{{"document_id":"{subject}","version":"1"{more}}}"#),
        }
    }

    /// A request whose key is its subject; `other` asks for something else under it.
    pub fn request(self, subject: &str, other: bool) -> Reserve {
        Reserve {
            operation: self.kind().operation().into(),
            key: subject.into(),
            payload: self.payload(subject, other).into_bytes(),
            amount_minor: None,
            currency: None,
            queued: true,
            workflow_id: None,
            step_key: None,
            wait: Duration::ZERO,
        }
    }

    /// Whether a ledger line is this effect on this subject.
    pub fn is_in(self, line: &Map<String, Value>, subject: &str) -> bool {
        line["kind"] == self.kind().name()
            && line.get(self.subject()).and_then(Value::as_str) == Some(subject)
    }

    /// Its policy, as far as a lookup goes, and that of its undo.
    pub fn policies(self, lookup: bool) -> Vec<KindPolicy> {
        let own = self.policy(lookup);
        let undo = undo_of(self).map(|(kind, member)| KindPolicy {
            name: kind.operation().into(),
            provider: Some(kind.name().into()),
            undo_kind: None,
            undo_reference_member: Some(member.into()),
            ..own.clone()
        });
        // The undo first: a kind names what must be there.
        undo.into_iter().chain([own]).collect()
    }

    /// Its policy, as far as a lookup goes.
    pub fn policy(self, lookup: bool) -> KindPolicy {
        let money = self == Self::Charge;
        KindPolicy {
            name: self.kind().operation().into(),
            irreversible: true,
            harmless_reason: None,
            money,
            amount_pointer: money.then(|| "/amount_minor".into()),
            currency_pointer: money.then(|| "/currency".into()),
            provider: Some(self.kind().name().into()),
            lookup,
            absent_is_proof: lookup,
            honours_keys: true,
            key_ttl_ms: None,
            call_deadline_ms: 5_000,
            lease_ms: LEASE_MS,
            settle_window_ms: 5_000,
            max_attempts: 100,
            max_claims: 100,
            max_reconcile_tries: 20,
            backoff_ms: 500,
            retention_ms: (self == Self::Mail).then_some(RETENTION_MS),
            approval_threshold_minor: money.then_some(100_000),
            masked_pointers: vec![],
            search_pointers: vec![],
            reference_url: None,
            undo_kind: undo_of(self).map(|(kind, _)| kind.operation().into()),
            undo_reference_member: None,
            purge_after_ms: None,
            publication: self == Self::Publication,
            approval_ttl_ms: 86_400_000,
        }
    }
}
