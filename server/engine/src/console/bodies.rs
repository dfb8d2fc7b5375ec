//! A record's bodies with what is masked in each: the one place that a reveal reads from.
//!
//! Guards against a reveal that shows more than the pages mask: the pointers are the pages' own.

use domain::{
    action::{Subject, TargetType},
    ids::{EventId, MessageId, TenantId, WorkflowId},
    json::Json,
    problem::Code,
    view::{ArtifactName, MaskedFields, RevealedBody, RevealedField},
};

use super::{body::shown_whole, inbox, outbox};
use crate::{
    database::Tx,
    error::EngineError,
    settings::Settings,
    store::{
        Target, artifact, detail, inbox_conflict, inbox_listing, kind, outbox_listing, step,
        workflow::Address, workflow_listing,
    },
};

/// A body as it is stored.
struct Stored {
    part: &'static str,
    bytes: Vec<u8>,
    /// Where something may be masked; `None`: nobody can say, so all of it is.
    pointers: Option<Vec<String>>,
}

/// The bodies of a record.
pub(super) struct Bodies {
    label: String,
    key: String,
    expired: bool,
    stored: Vec<Stored>,
}

impl Bodies {
    /// Reads them.
    pub(super) async fn read(
        tx: &mut Tx,
        settings: &Settings,
        tenant: TenantId,
        target: &Subject,
        artifact: Option<&ArtifactName>,
    ) -> Result<Self, EngineError> {
        let not_found = || EngineError::refused(Code::NotFound);
        match (target.kind, artifact) {
            (TargetType::Operation, None) => {
                let id = target.id.parse().map_err(|_| not_found())?;
                of_operation(tx, Target { tenant, id }).await
            }
            (TargetType::Outbox, None) => {
                of_event(tx, tenant, target.id.parse().map_err(|_| not_found())?).await
            }
            (TargetType::Inbox, None) => {
                let id = target.id.parse().map_err(|_| not_found())?;
                of_message(tx, settings, tenant, id).await
            }
            (TargetType::Workflow, Some(artifact)) => {
                let id: WorkflowId = target.id.parse().map_err(|_| not_found())?;
                of_artifact(tx, Address { tenant, id }, artifact).await
            }
            _ => Err(not_found()),
        }
    }

    /// What is masked in them, by name.
    pub(super) fn masked(&self) -> MaskedFields {
        let mut pointers: Vec<_> = self
            .stored
            .iter()
            .flat_map(|stored| {
                let names = stored.masked();
                names.into_iter().map(|pointer| format!("{}{pointer}", stored.part))
            })
            .collect();
        pointers.dedup();
        MaskedFields {
            label: self.label.clone(),
            key: self.key.clone(),
            pointers,
            expired: self.expired,
        }
    }

    /// Those in which something is masked, unmasked.
    pub(super) fn revealed(self) -> Vec<RevealedBody> {
        self.stored
            .into_iter()
            .filter(|stored| !stored.masked().is_empty())
            .map(Stored::revealed)
            .collect()
    }

    /// The bytes of the first one: of an artifact its own.
    pub(super) fn bytes(self) -> Option<Vec<u8>> {
        self.stored.into_iter().next().map(|stored| stored.bytes)
    }
}

impl Stored {
    /// The pointers at which something stands that pages mask; the empty one: the whole body.
    fn masked(&self) -> Vec<String> {
        let whole = || vec![String::new()];
        let Some(pointers) = &self.pointers else { return whole() };
        if pointers.is_empty() {
            return Vec::new();
        }
        match Json::parse(&self.bytes) {
            Ok(json) => {
                let there = |pointer: &&String| json.pointer(pointer).is_some();
                pointers.iter().filter(there).cloned().collect()
            }
            // What cannot be masked field by field is not shown at all.
            Err(_) => whole(),
        }
    }

