//! What a forgotten read transaction costs: callers and a relay at work before it, while it holds
//! its snapshot, and after. As long as it is open no dead row can be removed, so whatever reads past
//! dead rows gets slower with time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sqlx::{Connection as _, PgConnection};

use crate::{
    bench::Bench,
    broker::Broker,
    callers::Calling,
    fault::Fault,
    line::{Line, number},
    relaying::Relaying,
    stats::median,
    tenant::{Tenant, charge},
};

const CALLERS: usize = 8;
const SLICE: Duration = Duration::from_secs(5);

/// Rates in slices of one time.
#[derive(Default)]
struct Slices {
    lives: Vec<f64>,
    events: Vec<f64>,
}

/// Measures.
pub async fn measure(bench: &Bench) -> Result<Vec<Line>, Fault> {
    let database = bench.database("snapshot").await?;
    let tenant = Arc::new(Tenant::open(&database, charge()).await?);
    let broker = Broker::start().await?;
    let engine = tenant.engine(CALLERS).await?;
    let relay = Relaying::start(tenant.publisher(&broker.url()).await?);
    let calling = Calling::start(&tenant, &engine, CALLERS);
    let (aside, held) = bench.by_form((3, 12), (12, 120));
    slices(&calling, &broker, 1).await?;
    let before = slices(&calling, &broker, aside).await?;

    let mut reader = PgConnection::connect(&database.url).await?;
    sqlx::raw_sql("begin isolation level repeatable read read only; select count(*) from leases")
        .execute(&mut reader)
        .await?;
    let during = slices(&calling, &broker, held).await?;
    sqlx::raw_sql("commit").execute(&mut reader).await?;
    reader.close().await?;

    let after = slices(&calling, &broker, aside).await?;
    calling.stop().await?;
    relay.stop().await?;
    let seconds = SLICE.as_secs() as usize * held;
    let line = |what: &str, before: Vec<f64>, during: Vec<f64>, after: &[f64]| {
        // The last third: the harm grows with the time that it is held.
        let last = during[during.len() - during.len() / 3..].to_vec();
        let (was, late) = (median(&before), median(&last));
        let figure = format!("{what} while a read transaction is open for {seconds} s");
        let beside = format!("× {}/s before", number(was));
        let mut line = Line::alone("–", figure, "/s", last, late / was, beside)
            .with(&format!("after it {}/s", number(median(after))));
        // All of it, slice by slice, for those who ask how it went.
        (line.rounds, line.floor) = (during, before);
        line
    };
    Ok(vec![
        line("lives by 8 callers", before.lives, during.lives, &after.lives),
        line("events told beside them", before.events, during.events, &after.events),
    ])
}

async fn slices(calling: &Calling, broker: &Broker, count: usize) -> Result<Slices, Fault> {
    let mut slices = Slices::default();
    for _ in 0..count {
        let (begun, lived, told) = (Instant::now(), calling.lived(), broker.stored().await?);
        tokio::time::sleep(SLICE).await;
        let (lives, events) = (calling.lived() - lived, broker.stored().await? - told);
        let seconds = begun.elapsed().as_secs_f64();
        slices.lives.push(lives as f64 / seconds);
        slices.events.push(events as f64 / seconds);
    }
    if slices.lives.contains(&0.0) {
        return Err(Fault::Said("the callers stand still".into()));
    }
    Ok(slices)
}
