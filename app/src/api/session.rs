//! Who is signed in, for the frame of every page.

use domain::view::Me;

use super::context::{caller, engine, read};
use crate::error::ConsoleError;

/// The signed-in person, the tenant and the count that matters.
///
/// # Errors
/// `unauthenticated` without a session.
pub async fn me() -> Result<Me, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.me(&caller)).await
}