    fn revealed(self) -> RevealedBody {
        let fields = match Json::parse(&self.bytes) {
            Ok(json) => self
                .masked()
                .into_iter()
                .filter(|pointer| !pointer.is_empty())
                .filter_map(|pointer| {
                    let value = json.pointer(&pointer)?.pretty();
                    Some(RevealedField { pointer, value })
                })
                .collect(),
            Err(_) => Vec::new(),
        };
        let shown = shown_whole(&self.bytes);
        RevealedBody {
            part: self.part.to_owned(),
            fields,
            text: shown.text,
            bytes: shown.bytes,
            cut: shown.cut,
        }
    }
}

async fn of_operation(tx: &mut Tx, target: Target) -> Result<Bodies, EngineError> {
    let not_found = || EngineError::refused(Code::NotFound);
    let named = detail::for_service(tx, target).await?.ok_or_else(not_found)?;
    let detail = detail::find(tx, target, i32::MAX).await?.ok_or_else(not_found)?;
    let kind = kind::find(tx, target.tenant, &named.operation).await?;
    let pointers = kind.map(|kind| kind.masked_pointers);
    let bodies = [("payload", detail.payload), ("answer", detail.response_body)];
    let stored = bodies.into_iter().filter_map(|(part, bytes)| {
        Some(Stored { part, bytes: bytes?, pointers: pointers.clone() })
    });
    Ok(Bodies {
        label: named.operation,
        key: named.key,
        expired: named.tombstoned_at.is_some(),
        stored: stored.collect(),
    })
}

async fn of_event(tx: &mut Tx, tenant: TenantId, id: EventId) -> Result<Bodies, EngineError> {
    let not_found = || EngineError::refused(Code::NotFound);
    let row = outbox_listing::rows(tx, tenant, &[id.uuid()]).await?.pop().ok_or_else(not_found)?;
    let more = outbox_listing::more(tx, tenant, id).await?.ok_or_else(not_found)?;
    let pointers = outbox::masked_pointers(tx, tenant, row.operation_id).await?;
    let stored = vec![Stored { part: "payload", bytes: more.payload, pointers }];
    Ok(Bodies { label: row.topic, key: row.aggregate, expired: false, stored })
}

async fn of_message(
    tx: &mut Tx,
    settings: &Settings,
    tenant: TenantId,
    id: MessageId,
) -> Result<Bodies, EngineError> {
    let not_found = || EngineError::refused(Code::NotFound);
    let row = inbox_listing::rows(tx, tenant, &[id]).await?.pop().ok_or_else(not_found)?;
    let bodies = inbox_listing::bodies(tx, tenant, id).await?.ok_or_else(not_found)?;
    let pointers = inbox::pointers_of(tx, settings, tenant, &row, &bodies).await?;
    let conflicts = inbox_conflict::of(tx, tenant, id).await?;
    let in_effect = inbox::in_effect(&pointers);
    let own = [("payload", bodies.payload, pointers.clone()), ("effect", bodies.effect, in_effect)];
    let others =
        conflicts.into_iter().map(|conflict| ("other_content", conflict.payload, pointers.clone()));
    let stored = own.into_iter().chain(others).filter_map(|(part, bytes, pointers)| {
        Some(Stored { part, bytes: bytes?, pointers: Some(pointers) })
    });
    Ok(Bodies {
        label: row.consumer.clone(),
        key: row.message_id.clone(),
        expired: row.shrunk_at.is_some(),
        stored: stored.collect(),
    })
}

async fn of_artifact(
    tx: &mut Tx,
    at: Address,
    named: &ArtifactName,
) -> Result<Bodies, EngineError> {
    let not_found = || EngineError::refused(Code::NotFound);
    let row = workflow_listing::rows(tx, at.tenant, &[at.id]).await?.pop().ok_or_else(not_found)?;
    let step = step::find(tx, at, &named.step).await?.ok_or_else(not_found)?;
    let pointers = match &step.operation {
        Some(name) => kind::find(tx, at.tenant, name).await?.map(|kind| kind.masked_pointers),
        None => Some(Vec::new()),
    };
    let stored = artifact::find(tx, at, &named.step, &named.name).await?.ok_or_else(not_found)?;
    Ok(Bodies {
        label: row.kind,
        key: row.key,
        expired: false,
        stored: vec![Stored { part: "artifact", bytes: stored.body, pointers }],
    })
}
