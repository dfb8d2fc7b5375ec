//! Evidence as a file: kept with its operation under its hash, audited, and moving no version.
//!
//! Guards against the file that makes two records of one: the same bytes from the same person are one
//! piece of evidence, however often the form is sent.

use domain::{
    access::Permission,
    action::Subject,
    evidence::file_name,
    ids::{EvidenceId, OperationId},
    problem::Code,
    view::EvidenceFile,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{
    ActionRequest, entry,
    request::{check_text, unfit},
};
use crate::{
    Engine, StaffCaller,
    actor::Actor,
    error::EngineError,
    store::{
        Target,
        audit::{self, Entry},
        detail,
        evidence_file::{self, NewFile},
    },
};

/// Files that one operation may have.
const MAX_FILES: i64 = 100;
/// The longest words beside a file, in characters.
const MAX_TEXT: usize = 4_000;

/// A file that a person gives as evidence.
#[derive(Clone, Debug)]
pub struct Attach {
    /// Its name, as it was sent.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What it shows.
    pub text: Option<String>,
}

/// A file that is kept, since now or before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The file.
    pub file: EvidenceFile,
    /// Whether the same person had given it before: nothing was written now.
    pub replayed: bool,
}

impl Engine {
    /// Keeps a file as evidence on an operation.
    ///
    /// # Errors
    /// Refused, with one audit row and no effect: `permission_missing`, `not_found`, `too_large` with
    /// the limit, `unprocessable` for an empty file, `tombstoned`.
    pub async fn attach_evidence(
        &self,
        by: &StaffCaller,
        id: OperationId,
        attach: Attach,
    ) -> Result<Attached, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let result = engine.attach_unaudited(&by, id, attach).await;
            engine.audited(&by, "evidence", &id.into(), "", result).await
        })
        .await
    }

    async fn attach_unaudited(
        &self,
        by: &StaffCaller,
        id: OperationId,
        attach: Attach,
    ) -> Result<Attached, EngineError> {
        by.require(Permission::Evidence)?;
        let target = Target { tenant: by.tenant_id(), id };
        let mut tx = self.pools.begin_console(target.tenant).await?;
        let found = detail::for_service(&mut tx, target)
            .await?
            .ok_or_else(|| EngineError::refused(Code::NotFound))?;
        let text = attach.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        check_text("text", text, MAX_TEXT)?;
        let limit = self.settings.limits.evidence_bytes;
        if attach.bytes.len() > limit {
            return Err(EngineError::field(
                Code::TooLarge,
                "file",
                format!("A file given as evidence has at most {limit} bytes."),
            ));
        }
        if attach.bytes.is_empty() {
            return Err(unfit("file", "choose a file that is not empty"));
        }
        if found.tombstoned_at.is_some() {
            return Err(EngineError::refused(Code::Tombstoned));
        }
        let sha256 = Sha256::digest(&attach.bytes);
        let once = format!("file {} {}", by.staff_id(), hex::encode(sha256));
        let name = file_name(&attach.name);
        let actor = Actor::new("staff", by.email());
        let new = NewFile { name: &name, sha256: &sha256, bytes: &attach.bytes, text, once: &once };
        let Some(evidence) = evidence_file::insert(&mut tx, target, &actor, new).await? else {
            let file = evidence_file::given(&mut tx, target, &once).await?;
            let file = file.ok_or_else(|| EngineError::refused(Code::NotFound))?;
            return Ok(Attached { file, replayed: true });
        };
        if evidence_file::count(&mut tx, target).await? > MAX_FILES {
            return Err(unfit("file", &format!("an operation has at most {MAX_FILES} files")));
        }
        let file = EvidenceFile {
            id: evidence,
            name: Some(name),
            size: i64::try_from(attach.bytes.len()).unwrap_or(i64::MAX),
            sha256: hex::encode(sha256),
        };
        // The log outlives the operation's contents, so the name, which may be personal, stays out.
        let subject = Subject::from(id);
        let entry = Entry {
            after: Some(json!({ "evidence": evidence, "size": file.size, "sha256": file.sha256 })),
            ..entry(by, "evidence", &subject, "")
        };
        audit::add(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(Attached { file, replayed: false })
    }

    /// A file given as evidence: its name and its bytes.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, also once expired, and the same for another tenant's.
    pub async fn evidence_file(
        &self,
        by: &StaffCaller,
        id: OperationId,
        evidence: EvidenceId,
    ) -> Result<(String, Vec<u8>), EngineError> {
        by.require(Permission::Read)?;
        let (engine, target) = (self.clone(), Target { tenant: by.tenant_id(), id });
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(target.tenant).await?;
            let file = evidence_file::bytes(&mut tx, target, evidence).await?;
            tx.commit().await?;
            file.ok_or_else(|| EngineError::refused(Code::NotFound))
        })
        .await
    }

    /// Files of an operation by id, for the form that carries them.
    ///
    /// # Errors
    /// Refused: `permission_missing`.
    pub async fn evidence_files(
        &self,
        by: &StaffCaller,
        id: OperationId,
        ids: &[EvidenceId],
    ) -> Result<Vec<EvidenceFile>, EngineError> {
        by.require(Permission::Read)?;
        let (engine, tenant, ids) = (self.clone(), by.tenant_id(), ids.to_vec());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let files = evidence_file::named(&mut tx, tenant, &id.into(), &ids).await?;
            tx.commit().await?;
            Ok(files)
        })
        .await
    }

    /// A decision whose evidence is the id of a file on its operation names that file; any other text
    /// stays one.
    pub(super) async fn with_named_file(
        &self,
        by: &StaffCaller,
        mut request: ActionRequest,
    ) -> Result<ActionRequest, EngineError> {
        let id = request.evidence.as_deref().and_then(|text| text.parse::<EvidenceId>().ok());
        let Some(id) = id else { return Ok(request) };
        let mut tx = self.pools.begin_console(by.tenant_id()).await?;
        let found = evidence_file::named(&mut tx, by.tenant_id(), &request.target, &[id]).await?;
        tx.rollback().await?;
        if !found.is_empty() && request.outcome.is_some() {
            request.evidence = None;
            request.evidence_files.push(id);
            request.evidence_files.sort_unstable();
            request.evidence_files.dedup();
        }
        Ok(request)
    }
}
