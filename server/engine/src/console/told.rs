//! What the audit log is told about reading: who asked for what was refused, and what left the console.

use domain::{access::Permission, problem::Code};

use crate::{
    Engine, StaffCaller,
    error::EngineError,
    store::audit::{self, Entry},
};

/// An audit row about something that is no record of the engine, such as a list.
pub(crate) fn entry<'a>(
    by: &'a StaffCaller,
    action: &'a str,
    (target_type, target_id): (&'a str, &'a str),
    refused: Option<Code>,
) -> Entry<'a> {
    Entry {
        tenant: by.tenant_id(),
        actor_kind: "staff",
        actor_id: Some(by.staff_id().uuid()),
        actor: by.email(),
        action,
        target_type,
        target_id,
        refused,
        reason: None,
        before: None,
        after: None,
        receipt: None,
        request_id: by.request_id(),
        client: by.origin().client,
    }
}

impl Engine {
    /// Adds the one row of a refusal. Where it cannot be written there is no answer either (T29).
    pub(crate) async fn told<T>(
        &self,
        by: &StaffCaller,
        action: &str,
        target: (&str, &str),
        result: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let Err(EngineError::Refused(refusal)) = &result else { return result };
        let mut tx = self.pools.begin_console(by.tenant_id()).await?;
        audit::add(&mut tx, entry(by, action, target, Some(refusal.code))).await?;
        tx.commit().await?;
        result
    }

    /// Lets whoever has a right look at what takes it. That somebody without it looked is itself worth
    /// knowing: the refusal has its row (T29).
    pub(crate) async fn may_look(
        &self,
        by: &StaffCaller,
        right: Permission,
        action: &str,
        target: (&str, &str),
    ) -> Result<(), EngineError> {
        self.told(by, action, target, by.require(right)).await
    }
}
