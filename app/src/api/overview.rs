//! What needs a person now.

use domain::view::Overview;

use super::context::{caller, engine, read};
use crate::error::ConsoleError;

/// The queues of attention of the session's tenant.
///
/// # Errors
/// The engine's refusal.
pub async fn overview() -> Result<Overview, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.overview(&caller)).await
}
