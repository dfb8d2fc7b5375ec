//! What needs a person now.

use domain::view::{Cause, Overview};

use super::context::{caller, engine, read};
use crate::error::ConsoleError;

/// The queues of attention of the session's tenant, and the rows of all of them or of the one chosen.
///
/// # Errors
/// The engine's refusal.
pub async fn overview(chosen: Option<Cause>) -> Result<Overview, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.overview(&caller, chosen)).await
}
