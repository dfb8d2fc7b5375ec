//! One operation with everything about it: bounded, masked, and judged.

use domain::{
    access::Permission,
    action::{Subject, Verb},
    idempotency::canonical,
    ids::{ConflictId, OperationId},
    json::Json,
    lease::LeaseState,
    money::Money,
    operation::{Event, Status},
    problem::Code,
    reconciliation::ProviderAnswer,
    verdict::{Corrected, Facts, Verdict, verdict},
    view::{
        ActionOffer, ApprovalView, BodyView, ConflictView, CorrectionView, FieldChange,
        OperationDetail, OperationRow, ResponseView,
    },
};

use super::{
    around::{actions, around},
    timeline::{Piece, Story, beside, name_people, story},
};
use crate::{
    Engine, StaffCaller,
    actions::{approval_view, not_before, who_may},
    database::Tx,
    error::EngineError,
    operations::{bounded, masked},
    provider::Question,
    store::{
        Target, answer, approval, audit, compensation, conflict,
        conflict::StoredConflict,
        correction,
        detail::{self, Detail},
        evidence, incident, kind,
        kind::KindPolicy,
        lease, listing, note, replay, row,
    },
};

/// The most of a body that a page shows, in bytes.
const MAX_SHOWN: usize = 32 * 1024;
/// Items of the story that are told where nobody asks for a piece of it.
const MAX_ITEMS: usize = 500;
/// Changed fields that a conflict shows.
const MAX_CHANGES: usize = 200;

impl Engine {
    /// One operation.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for one of another tenant.
    pub async fn operation(
        &self,
        by: &StaffCaller,
        id: OperationId,
    ) -> Result<OperationDetail, EngineError> {
        self.operation_told(by, id, Piece::last(MAX_ITEMS)).await
    }

    /// The same with a piece of its story.
    ///
    /// # Errors
    /// As [`Engine::operation`].
    pub async fn operation_told(
        &self,
        by: &StaffCaller,
        id: OperationId,
        piece: Piece,
    ) -> Result<OperationDetail, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let target = Target { tenant: by.tenant_id(), id };
            let not_found = || EngineError::refused(Code::NotFound);
            let mut tx = engine.pools.begin_console(target.tenant).await?;
            let now = lease::clock(&mut tx).await?;
            let row = listing::rows(&mut tx, target.tenant, &[id], now)
                .await?
                .pop()
                .ok_or_else(not_found)?;
            let max = i32::try_from(MAX_SHOWN).unwrap_or(i32::MAX);
            let detail = detail::find(&mut tx, target, max).await?.ok_or_else(not_found)?;
            let kind =
                kind::find(&mut tx, target.tenant, &row.operation).await?.ok_or_else(|| {
                    EngineError::Unreadable(format!("kind {} is gone", row.operation))
                })?;
            let (mut evidence, evidence_older) = evidence::of(&mut tx, target).await?;
            name_people(&mut tx, &mut evidence).await?;
            let done_on_record = evidence::any_done(&mut tx, target).await?;
            let stored = conflict::of(&mut tx, target).await?;
            let incidents = incident::of(&mut tx, target).await?;
            let corrections = correction::of(&mut tx, target).await?;
            let approvals = open_requests(&mut tx, &by, &id.into()).await?;
            let undone = match &kind.undo_kind {
                Some(undo) => compensation::standing(&mut tx, target, undo).await?.is_some(),
                None => false,
            };
            let (notes, notes_older) = note::of(&mut tx, target.tenant, id.into()).await?;
            let audit = audit::of(&mut tx, target).await?;
            let mut told = beside(&evidence, &notes, &stored);
            told.extend(around(&mut tx, target).await?);
            told.extend(actions(&audit));
            let told = story(&mut tx, target, piece, told).await?;
            let replayed = replay::of(&mut tx, target).await?;
            tx.commit().await?;

