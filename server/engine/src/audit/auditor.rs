//! Checking chains from the command line: as the database's owner, who sees all tenants, on a connection
//! that can write nothing.

use std::str::FromStr as _;

use domain::{
    ids::TenantId,
    view::{ChainFault, ChainFindings},
};
use sqlx::{Connection as _, PgConnection, postgres::PgConnectOptions};

use super::{anchor::AnchoredHead, walk::Walk};
use crate::{
    error::EngineError,
    store::{audit_chain, tenant},
};

/// A connection for checks.
pub struct Auditor {
    db: PgConnection,
}

/// What a check of one tenant's chain found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The tenant's short name.
    pub tenant: String,
    /// What was found.
    pub findings: ChainFindings,
}

impl Auditor {
    /// Connects as the user of `url`.
    ///
    /// # Errors
    /// The database's.
    pub async fn connect(url: &str) -> Result<Self, EngineError> {
        let options =
            PgConnectOptions::from_str(url)?.application_name("onceover audit").options([
                ("default_transaction_read_only", "on"),
                ("statement_timeout", "60s"),
                ("lock_timeout", "5s"),
            ]);
        Ok(Self { db: PgConnection::connect_with(&options).await? })
    }

    /// The tenant of a short name.
    ///
    /// # Errors
    /// The database's.
    pub async fn tenant(&mut self, slug: &str) -> Result<Option<TenantId>, EngineError> {
        tenant::find(&mut self.db, slug).await
    }

    /// The tenant after a short name, in their order; the first after an empty one.
    ///
    /// # Errors
    /// The database's.
    pub async fn tenant_after(
        &mut self,
        slug: &str,
    ) -> Result<Option<(TenantId, String)>, EngineError> {
        tenant::after(&mut self.db, slug).await
    }

    /// Walks a tenant's whole chain.
    ///
    /// # Errors
    /// The database's.
    pub async fn verify(&mut self, tenant: TenantId) -> Result<ChainFindings, EngineError> {
        let mut walk = Walk::new(&audit_chain::ends(&mut self.db, tenant).await?);
        while !walk.is_over() {
            walk.step(&mut self.db, tenant).await?;
        }
        Ok(walk.found().clone())
    }

    /// Compares heads that were kept outside with the chains; `None` where the entry is as it was.
    ///
    /// # Errors
    /// The database's.
    pub async fn compare(
        &mut self,
        heads: &[AnchoredHead],
    ) -> Result<Vec<Option<ChainFault>>, EngineError> {
        let tenants: Vec<_> = heads.iter().map(|head| head.tenant_id).collect();
        let places: Vec<_> = heads.iter().map(|head| head.seq).collect();
        let stored = audit_chain::hashes(&mut self.db, &tenants, &places).await?;
        let judged = heads.iter().zip(stored).map(|(head, stored)| match stored {
            None => Some(ChainFault::AnchoredMissing { at: head.seq }),
            Some(hash) if hash != head.hash => Some(ChainFault::AnchoredOtherwise { at: head.seq }),
            Some(_) => None,
        });
        Ok(judged.collect())
    }
}
