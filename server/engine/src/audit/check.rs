//! Checks of a tenant's chain that a person asks for on the page: begun in a transaction with an audit
//! row of its own, walked in stretches, finished in the background where the chain is long.

use domain::{
    access::Permission,
    ids::TenantId,
    view::{ChainCheck, ChainFindings, ChainView},
};
use serde_json::Value;

use super::walk::Walk;
use crate::{
    Engine, StaffCaller,
    console::{READ_AUDIT, entry},
    error::EngineError,
    report::Report,
    store::{audit, audit_anchor, audit_chain, audit_check},
};

/// Stretches that are walked before whoever asked is answered.
const AT_ONCE: usize = 4;
/// Tenants whose checks one run goes on with.
const TENANTS: i64 = 10;

impl Engine {
    /// What is known of the tenant's chain.
    ///
    /// # Errors
    /// Refused, with one audit row: `permission_missing`.
    pub async fn audit_chain(&self, by: &StaffCaller) -> Result<ChainView, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let (tenant, log) = (by.tenant_id(), ("audit", by.tenant_slug()));
            engine.may_look(&by, Permission::ReadAudit, READ_AUDIT, log).await?;
            let mut tx = engine.pools.begin_console(tenant).await?;
            let check = audit_check::last(&mut tx, tenant).await?;
            let anchored_at = audit_anchor::last(&mut tx).await?;
            tx.commit().await?;
            let check = check.map(|check| ChainCheck {
                asked_by: check.asked_by,
                asked_at: check.asked_at,
                ended_at: check.ended_at,
                findings: found(check.walk),
            });
            Ok(ChainView { check, anchored_at })
        })
        .await
    }

    /// Checks the tenant's chain: at once as far as a few stretches lead, the rest in the background.
    /// Asked for again meanwhile, it is the same check.
    ///
    /// # Errors
    /// Refused, with one audit row: `permission_missing`.
    pub async fn check_audit_chain(&self, by: &StaffCaller) -> Result<(), EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let log = ("audit", by.tenant_slug());
            let result = engine.begin_check(&by).await;
            engine.told(&by, ACTION, log, result).await?;
            for _ in 0..AT_ONCE {
                if engine.advance_check(by.tenant_id()).await? == 0 {
                    break;
                }
            }
            Ok(())
        })
        .await
    }

    async fn begin_check(&self, by: &StaffCaller) -> Result<(), EngineError> {
        by.require(Permission::ReadAudit)?;
        let tenant = by.tenant_id();
        let mut tx = self.pools.begin_console(tenant).await?;
        let walk = Walk::new(&audit_chain::ends(&mut tx, tenant).await?);
        if audit_check::begin(&mut tx, tenant, by.email(), &kept(&walk)?).await? {
            audit::add(&mut tx, entry(by, ACTION, ("audit", by.tenant_slug()), None)).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Goes on with the checks that are under way.
    ///
    /// # Errors
    /// The database's.
    pub async fn advance_audit_checks(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut db = engine.pools.engine().acquire().await?;
            let tenants = audit_check::under_way(&mut db, TENANTS).await?;
            drop(db);
            let mut report = Report::default();
            for tenant in tenants {
                report.handled += engine.advance_check(tenant).await?;
            }
            Ok(report)
        })
        .await
    }

    /// One stretch of a tenant's check; says how many entries that was, 0 once it is over.
    async fn advance_check(&self, tenant: TenantId) -> Result<u64, EngineError> {
        let mut tx = self.pools.begin_console(tenant).await?;
        let Some((id, walk)) = audit_check::hold(&mut tx, tenant).await? else { return Ok(0) };
        let mut walk = match serde_json::from_value(walk) {
            Ok(walk) => walk,
            // Another build's: from the beginning.
            Err(_) => Walk::new(&audit_chain::ends(&mut tx, tenant).await?),
        };
        let walked = walk.step(&mut tx, tenant).await?;
        audit_check::keep(&mut tx, tenant, id, &kept(&walk)?, walk.is_over()).await?;
        tx.commit().await?;
        if walk.is_over() && !walk.found().is_whole() {
            tracing::error!(%tenant, faults = ?walk.found().faults, "an audit chain is broken");
        }
        Ok(u64::try_from(walked).unwrap_or_default())
    }
}

/// What the audit log calls it.
const ACTION: &str = "verify_audit";

fn kept(walk: &Walk) -> Result<Value, EngineError> {
    serde_json::to_value(walk).map_err(|error| EngineError::Unreadable(error.to_string()))
}

/// What a stored walk has found; nothing where another build wrote it.
fn found(walk: Value) -> ChainFindings {
    serde_json::from_value::<Walk>(walk).map(Walk::into_found).unwrap_or_default()
}
