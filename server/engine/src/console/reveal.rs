//! Revealing masked fields: by right, with a reason, for one record at a time, to one person, for five
//! minutes (T33).
//!
//! Guards against a value that is shown without a trace: the grant and its audit row are committed
//! together, and only a committed grant is read from. Neither holds a value; the values never travel in
//! an address, a redirect or a log.

use domain::{
    access::Permission,
    action::Subject,
    ids::{RevealId, TenantId},
    problem::Code,
    view::{ArtifactName, MaskedFields, RevealView},
};
use serde_json::json;

use super::bodies::Bodies;
use crate::{
    Engine, StaffCaller,
    actions::{checked_reason, entry},
    database::Tx,
    error::EngineError,
    store::{
        audit::{self, Entry},
        reveal::{self, NewReveal, Reveal, Which},
    },
};

/// The longest key of a form, in characters.
const MAX_FORM_KEY: usize = 200;
/// What the audit log calls looking at a reveal that is not one's own.
const READ: &str = "read_reveal";

/// What a person asks to see.
#[derive(Clone, Debug)]
pub struct AskReveal {
    /// Of which record.
    pub target: Subject,
    /// Of a workflow, which artifact.
    pub artifact: Option<ArtifactName>,
    /// Minted by the server into the form, or named by the program.
    pub form_key: String,
    /// Why.
    pub reason: String,
}

/// A grant that was written, now or before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revealed {
    /// Its id.
    pub id: RevealId,
    /// Whether the same form had asked before: nothing was written now.
    pub replayed: bool,
}

