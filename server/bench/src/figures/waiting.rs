//! How long a claim takes with few and with many events waiting (P10): the engine's own statement
//! in a transaction of its own, for as many heads as one destination takes at a time. The commit is
//! not counted: the disk's time would hide a growth.
//!
//! Each size has a database of its own, and the sizes take turns, so that a slow moment of the
//! machine meets all of them.

use std::time::Instant;

use engine::store::aggregate::{self, Claim, Rooms, Routes};
use sqlx::{Connection as _, PgConnection, postgres::PgConnectOptions};

use crate::{
    bench::{Bench, Database},
    fault::Fault,
    line::{Budget, Line, number},
    plant,
    stats::{median, percentile},
    tenant::{Tenant, charge},
};

/// How many wait, and how many dead heads stand among them.
const SIZES: [(i64, i64, &str); 3] =
    [(1_000, 0, "1 k"), (100_000, 100, "100 k"), (1_000_000, 100, "1 M")];
/// Heads of one claim.
const HEADS: i64 = 32;
/// Claims of one round; a third of the smallest size.
const CLAIMS: usize = 10;
/// More rounds than elsewhere: a claim is short.
const TIMES: usize = 2;

struct Size {
    database: Database,
    tenant: Tenant,
    claims: PgConnection,
    /// Medians of the rounds, and all that was measured, in milliseconds.
    medians: Vec<f64>,
    all: Vec<f64>,
}

/// Measures.
pub async fn measure(bench: &Bench) -> Result<Vec<Line>, Fault> {
    let mut sizes = Vec::new();
    for (waiting, dead, _) in SIZES {
        let database = bench.database("waiting").await?;
        let tenant = Tenant::open(&database, charge()).await?;
        plant::waiting(&database, tenant.id, "a-", waiting).await?;
        plant::dead(&database, tenant.id, dead).await?;
        plant::tidy(&database).await?;
        let options: PgConnectOptions = database.url.parse()?;
        let options = options.options([("role", "onceover_engine")]);
        let claims = PgConnection::connect_with(&options).await?;
        let (medians, all) = (Vec::new(), Vec::new());
        sizes.push(Size { database, tenant, claims, medians, all });
    }
    // One more at first, which is not counted: it warms caches and plans.
    for round in 0..=bench.rounds() * TIMES {
        for size in &mut sizes {
            let took = size.round(round).await?;
            if round > 0 {
                size.medians.push(median(&took));
                size.all.extend(took);
            }
        }
    }
    let few = sizes[0].medians.clone();
    Ok(SIZES
        .iter()
        .zip(&sizes)
        .map(|((_, dead, name), size)| {
            let among =
                if *dead > 0 { format!(" ({dead} dead among them)") } else { String::new() };
            let figure = format!("claim of {HEADS} with {name} waiting{among}");
            let line =
                Line::beside_floor("P10", figure, "ms", size.medians.clone(), few.clone(), "1 k:")
                    .with(&format!("p99 {} ms", number(percentile(&size.all, 99))));
            if *dead > 0 { line.within(Budget::at_most(1.5, "× 1 k")) } else { line }
        })
        .collect())
}

impl Size {
    /// Claims, then what was claimed is told and as many new ones wait.
    async fn round(&mut self, round: usize) -> Result<Vec<f64>, Fault> {
        let routes = Routes {
            prefixes: vec![String::new()],
            destinations: vec!["events".into()],
            ..Routes::default()
        };
        let rooms =
            Rooms { destinations: vec!["events".into()], rooms: vec![HEADS], wait_ms: vec![200] };
        let claim = Claim { owner: "w-bench", lease_ms: 30_000, max: HEADS, unrouted_ms: 300_000 };
        let mut took = Vec::with_capacity(CLAIMS);
        let mut claimed = 0;
        for _ in 0..CLAIMS {
            let mut tx = self.claims.begin().await?;
            let begun = Instant::now();
            let events = aggregate::claim_heads(&mut tx, claim, &routes, &rooms).await?.events;
            took.push(begun.elapsed().as_secs_f64() * 1e3);
            tx.commit().await?;
            claimed += i64::try_from(events.len()).unwrap_or_default();
        }
        if claimed != HEADS * i64::try_from(CLAIMS).unwrap_or_default() {
            return Err(Fault::Said(format!("{CLAIMS} claims of {HEADS} got {claimed} events")));
        }
        plant::settle(&self.database).await?;
        plant::waiting(&self.database, self.tenant.id, &format!("r{round}-"), claimed).await?;
        Ok(took)
    }
}