            let payload = detail.payload.as_deref().and_then(|bytes| Json::parse(bytes).ok());
            let payload = payload.map(|payload| masked(payload, &kind.masked_pointers));
            let first = payload.as_ref().map(|masking| &masking.payload);
            let conflicts: Vec<_> = stored
                .into_iter()
                .map(|stored| conflict_view(stored, first, row.amount.as_ref()))
                .collect();
            Ok(OperationDetail {
                as_of: now,
                verdict: verdict_of(&row, &detail, &kind, &told, &corrections, done_on_record),
                actions: offers(&by, &row, &detail, (&kind, undone), &approvals),
                provider_key: id.to_string(),
                reference_url: reference_url(&kind, row.external_reference.as_deref()),
                kind: kind.view(),
                not_before: not_before(detail.last_sent_at, &kind),
                payload: payload.map(|masking| {
                    let (text, cut) = bounded(masking.payload.pretty(), MAX_SHOWN);
                    let bytes = i64::from(detail.payload_bytes.unwrap_or_default());
                    BodyView { text, bytes, cut, masked: masking.masked }
                }),
                response: response_view(&detail, &kind),
                timeline: told.items,
                timeline_from: told.from,
                timeline_total: told.total,
                mode: detail.mode,
                max_attempts: detail.max_attempts,
                claims: detail.claims,
                takeovers: detail.takeovers,
                reconcile_tries: detail.reconcile_tries,
                asked_in_vain: told.asked_in_vain,
                next_reconcile_at: detail.next_reconcile_at,
                next_at: detail.next_at,
                started_at: detail.started_at,
                completed_at: detail.completed_at,
                expires_at: detail.expires_at,
                tombstoned_at: detail.tombstoned_at,
                replays: replayed.map_or(0, |(replays, _)| replays),
                replayed_at: replayed.map(|(_, at)| at),
                workflow_key: detail.workflow_key,
                conflicts,
                evidence,
                evidence_older,
                corrections,
                approvals,
                incidents,
                notes,
                notes_older,
                audit,
                row,
            })
        })
        .await
    }

    /// What the provider says now, for the page on which a person decides. Changes nothing.
    ///
    /// # Errors
    /// Refused: `permission_missing`, `not_found`.
    pub async fn ask_provider(
        &self,
        by: &StaffCaller,
        id: OperationId,
    ) -> Result<ProviderAnswer, EngineError> {
        let detail = self.operation(by, id).await?;
        if !detail.kind.lookup {
            return Ok(ProviderAnswer::NoLookup);
        }
        let deadline = std::time::Duration::from_millis(
            u64::try_from(detail.kind.call_deadline_ms).unwrap_or(1000),
        );
        let target = Target { tenant: by.tenant_id(), id };
        let mut db = self.pools.engine().acquire().await?;
        let payload = answer::payload(&mut db, target).await?;
        drop(db);
        let question = Question {
            provider_key: &detail.provider_key,
            external_reference: detail.row.external_reference.as_deref(),
            payload: payload.as_deref(),
            deadline,
        };
        Ok(self.providers.ask(detail.kind.provider.as_deref(), &question).await)
    }
}

/// The verdict on an operation as it was read.
fn verdict_of(
    row: &OperationRow,
    detail: &Detail,
    kind: &KindPolicy,
    story: &Story,
    corrections: &[CorrectionView],
    done_on_record: bool,
) -> Verdict {
    verdict(&Facts {
        status: row.status,
        tombstoned: row.tombstoned,
        needs_manual: row.needs_manual,
        irreversible: kind.irreversible,
        lookup: kind.lookup,
        asked_in_vain: story.asked_in_vain,
        absent_is_proof: kind.absent_is_proof,
        attempt: row.attempt,
        max_attempts: detail.max_attempts,
        takeovers: detail.takeovers,
        lease: row.lease.state,
        unknown_by: detail.unknown_by,
        ended_by: detail.ended_by,
        done_on_record,
        open_incident: row.open_incident,
        external_reference: row.external_reference.as_deref(),
        reconcile_tries: detail.reconcile_tries,
        guessed: story.guessed,
        corrected: corrections.first().map(|latest| Corrected {
            happened: latest.happened,
            by: &latest.corrected_by,
            approved_by: &latest.approved_by,
        }),
    })
}

/// The requests about a record that wait, with who may approve them.
pub(super) async fn open_requests(
    tx: &mut Tx,
    by: &StaffCaller,
    about: &Subject,
) -> Result<Vec<ApprovalView>, EngineError> {
    let tenant = by.tenant_id();
    let ids = approval::open_of(tx, tenant, about).await?;
    let mut open = Vec::with_capacity(ids.len());
    for stored in approval::rows(tx, tenant, &ids).await? {
        let mut shown = approval_view(&stored, by.staff_id())?;
        let may = who_may(tx, &stored, tenant).await?;
        shown.may_approve = may.into_iter().map(|person| person.name).collect();
        open.push(shown);
    }
    Ok(open)
}

/// Verbs that an operation's page offers.
const OFFERED: [Verb; 7] = [
    Verb::Confirm,
    Verb::Release,
    Verb::Reconcile,
    Verb::Retry,
    Verb::Cancel,
    Verb::Compensate,
    Verb::Correct,
];

/// Which actions the state knows, and whether the reader may take them. Where it is being undone, or was,
/// its undo is what is decided about: there is never a second one.
fn offers(
    by: &StaffCaller,
    row: &OperationRow,
    detail: &Detail,
    (kind, undone): (&KindPolicy, bool),
    approvals: &[ApprovalView],
) -> Vec<ActionOffer> {
    let by_person = matches!(detail.ended_by, Some(Event::ConfirmHappened | Event::ConfirmStop));
    OFFERED
        .into_iter()
        .filter(|verb| verb.fits(row.status) && !row.tombstoned)
        .filter(|verb| *verb != Verb::Correct || by_person)
        .filter(|verb| *verb != Verb::Compensate || kind.undo_kind.is_some() && !undone)
        .map(|verb| {
            let missing = Some(verb.permission()).filter(|permission| !by.permits(*permission));
            let waits = approvals
                .iter()
                .any(|open| open.verb == verb && open.target_version == row.version);
            let refusal = match verb {
                _ if missing.is_some() => Some(Code::PermissionMissing),
                _ if waits => Some(Code::ApprovalPending),
                Verb::Correct => Some(Code::SecondPersonRequired),
                Verb::Compensate if kind.money => Some(Code::SecondPersonRequired),
                Verb::Confirm if kind.needs_second_person(row.amount.as_ref()) => {
                    Some(Code::SecondPersonRequired)
                }
                Verb::Release if !releasable(row) => Some(Code::NotAllowedInState),
                _ => None,
            };
            ActionOffer { verb, refusal, missing }
        })
        .collect()
}

