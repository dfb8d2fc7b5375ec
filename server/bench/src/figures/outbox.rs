//! Events told (P10): the engine's relay to a real NATS server whose stream acknowledges each,
//! beside the row writes of the same claims and marks with no broker at all.

use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::{
    bench::{Bench, Database},
    broker::Broker,
    fault::Fault,
    floor,
    line::{Budget, Line},
    plant,
    relaying::Relaying,
    tenant::{Tenant, charge},
};

/// As many as the engine's pool has.
const CONNECTIONS: u32 = 16;
const LIMIT: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(5);

/// Measures.
pub async fn measure(bench: &Bench) -> Result<Vec<Line>, Fault> {
    let database = bench.database("outbox").await?;
    floor::lay(&database).await?;
    let tenant = Tenant::open(&database, charge()).await?;
    let broker = Broker::start().await?;
    let engine = tenant.publisher(&broker.url()).await?;
    let options: PgConnectOptions = database.url.parse()?;
    let bare = PgPoolOptions::new().max_connections(CONNECTIONS).connect_with(options).await?;
    let count = bench.by_form(4_000, 20_000);
    let (mut rates, mut floors) = (Vec::new(), Vec::new());
    // One more at first, which is not counted: it makes the connections.
    for round in 0..=bench.rounds() {
        plant::waiting(&database, tenant.id, &format!("r{round}-"), count).await?;
        plant::tidy(&database).await?;
        floor::publish::plant(&database, tenant.id).await?;
        let begun = Instant::now();
        let done = floor::publish::drain(&bare).await?;
        let bare_took = begun.elapsed();
        let begun = Instant::now();
        let relay = Relaying::start(engine.clone());
        all_told(&database).await?;
        let took = begun.elapsed();
        relay.stop().await?;
        let planted = u64::try_from(count).unwrap_or_default();
        let stored = broker.stored().await?;
        if done != planted || stored != planted * (round as u64 + 1) {
            return Err(Fault::Said(format!(
                "of {count} events the floor wrote {done}, and the broker holds {stored} in round {round}"
            )));
        }
        if round > 0 {
            rates.push(count as f64 / took.as_secs_f64());
            floors.push(count as f64 / bare_took.as_secs_f64());
        }
    }
    let figure = format!("events to NATS {}", broker.version());
    Ok(vec![
        Line::beside_floor("P10", figure, "/s", rates, floors, "row writes")
            .within(Budget::at_least(0.5, "× floor")),
    ])
}

/// Waits until no event waits or is under way.
async fn all_told(database: &Database) -> Result<(), Fault> {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        let open: bool = sqlx::query_scalar(
            "select exists (select from outbox where status = 'pending')
               or exists (select from outbox where status = 'publishing')",
        )
        .fetch_one(&database.owner)
        .await?;
        if !open {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    Err(Fault::Said(format!("the events were not told within {LIMIT:?}")))
}
