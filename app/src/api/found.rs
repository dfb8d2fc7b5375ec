//! A record that a page asks for, and in which of the person's tenants it stands.
//!
//! A session stands in one tenant. A link to a record of another one of the same person is no dead
//! end: the page offers the switch, which is a POST of its own. Without a membership the answer is
//! the one 404, the same as for an id that nobody has.

use std::future::Future;

use domain::problem::Code;
use engine::{Engine, EngineError, StaffCaller};
use uuid::Uuid;

use super::context::{explain, read, refuse};
use crate::error::ConsoleError;

/// A record, or where to find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<T> {
    /// It stands in the session's tenant.
    Here(T),
    /// It stands in another of the person's tenants.
    Elsewhere(Elsewhere),
}

impl<T> Found<T> {
    /// The record, where it stands in the session's tenant.
    #[must_use]
    pub fn here(self) -> Option<T> {
        match self {
            Self::Here(record) => Some(record),
            Self::Elsewhere(_) => None,
        }
    }
}

/// Another of the person's tenants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its short name, which the switch posts.
    pub slug: String,
    /// Its name.
    pub name: String,
}

/// Reads a record; one that this tenant does not have is looked for in the person's others.
pub(super) async fn find<T, F>(
    engine: &Engine,
    caller: &StaffCaller,
    id: Uuid,
    command: F,
) -> Result<Found<T>, ConsoleError>
where
    F: Future<Output = Result<T, EngineError>>,
{
    let error = match command.await {
        Ok(record) => return Ok(Found::Here(record)),
        Err(error) => error,
    };
    if error.refusal().code == Code::NotFound
        // Boxed: it is rare, and every page's reading would carry its room.
        && let Some(tenant) = Box::pin(elsewhere(engine, caller, id)).await?
    {
        return Ok(Found::Elsewhere(tenant));
    }
    Err(refuse(explain(&error, caller)))
}

/// The other tenant of the person that has a record of this id.
pub(super) async fn elsewhere(
    engine: &Engine,
    caller: &StaffCaller,
    id: Uuid,
) -> Result<Option<Elsewhere>, ConsoleError> {
    let found = read(caller, engine.elsewhere(caller, id)).await?;
    Ok(found.map(|(slug, name)| Elsewhere { slug, name }))
}
