//! The reader's own account, for `/me` and the pages about the second factor.

use domain::view::AccountView;

use super::context::{caller, engine, read};
use crate::error::ConsoleError;

/// Sessions, factors and last sign-ins of whoever reads.
///
/// # Errors
/// `unauthenticated` without a session.
pub async fn account() -> Result<AccountView, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.account(&caller)).await
}
