//! A person as they stand now, for work that they set going and that goes on without them: the right is
//! read again at every step, so a role that was taken away counts at once.

use std::sync::Arc;

use domain::ids::{StaffId, TenantId};

use crate::{
    RequestOrigin, StaffCaller,
    database::Tx,
    error::EngineError,
    store::{lease, staff, tenant},
};

/// The caller that a person would be now; `None` where the account is closed or has left the tenant.
/// `request` names what they set going, where a request would stand in the audit log.
pub(crate) async fn standing(
    tx: &mut Tx,
    tenant: TenantId,
    person: StaffId,
    request: RequestOrigin,
) -> Result<Option<StaffCaller>, EngineError> {
    let member = staff::member(tx, tenant, person).await?.filter(|member| !member.disabled);
    let Some(member) = member else { return Ok(None) };
    let Some((tenant_slug, tenant_name)) = tenant::names(tx, tenant).await? else {
        return Ok(None);
    };
    Ok(Some(StaffCaller {
        staff_id: member.id,
        name: member.name,
        email: member.email,
        tenant_id: tenant,
        tenant_slug,
        tenant_name,
        role: member.role,
        origin: Arc::new(request),
        asked_at: lease::clock(tx).await?,
        session: None,
        // Whoever set it going was asked for it then.
        factor_until: None,
        preferences: None,
        token: None,
    }))
}
