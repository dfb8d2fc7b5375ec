//! Who is signed in, for the frame of every page.

use domain::view::Me;
use leptos::prelude::*;

use crate::error::ConsoleError;

/// The signed-in person, the tenant and the count that matters.
///
/// # Errors
/// `unauthenticated` without a session.
#[server(name = ReadMe, endpoint = "session/me")]
pub async fn me() -> Result<Me, ConsoleError> {
    use super::context::{caller, engine, read};

    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.me(&caller)).await
}
