//! The audit log's chain: what is known of it, and asking for a check.

use domain::{access::Permission, view::ChainView};
use leptos::prelude::*;

use super::{
    context::{caller, carry_out, engine, read},
    redirect::{Target, go},
    refused::{Kept, RefusedForm},
};
use crate::error::ConsoleError;

/// Where the form on the page of the log is posted to.
pub const VERIFY: &str = "/act/audit/verify";

/// What is known of the tenant's chain; `None` for whoever may not read the log, whose page says so.
///
/// # Errors
/// The engine's refusal.
pub async fn chain() -> Result<Option<ChainView>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    if !caller.permits(Permission::ReadAudit) {
        return Ok(None);
    }
    read(&caller, engine.audit_chain(&caller)).await.map(Some)
}

/// Checks the tenant's chain and leads back to the log, which tells what was found; a long chain is
/// walked on in the background.
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads to the log, which explains it.
#[server(endpoint = "audit/verify")]
pub async fn verify_audit() -> Result<(), ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    let by = caller.clone();
    let asked = carry_out(&caller, async move { engine.check_audit_chain(&by).await }).await;
    let refused =
        asked.err().map(|ConsoleError(refusal)| RefusedForm { refusal, kept: Kept::default() });
    go(&Target::chain(refused.as_ref()));
    Ok(())
}
