//! People, roles, tenants and kinds, as the command line manages them. Runs as the
//! database's owner: the console's role can change none of it.

use domain::{
    access::Role,
    ids::{StaffId, TenantId},
    problem::Code,
};
use sqlx::{Connection as _, PgConnection};

use crate::{
    error::EngineError,
    store::{
        audit, audit::Entry, factor, inbox_consumer, inbox_consumer::ConsumerPolicy, kind,
        kind::KindPolicy, sign_in_ticket, staff, staff_identity, tenant,
    },
};

/// A person to add.
pub struct NewStaff<'a> {
    /// Email, the name to sign in with.
    pub email: &'a str,
    /// Name.
    pub name: &'a str,
    /// PHC string of Argon2id.
    pub password_hash: &'a str,
    /// The tenant's short name.
    pub tenant_slug: &'a str,
    /// The role there.
    pub role: Role,
}

/// A connection of the database's owner.
pub struct Admin {
    pub(super) db: PgConnection,
}

impl Admin {
    /// Connects as the user of `url`.
    ///
    /// # Errors
    /// The database's.
    pub async fn connect(url: &str) -> Result<Self, EngineError> {
        Ok(Self { db: PgConnection::connect(url).await? })
    }

    /// Makes a tenant, or finds it.
    ///
    /// # Errors
    /// The database's.
    pub async fn ensure_tenant(&mut self, slug: &str, name: &str) -> Result<TenantId, EngineError> {
        let id = sqlx::query_scalar!(
            "insert into tenants (slug, name) values ($1, $2)
             on conflict (slug) do update set name = excluded.name returning id",
            slug,
            name,
        )
        .fetch_one(&mut self.db)
        .await?;
        Ok(TenantId::new(id))
    }

    /// Adds a person, or gives a known one a role in the tenant; a known person keeps the
    /// password.
    ///
    /// # Errors
    /// Refused: `not_found` for an unknown tenant.
    pub async fn add_staff(&mut self, new: &NewStaff<'_>) -> Result<StaffId, EngineError> {
        let tenant = self.tenant(new.tenant_slug).await?;
        let email = new.email.trim().to_lowercase();
        let mut tx = self.db.begin().await?;
        let id = staff::add(&mut tx, &email, new.name, new.password_hash).await?;
        staff::grant(&mut tx, tenant, id, new.role).await?;
        record(&mut tx, tenant, "staff.add", "staff", &email, Some(new.role.as_str())).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Changes a person's role in a tenant.
    ///
    /// # Errors
    /// Refused: `not_found`.
    pub async fn set_role(
        &mut self,
        email: &str,
        tenant_slug: &str,
        role: Role,
    ) -> Result<(), EngineError> {
        let tenant = self.tenant(tenant_slug).await?;
        let email = email.trim().to_lowercase();
        let mut tx = self.db.begin().await?;
        let id = known(staff::find(&mut tx, &email).await?)?;
        staff::grant(&mut tx, tenant, id, role).await?;
        record(&mut tx, tenant, "staff.role", "staff", &email, Some(role.as_str())).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Disables a person everywhere; their sessions and tokens end at the next request.
    ///
    /// # Errors
    /// Refused: `not_found`.
    pub async fn disable_staff(&mut self, email: &str) -> Result<(), EngineError> {
        let email = email.trim().to_lowercase();
        let mut tx = self.db.begin().await?;
        let id = known(staff::find(&mut tx, &email).await?)?;
        staff::disable(&mut tx, id).await?;
        for tenant in staff::tenant_ids(&mut tx, id).await? {
            record(&mut tx, tenant, "staff.disable", "staff", &email, None).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Gives a person a new password, takes their second factor off, ends their sessions, and enables
    /// them again.
    ///
    /// # Errors
    /// Refused: `not_found`.
    pub async fn reset_password(
        &mut self,
        email: &str,
        password_hash: &str,
    ) -> Result<(), EngineError> {
        let email = email.trim().to_lowercase();
        let mut tx = self.db.begin().await?;
        let id = known(staff::find(&mut tx, &email).await?)?;
        staff::reset(&mut tx, id, password_hash).await?;
        factor::remove(&mut tx, id).await?;
        sign_in_ticket::void(&mut tx, id).await?;
        for tenant in staff::tenant_ids(&mut tx, id).await? {
            record(&mut tx, tenant, "staff.reset", "staff", &email, None).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Ties an account to an identity provider's subject: whoever signs in as that subject is this
    /// person from then on, with the roles that the provider grants.
    ///
    /// # Errors
    /// Refused: `not_found` for an unknown person, `unprocessable` for a subject that is tied already.
    pub async fn link_identity(
        &mut self,
        email: &str,
        issuer: &str,
        subject: &str,
    ) -> Result<(), EngineError> {
        let email = email.trim().to_lowercase();
        let mut tx = self.db.begin().await?;
        let id = known(staff::find(&mut tx, &email).await?)?;
        if !staff_identity::add(&mut tx, issuer, subject, id).await? {
            let why = "it is tied to an account already";
            return Err(EngineError::field(Code::Unprocessable, "subject", why));
        }
        for tenant in staff::tenant_ids(&mut tx, id).await? {
            record(&mut tx, tenant, "staff.link", "staff", &email, None).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Writes a kind's policy, new or changed.
    ///
    /// # Errors
    /// The database's: its checks refuse a policy that contradicts itself.
    pub async fn put_kind(
        &mut self,
        tenant: TenantId,
        policy: &KindPolicy,
    ) -> Result<(), EngineError> {
        let mut tx = self.db.begin().await?;
        kind::put(&mut tx, tenant, policy).await?;
        record(&mut tx, tenant, "kind.put", "kind", &policy.name, None).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Writes what a consumer of the inbox promises, new or changed.
    ///
    /// # Errors
    /// The database's, also for a window, bound or retention out of range.
    pub async fn put_inbox_consumer(
        &mut self,
        tenant: TenantId,
        policy: &ConsumerPolicy,
    ) -> Result<(), EngineError> {
        let mut tx = self.db.begin().await?;
        inbox_consumer::put(&mut tx, tenant, policy).await?;
        record(&mut tx, tenant, "inbox-consumer.put", "inbox consumer", &policy.name, None).await?;
        tx.commit().await?;
        Ok(())
    }

    pub(super) async fn tenant(&mut self, slug: &str) -> Result<TenantId, EngineError> {
        tenant::find(&mut self.db, slug).await?.ok_or_else(|| EngineError::refused(Code::NotFound))
    }
}

pub(super) fn known(id: Option<StaffId>) -> Result<StaffId, EngineError> {
    id.ok_or_else(|| EngineError::refused(Code::NotFound))
}

pub(super) async fn record(
    db: &mut PgConnection,
    tenant: TenantId,
    action: &str,
    target_type: &str,
    target_id: &str,
    role: Option<&str>,
) -> Result<(), EngineError> {
    audit::add(
        db,
        Entry {
            tenant,
            actor_kind: "command line",
            actor_id: None,
            actor: "command line",
            action,
            target_type,
            target_id,
            refused: None,
            reason: None,
            before: None,
            after: role.map(|role| serde_json::json!({"role": role})),
            receipt: None,
            request_id: "",
            client: None,
        },
    )
    .await
}
