//! What needs a person now.

use domain::view::Overview;
use leptos::prelude::*;

use crate::error::ConsoleError;

/// The queues of attention of the session's tenant.
///
/// # Errors
/// The engine's refusal.
#[server(name = ReadOverview, endpoint = "overview")]
pub async fn overview() -> Result<Overview, ConsoleError> {
    use super::context::{caller, engine, read};

    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.overview(&caller)).await
}