fn releasable(row: &OperationRow) -> bool {
    match row.lease.state {
        LeaseState::Live => false,
        LeaseState::Stale => true,
        LeaseState::None => row.status == Status::Executing,
    }
}

/// The provider's own page of a reference; what is not plain text in a URL is escaped.
fn reference_url(kind: &KindPolicy, reference: Option<&str>) -> Option<String> {
    let mut escaped = String::new();
    for byte in reference?.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    Some(kind.reference_url.as_deref()?.replace("{reference}", &escaped))
}

fn response_view(detail: &Detail, kind: &KindPolicy) -> Option<ResponseView> {
    let body = detail.response_body.as_deref()?;
    let bytes = i64::from(detail.response_bytes.unwrap_or_default());
    let whole = i64::try_from(body.len()).is_ok_and(|read| read == bytes);
    let (text, mask_count, cut) = match Json::parse(body) {
        Ok(json) if whole => {
            let masking = masked(json, &kind.masked_pointers);
            let (text, cut) = bounded(masking.payload.pretty(), MAX_SHOWN);
            (text, masking.masked, cut)
        }
        // A body that cannot be read as a whole cannot be masked field by field.
        _ if !kind.masked_pointers.is_empty() => {
            ("(not shown: this kind masks fields, and the answer cannot be read)".into(), 1, true)
        }
        _ => (printable(body), 0, !whole),
    };
    Some(ResponseView {
        status: detail.response_status?,
        content_type: detail.response_type.clone()?,
        body: BodyView { text, bytes, cut, masked: mask_count },
        snapshot_cut: detail.response_cut,
    })
}

/// Bytes as text: what is no character, and control characters, become U+FFFD.
fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c })
        .collect()
}

pub(super) fn conflict_view(
    stored: StoredConflict,
    first: Option<&Json>,
    amount: Option<&Money>,
) -> ConflictView {
    let other = stored.payload.as_deref().and_then(|bytes| Json::parse(bytes).ok());
    let other_amount = row::money(stored.amount_minor, stored.currency);
    let (mut changes, unchanged) = match (first, &other) {
        (Some(first), Some(other)) => compare(first, other),
        _ => (Vec::new(), 0),
    };
    if changes.is_empty() && other_amount.as_ref() != amount && stored.payload.is_some() {
        changes.push(FieldChange {
            pointer: "/amount_minor".into(),
            first: amount.map(ToString::to_string),
            other: other_amount.as_ref().map(ToString::to_string),
        });
    }
    let cut = stored.payload_cut
        || changes.len() > MAX_CHANGES
        || (stored.payload.is_some() && other.is_none());
    changes.truncate(MAX_CHANGES);
    ConflictView {
        id: ConflictId::new(stored.id),
        count: stored.count,
        first_at: stored.first_at,
        last_at: stored.last_at,
        callers: stored.callers,
        amount: other_amount,
        changes,
        unchanged,
        cut,
    }
}

/// Whether two leaves say the same, by the rule of the fingerprint: `0.50` and `0.5` are one number,
/// and no change stands where no conflict would have been.
fn same(first: &str, other: &str) -> bool {
    let said = |leaf: &str| Json::parse(leaf.as_bytes()).ok().map(|leaf| canonical(&leaf));
    first == other || matches!((said(first), said(other)), (Some(a), Some(b)) if a == b)
}

/// The leaves that differ, and how many are the same.
fn compare(first: &Json, other: &Json) -> (Vec<FieldChange>, i64) {
    let (first, other) = (first.leaves(), other.leaves());
    let others: std::collections::HashMap<_, _> =
        other.iter().map(|(p, v)| (p.as_str(), v.as_str())).collect();
    let firsts: std::collections::HashSet<_> = first.iter().map(|(p, _)| p.as_str()).collect();
    let mut changes = Vec::new();
    let mut unchanged = 0;
    for (pointer, value) in &first {
        match others.get(pointer.as_str()) {
            Some(other) if same(value, other) => unchanged += 1,
            other => changes.push(FieldChange {
                pointer: pointer.clone(),
                first: Some(value.clone()),
                other: other.map(|other| (*other).to_owned()),
            }),
        }
    }
    changes.extend(other.iter().filter(|(pointer, _)| !firsts.contains(pointer.as_str())).map(
        |(pointer, value)| FieldChange {
            pointer: pointer.clone(),
            first: None,
            other: Some(value.clone()),
        },
    ));
    (changes, unchanged)
}
