//! What row-level security costs (F8): a page of the list and a reservation through the engine, beside
//! the same on a database whose tables have no policies in force.
//!
//! Same roles, same statements, same rows; the two databases take turns. Commits do not wait for the
//! disk on either side: its time would hide the difference.

use std::time::Instant;

use domain::listing::OperationFilter;
use engine::{Engine, StaffCaller};
use sqlx::AssertSqlSafe;

use crate::{
    bench::{Bench, Database},
    fault::Fault,
    line::{Budget, Line},
    stats::median,
    tenant::{Tenant, charge},
};

/// Operations that stand in each database.
const ROWS: usize = 5_000;
/// Pages and reservations of one round.
const TIMES: usize = 100;
/// More rounds than elsewhere: each is short.
const ROUNDS: usize = 2;
/// Rows of a page.
const PAGE: usize = 50;

struct Side {
    database: Database,
    tenant: Tenant,
    engine: Engine,
    reader: StaffCaller,
    pages: Vec<f64>,
    reservations: Vec<f64>,
}

/// Measures.
pub async fn measure(bench: &Bench) -> Result<Vec<Line>, Fault> {
    let mut sides = [Side::open(bench, false).await?, Side::open(bench, true).await?];
    // One more at first, which is not counted: it warms caches and plans.
    for round in 0..=bench.rounds() * ROUNDS {
        for side in &mut sides {
            let (page, reservation) = side.round().await?;
            if round > 0 {
                side.pages.push(page);
                side.reservations.push(reservation);
            }
        }
    }
    let [bare, walled] = &sides;
    let held = "select count(*)::float8 from operations";
    let (one, other) = (bare.database.number(held).await?, walled.database.number(held).await?);
    if (one - other).abs() > 1e-9 {
        return Err(Fault::Said(format!("the sides did not do the same: {one} and {other} rows")));
    }
    let line = |figure: &str, ours: &[f64], bare: &[f64]| {
        Line::beside_floor("F8", figure, "ms", ours.to_vec(), bare.to_vec(), "no policies:")
            .within(Budget::at_most(1.15, "× no policies"))
    };
    Ok(vec![
        line(&format!("page of {PAGE} operations"), &walled.pages, &bare.pages),
        line("reservation", &walled.reservations, &bare.reservations),
    ])
}

impl Side {
    async fn open(bench: &Bench, policed: bool) -> Result<Self, Fault> {
        let database = bench.database("walls").await?;
        let unwaiting =
            "do $$ begin execute format('alter database %I set synchronous_commit = off',
            current_database()); end $$";
        sqlx::raw_sql(unwaiting).execute(&database.owner).await?;
        if !policed {
            off(&database).await?;
        }
        let tenant = Tenant::open(&database, charge()).await?;
        let engine = tenant.engine(2).await?;
        let reader = tenant.reader(&engine).await?;
        for _ in 0..ROWS {
            tenant.reserve(&engine).await?;
        }
        sqlx::raw_sql("vacuum analyze").execute(&database.owner).await?;
        let (pages, reservations) = (Vec::new(), Vec::new());
        Ok(Self { database, tenant, engine, reader, pages, reservations })
    }

    /// The median of a page and of a reservation, in milliseconds.
    async fn round(&self) -> Result<(f64, f64), Fault> {
        let (mut pages, mut reservations) = (Vec::new(), Vec::new());
        for _ in 0..TIMES {
            let begun = Instant::now();
            let filter = OperationFilter::default();
            let page = self.engine.list_operations(&self.reader, &filter).await?;
            pages.push(begun.elapsed().as_secs_f64() * 1e3);
            if page.items.len() != PAGE {
                return Err(Fault::Said(format!("a page had {} rows", page.items.len())));
            }
            let begun = Instant::now();
            self.tenant.reserve(&self.engine).await?;
            reservations.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        Ok((median(&pages), median(&reservations)))
    }
}

/// Puts every policy out of force.
async fn off(database: &Database) -> Result<(), Fault> {
    let tables: Vec<String> = sqlx::query_scalar(
        "select quote_ident(relname) from pg_class
         where relrowsecurity and relnamespace = 'public'::regnamespace",
    )
    .fetch_all(&database.owner)
    .await?;
    for table in tables {
        let sql = format!("alter table {table} disable row level security");
        sqlx::query(AssertSqlSafe(sql)).execute(&database.owner).await?;
    }
    Ok(())
}
