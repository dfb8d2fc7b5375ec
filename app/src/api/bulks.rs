//! Bulks: freezing what was picked in a list, and reading what became of it.

use domain::{
    action::TargetType,
    bulk::BulkList,
    ids::BulkId,
    listing::{BulkRowFilter, Page},
    problem::Code,
    record::RecordName,
    view::{BulkDetail, BulkRecord, BulkRow},
};
use engine::{FreezeRequest, bulk::FrozenSet};
use leptos::prelude::*;
use uuid::Uuid;

use super::{
    context::{caller, carry_out, engine, filter, read, refuse},
    found::{Found, find},
    picked::Picked,
    redirect::{Target, go},
    refused::{Kept, RefusedForm},
};
use crate::{
    error::{ConsoleError, Field, RefusalView},
    location::{Asked, pairs},
};

/// Where the form above a list is posted to.
pub const FREEZE: &str = "/act/bulks/freeze";

/// Freezes the picked rows of a list, or all that match its filters, and leads to the set: each row with
/// whether it can be decided. Nothing is done to any of them.
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads to the list of bulks, which explains it.
#[server(endpoint = "bulks/freeze", input = Picked)]
pub async fn freeze_bulk(
    list: String,
    bulk: String,
    all: String,
    filter: String,
    record: Vec<String>,
) -> Result<(), ConsoleError> {
    let Ok(from) = list.parse::<BulkList>() else {
        return Err(refuse(ConsoleError::code_only(Code::RequestInvalid)));
    };
    match frozen(from, &bulk, all == "true", &filter, &record).await {
        Ok(row) => go(&Target::bulk(row.id)),
        Err(ConsoleError(refusal)) => {
            let refused = RefusedForm { refusal, kept: Kept::default() };
            go(&Target::not_frozen(from, &refused));
        }
    }
    Ok(())
}

async fn frozen(
    list: BulkList,
    verb: &str,
    all: bool,
    filter: &str,
    records: &[String],
) -> Result<BulkRow, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    let unfit = |field| ConsoleError(RefusalView::field(field));
    let verb = verb.parse().map_err(|_| unfit(Field::Verb))?;
    let set = if all {
        FrozenSet::Matching(list.known(pairs(filter)).map_err(|bad| {
            let field = bad.name.parse().ok();
            ConsoleError(RefusalView { field, ..RefusalView::new(Code::FilterInvalid) })
        })?)
    } else {
        let picked: Option<Vec<Uuid>> =
            records.iter().map(|record| picked(list.target(), record)).collect();
        FrozenSet::Picked(picked.ok_or_else(|| unfit(Field::Records))?)
    };
    let by = caller.clone();
    let request = FreezeRequest { list, verb, set };
    carry_out(&caller, async move { engine.freeze(&by, request).await }).await
}

/// The id of a picked row, `operation/…` or the like, where it is one of this list.
fn picked(target: TargetType, record: &str) -> Option<Uuid> {
    let name: RecordName = record.parse().ok()?;
    (name.record.target() == target).then_some(name.id)
}

/// One page of bulks.
///
/// # Errors
/// `filter_invalid`, naming the part, for an address that no list gives out; the engine's refusal.
pub async fn bulks(asked: &Asked) -> Result<Page<BulkRow>, ConsoleError> {
    let (engine, caller, filter) = (engine()?, caller()?, filter(asked)?);
    read(&caller, engine.list_bulks(&caller, &filter)).await
}

/// One bulk.
///
/// # Errors
/// `not_found` for an unknown id and for one of a tenant that is not the person's alike.
pub async fn bulk(id: BulkId) -> Result<Found<BulkDetail>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    find(&engine, &caller, id.uuid(), engine.bulk(&caller, id)).await
}

/// One bulk with a page of its rows.
///
/// # Errors
/// As [`bulk`]; `filter_invalid` for an address that no page of it gives out.
pub async fn bulk_with_rows(
    id: BulkId,
    asked: Asked,
) -> Result<Found<(BulkDetail, Page<BulkRecord>)>, ConsoleError> {
    let rows: BulkRowFilter = filter(&asked)?;
    match bulk(id).await? {
        Found::Elsewhere(tenant) => Ok(Found::Elsewhere(tenant)),
        Found::Here(detail) => {
            let (engine, caller) = (engine()?, caller()?);
            let rows = read(&caller, engine.bulk_rows(&caller, id, &rows)).await?;
            Ok(Found::Here((detail, rows)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_of_the_list_are_picked() {
        let id = Uuid::from_u128(7);
        let record = |label: &str| format!("{label}/{id}");
        assert_eq!(picked(TargetType::Operation, &record("operation")), Some(id));
        assert_eq!(picked(TargetType::Outbox, &record("event")), Some(id));
        for record in [record("event"), record("x"), id.to_string(), "operation/1".into()] {
            assert_eq!(picked(TargetType::Operation, &record), None, "{record}");
        }
    }
}
