//! What decisions about the rules themselves are made on: the policy of a kind as it is in force, and
//! the people of a tenant with their roles, each with the version that a decision must name (A5).

use domain::{
    access::{Permission, Role},
    ids::StaffId,
    problem::Code,
};
use serde::Serialize;

use crate::{
    Engine, StaffCaller,
    actions::preview,
    error::EngineError,
    store::{
        factor,
        kind::{self, KindPolicy},
        staff,
    },
};

/// A kind's policy as it is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KindInForce {
    /// Grows with each change; a decision names it. A kind that is not there yet has 0.
    pub version: i64,
    /// The policy.
    pub policy: KindPolicy,
}

/// A person's place in the tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberInForce {
    /// Who.
    pub id: StaffId,
    /// By name.
    pub name: String,
    /// By email.
    pub email: String,
    /// As what.
    pub role: Role,
    /// Grows with each grant; a decision names it.
    pub version: i64,
    /// Whether the account is closed.
    pub disabled: bool,
    /// Whether the account has a second factor.
    pub second_factor: bool,
}

impl Engine {
    /// The policy of a kind.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`.
    pub async fn kind_in_force(
        &self,
        by: &StaffCaller,
        name: &str,
    ) -> Result<KindInForce, EngineError> {
        by.require(Permission::Read)?;
        let (engine, tenant, name) = (self.clone(), by.tenant_id(), name.to_owned());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            // Under its lock, so that version and policy are of one moment.
            let found = kind::lock(&mut tx, tenant, &name).await?;
            tx.rollback().await?;
            let (policy, version) = found.ok_or_else(|| EngineError::refused(Code::NotFound))?;
            Ok(KindInForce { version, policy })
        })
        .await
    }

    /// What a new policy would loosen, a sentence each: then it waits for a second person. Writes
    /// nothing.
    ///
    /// # Errors
    /// Refused: `permission_missing`, with one audit row; `unprocessable` with the field, as the decision
    /// would be.
    pub async fn preview_kind(
        &self,
        by: &StaffCaller,
        policy: KindPolicy,
    ) -> Result<Vec<String>, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let (tenant, kinds) = (by.tenant_id(), ("kinds", by.tenant_slug()));
            engine.may_look(&by, Permission::ManageKinds, "preview_kind", kinds).await?;
            let mut tx = engine.pools.begin_console(tenant).await?;
            let current = kind::find(&mut tx, tenant, &policy.name).await?;
            tx.rollback().await?;
            preview(current.as_ref(), &policy)
        })
        .await
    }

    /// The people of the tenant, by email.
    ///
    /// # Errors
    /// Refused, with one audit row: `permission_missing`.
    pub async fn members(&self, by: &StaffCaller) -> Result<Vec<MemberInForce>, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let (tenant, people) = (by.tenant_id(), ("staff", by.tenant_slug()));
            engine.may_look(&by, Permission::ManageStaff, "read_staff", people).await?;
            let mut tx = engine.pools.begin_console(tenant).await?;
            let members = staff::members(&mut tx, tenant).await?;
            let with_factor = factor::of_tenant(&mut tx, tenant).await?;
            tx.rollback().await?;
            Ok(members
                .into_iter()
                .map(|member| MemberInForce {
                    id: member.id,
                    name: member.name,
                    email: member.email,
                    role: member.role,
                    version: member.version,
                    disabled: member.disabled,
                    second_factor: with_factor.contains(&member.id),
                })
                .collect())
        })
        .await
    }
}
