//! The whole life of an operation (P8, P9): reserve, start and finish through the engine in this
//! process, beside pgbench writing the same rows bare.
//!
//! The floor has three commits a life, as the engine has; each is one statement in one round trip,
//! on tables without triggers, checks, references, policies and secondary indexes. That both wrote
//! the same rows is counted at the end.

use std::{sync::Arc, time::Duration};

use crate::{
    bench::{Bench, Database},
    callers,
    fault::Fault,
    floor,
    line::{Budget, Line, number},
    stats::percentile,
    tenant::{Tenant, charge},
};

const CALLERS: [usize; 3] = [1, 8, 32];
const WARM_UP: Duration = Duration::from_millis(500);

/// What a life leaves behind, per operation, in the engine's tables and in the bare ones.
const ROWS: [(&str, &str, &str); 5] = [
    (
        "timeline rows",
        "select (select count(*) from operation_events)::float8 / (select count(*) from operations)",
        "select (select count(*) from floor.operation_events)::float8 / (select count(*) from floor.operations)",
    ),
    (
        "search terms",
        "select (select count(*) from operation_terms)::float8 / (select count(*) from operations)",
        "select (select count(*) from floor.operation_terms)::float8 / (select count(*) from floor.operations)",
    ),
    (
        "aggregates",
        "select (select count(*) from aggregates)::float8 / (select count(*) from operations)",
        "select (select count(*) from floor.aggregates)::float8 / (select count(*) from floor.operations)",
    ),
    (
        "events",
        "select (select count(*) from outbox)::float8 / (select count(*) from operations)",
        "select (select count(*) from floor.outbox)::float8 / (select count(*) from floor.operations)",
    ),
    (
        "leases left",
        "select count(*)::float8 from leases",
        "select count(*)::float8 from floor.leases",
    ),
];

/// Measures.
pub async fn measure(bench: &Bench) -> Result<Vec<Line>, Fault> {
    let database = bench.database("life").await?;
    floor::lay(&database).await?;
    let tenant = Arc::new(Tenant::open(&database, charge()).await?);
    let mut lines = Vec::new();
    for callers in CALLERS {
        let engine = tenant.engine(callers).await?;
        callers::lives(&tenant, &engine, callers, WARM_UP).await?;
        let (mut rates, mut floors, mut took) = (Vec::new(), Vec::new(), Vec::new());
        let (mut means, mut floor_means) = (Vec::new(), Vec::new());
        for _ in 0..bench.rounds() {
            let floor = floor::lives(&database, tenant.id, callers, bench.round()).await?;
            floors.push(floor.per_second);
            floor_means.push(floor.average_ms);
            let lived = callers::lives(&tenant, &engine, callers, bench.round()).await?;
            rates.push(lived.per_second);
            means.push(lived.took_ms.iter().sum::<f64>() / lived.took_ms.len().max(1) as f64);
            took.extend(lived.took_ms);
        }
        let percentiles = format!(
            "p50 {} ms, p99 {} ms",
            number(percentile(&took, 50)),
            number(percentile(&took, 99))
        );
        let figure = format!("life of an operation, {callers} caller{}", plural(callers));
        let rate =
            Line::beside_floor("P8", figure, "/s", rates, floors, "pgbench").with(&percentiles);
        if callers == 1 {
            lines.push(rate);
            lines.push(
                Line::beside_floor(
                    "P9",
                    "one caller alone, a life",
                    "ms",
                    means,
                    floor_means,
                    "pgbench",
                )
                .within(Budget::at_most(2.0, "× floor")),
            );
        } else {
            lines.push(rate.within(Budget::at_least(0.6, "× floor")));
        }
    }
    same_rows(&database).await?;
    Ok(lines)
}

/// A floor that writes less, or other rows, would be no floor.
async fn same_rows(database: &Database) -> Result<(), Fault> {
    for (what, engine, floor) in ROWS {
        let (ours, bare) = (database.number(engine).await?, database.number(floor).await?);
        if (ours - bare).abs() > 1e-9 {
            return Err(Fault::Said(format!(
                "the floor does not do what the engine does: {what} per life are {ours} and {bare}"
            )));
        }
    }
    Ok(())
}

const fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
