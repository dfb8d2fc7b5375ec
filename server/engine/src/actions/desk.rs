//! Notes and *taken by*: audited, and moving no version.

use domain::{
    access::Permission,
    action::Subject,
    ids::OperationId,
    problem::Code,
    record::{RecordName, RecordType},
};
use sha2::{Digest as _, Sha256};

use super::entry;
use crate::{
    Engine, StaffCaller,
    database::Tx,
    error::EngineError,
    store::{Target, audit, detail, incident_listing, note, record_ref},
};

/// The longest note, in characters.
const MAX_NOTE: usize = 4_000;

impl Engine {
    /// Adds a note to a record; the same form posted again adds nothing.
    ///
    /// # Errors
    /// Refused, with one audit row: `permission_missing`, `not_found`, `unprocessable`.
    pub async fn add_note(
        &self,
        by: &StaffCaller,
        about: impl Into<RecordName>,
        form_key: &str,
        text: &str,
    ) -> Result<(), EngineError> {
        let (engine, by, about, form_key, text) =
            (self.clone(), by.clone(), about.into(), form_key.to_owned(), text.trim().to_owned());
        Self::detached(async move {
            let result = engine.add_note_unaudited(&by, about, &form_key, &text).await;
            engine.audited(&by, "note", &about.into(), "", result).await
        })
        .await
    }

    async fn add_note_unaudited(
        &self,
        by: &StaffCaller,
        about: RecordName,
        form_key: &str,
        text: &str,
    ) -> Result<(), EngineError> {
        by.require(Permission::Note)?;
        let fits = |text: &str, max| {
            !text.is_empty() && text.chars().count() <= max && !text.contains('\0')
        };
        if !fits(text, MAX_NOTE) {
            return Err(EngineError::field(
                Code::Unprocessable,
                "text",
                format!("a note has 1 to {MAX_NOTE} characters"),
            ));
        }
        if !fits(form_key, 200) {
            return Err(EngineError::field(
                Code::Unprocessable,
                "form_key",
                "the form's key is missing",
            ));
        }
        let tenant = by.tenant_id();
        let mut tx = self.pools.begin_console(tenant).await?;
        if !about.record.takes_notes() || !is_there(&mut tx, by, about).await? {
            return Err(EngineError::refused(Code::NotFound));
        }
        // The form and its words: sent twice it adds nothing, but words changed after Back are another
        // note and must not be dropped.
        let form_key = format!("{form_key} {}", hex::encode(Sha256::digest(text.as_bytes())));
        let whose = (tenant, about);
        if note::insert(&mut tx, whose, by.staff_id(), by.name(), &form_key, text).await? {
            audit::add(&mut tx, entry(by, "note", &about.into(), "")).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Says that a person looks at an operation, or no longer.
    ///
    /// # Errors
    /// Refused, with one audit row: `permission_missing`, `not_found`.
    pub async fn take(
        &self,
        by: &StaffCaller,
        id: OperationId,
        taken: bool,
    ) -> Result<(), EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let action = if taken { "take" } else { "put_back" };
            let result = engine.take_unaudited(&by, id, taken, action).await;
            engine.audited(&by, action, &id.into(), "", result).await
        })
        .await
    }

    async fn take_unaudited(
        &self,
        by: &StaffCaller,
        id: OperationId,
        taken: bool,
        action: &str,
    ) -> Result<(), EngineError> {
        by.require(Permission::Note)?;
        let target = Target { tenant: by.tenant_id(), id };
        let mut tx = self.pools.begin_console(target.tenant).await?;
        detail::for_service(&mut tx, target)
            .await?
            .ok_or_else(|| EngineError::refused(Code::NotFound))?;
        let moved = if taken {
            note::take(&mut tx, target, by.staff_id(), by.name()).await?
        } else {
            note::put_back(&mut tx, target).await?
        };
        if moved {
            audit::add(&mut tx, entry(by, action, &Subject::from(id), "")).await?;
        }
        tx.commit().await?;
        Ok(())
    }
}

/// Whether the tenant has a record that notes can stand on.
async fn is_there(tx: &mut Tx, by: &StaffCaller, about: RecordName) -> Result<bool, EngineError> {
    let tenant = by.tenant_id();
    Ok(match about.record {
        RecordType::Operation => {
            let target = Target { tenant, id: OperationId::new(about.id) };
            detail::for_service(tx, target).await?.is_some()
        }
        RecordType::Incident => !incident_listing::rows(tx, tenant, &[about.id]).await?.is_empty(),
        _ => !record_ref::of(tx, tenant, &[about]).await?.is_empty(),
    })
}