impl Engine {
    /// What of a record is masked, by name, for the page on which a person asks for it.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for a record of another tenant.
    pub async fn masked_fields(
        &self,
        by: &StaffCaller,
        target: &Subject,
        artifact: Option<&ArtifactName>,
    ) -> Result<MaskedFields, EngineError> {
        by.require(Permission::Read)?;
        let (engine, tenant) = (self.clone(), by.tenant_id());
        let (target, artifact) = (target.clone(), artifact.cloned());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let bodies = engine.bodies(&mut tx, tenant, &target, artifact.as_ref()).await?;
            tx.commit().await?;
            Ok(bodies.masked())
        })
        .await
    }

    /// Grants the caller to read one record's masked fields for five minutes.
    ///
    /// # Errors
    /// Refused, with one audit row: `permission_missing`, `not_found`, `unprocessable`,
    /// `step_up_required`; `tombstoned`
    /// where the contents have expired; `not_allowed_in_state` where nothing is masked.
    pub async fn reveal(&self, by: &StaffCaller, ask: AskReveal) -> Result<Revealed, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let result = engine.reveal_unaudited(&by, &ask).await;
            engine.audited(&by, "reveal", &ask.target, &ask.reason, result).await
        })
        .await
    }

    async fn reveal_unaudited(
        &self,
        by: &StaffCaller,
        ask: &AskReveal,
    ) -> Result<Revealed, EngineError> {
        by.require(Permission::Reveal)?;
        let tenant = by.tenant_id();
        let mut tx = self.pools.begin_console(tenant).await?;
        let bodies = self.bodies(&mut tx, tenant, &ask.target, ask.artifact.as_ref()).await?;
        let reason = checked_reason(
            &ask.reason,
            "say why: the reason stands in the audit log beside the names of the fields",
        )?;
        check_key(&ask.form_key)?;
        by.require_factor()?;
        let masked = bodies.masked();
        if masked.expired {
            return Err(EngineError::refused(Code::Tombstoned));
        }
        if masked.pointers.is_empty() {
            return Err(EngineError::refused_with(Code::NotAllowedInState, |refusal| {
                refusal.detail = Some("Nothing is masked in it.".into());
            }));
        }
        let new = NewReveal {
            tenant,
            staff: by.staff_id(),
            form_key: &ask.form_key,
            target: &ask.target,
            artifact: ask.artifact.as_ref(),
            pointers: &masked.pointers,
            reason: &reason,
        };
        let Some(id) = reveal::insert(&mut tx, new).await? else {
            return asked_before(&mut tx, by, ask).await;
        };
        let entry = Entry {
            after: Some(json!({
                "reveal": id,
                "artifact": ask.artifact,
                "pointers": masked.pointers,
            })),
            ..entry(by, "reveal", &ask.target, &reason)
        };
        audit::add(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(Revealed { id, replayed: false })
    }

    /// A reveal with what it shows, to whom it was granted and while it stands; afterwards without.
    ///
    /// # Errors
    /// Refused, with one audit row: `permission_missing`, also where the right was taken away since;
    /// `not_found`, the same for another person's and another tenant's.
    pub async fn revealed(
        &self,
        by: &StaffCaller,
        id: RevealId,
    ) -> Result<RevealView, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let grant = engine.granted_reveal(&by, id).await?;
            let tenant = by.tenant_id();
            let mut tx = engine.pools.begin_console(tenant).await?;
            let artifact = grant.artifact.as_ref();
            let bodies = engine.bodies(&mut tx, tenant, &grant.target, artifact).await?;
            tx.commit().await?;
            let masked = bodies.masked();
            Ok(RevealView {
                id: grant.id,
                target_type: grant.target.kind,
                target: grant.target.id,
                artifact: grant.artifact,
                label: masked.label,
                key: masked.key,
                reason: grant.reason,
                at: grant.at,
                until: grant.until,
                pointers: grant.pointers,
                bodies: (!grant.is_over).then(|| bodies.revealed()),
            })
        })
        .await
    }

    /// The bytes of a revealed artifact, with its name.
    ///
    /// # Errors
    /// As [`Engine::revealed`]; `not_found` also for a reveal of anything else, and once its time is
    /// over.
    pub async fn revealed_artifact(
        &self,
        by: &StaffCaller,
        id: RevealId,
    ) -> Result<(ArtifactName, Vec<u8>), EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let not_found = || EngineError::refused(Code::NotFound);
            let grant = engine.granted_reveal(&by, id).await?;
            let artifact = grant.artifact.filter(|_| !grant.is_over).ok_or_else(not_found)?;
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            let bodies =
                engine.bodies(&mut tx, by.tenant_id(), &grant.target, Some(&artifact)).await?;
            tx.commit().await?;
            Ok((artifact, bodies.bytes().ok_or_else(not_found)?))
        })
        .await
    }

    /// The caller's own grant. Whoever lacks the right, or looks for what is not theirs, is written down.
    async fn granted_reveal(&self, by: &StaffCaller, id: RevealId) -> Result<Reveal, EngineError> {
        let named = id.to_string();
        let target = ("reveal", named.as_str());
        self.may_look(by, Permission::Reveal, READ, target).await?;
        let mut tx = self.pools.begin_console(by.tenant_id()).await?;
        let which = Which::Id(id);
        let found = reveal::find(&mut tx, by.tenant_id(), by.staff_id(), which).await?;
        tx.commit().await?;
        let own = found.ok_or_else(|| EngineError::refused(Code::NotFound));
        self.told(by, READ, target, own).await
    }

    async fn bodies(
        &self,
        tx: &mut Tx,
        tenant: TenantId,
        target: &Subject,
        artifact: Option<&ArtifactName>,
    ) -> Result<Bodies, EngineError> {
        Bodies::read(tx, &self.settings, tenant, target, artifact).await
    }
}

/// The same form sent again is the same grant, while it stands: it is made neither twice nor longer.
async fn asked_before(
    tx: &mut Tx,
    by: &StaffCaller,
    ask: &AskReveal,
) -> Result<Revealed, EngineError> {
    let which = Which::Form(&ask.form_key);
    let grant = reveal::find(tx, by.tenant_id(), by.staff_id(), which).await?;
    match grant {
        Some(grant)
            if grant.target == ask.target && grant.artifact == ask.artifact && !grant.is_over =>
        {
            Ok(Revealed { id: grant.id, replayed: true })
        }
        _ => Err(EngineError::field(
            Code::Unprocessable,
            "form_key",
            "this form was used before, and what it showed is over: open the page again",
        )),
    }
}

fn check_key(form_key: &str) -> Result<(), EngineError> {
    let length = form_key.chars().count();
    if (1..=MAX_FORM_KEY).contains(&length) && !form_key.chars().any(char::is_control) {
        return Ok(());
    }
    Err(EngineError::field(
        Code::Unprocessable,
        "form_key",
        format!("the form's key has 1 to {MAX_FORM_KEY} characters"),
    ))
}
