//! One search over all records. What names one thing alone leads there at once.

use domain::view::{Named, SearchView};
use uuid::Uuid;

use super::{
    context::{caller, engine, read},
    found::{Elsewhere, elsewhere},
    redirect::{Target, go},
};
use crate::error::ConsoleError;

/// What a search found, here and elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    /// What this tenant has.
    pub view: SearchView,
    /// The other tenant of the person that has the record of this id, where this one has none.
    pub elsewhere: Option<Elsewhere>,
}

/// Searches. A whole id of one record, or of a receipt, answers with the way there (303); the page
/// behind it says the same.
///
/// # Errors
/// `filter_invalid` for what no list would search for; the engine's refusal.
pub async fn search(q: &str) -> Result<Searched, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    let view = read(&caller, engine.search(&caller, q)).await?;
    if let Some(target) = view.named.as_ref().and_then(target) {
        go(&target);
    }
    let missing = view.whole_id && view.named.is_none() && view.groups.is_empty();
    let elsewhere = match Uuid::try_parse(&view.q) {
        Ok(id) if missing => elsewhere(&engine, &caller, id).await?,
        _ => None,
    };
    Ok(Searched { view, elsewhere })
}

fn target(named: &Named) -> Option<Target> {
    Some(match named {
        Named::Record(record, id) => Target::record(*record, id.parse().ok()?),
        Named::Receipt(id) => Target::receipt(*id, false),
    })
}
