//! A worker to be killed: this program again, as a process of its own, in calls that never end.

use std::{io::Read as _, time::Duration};

use engine::{Engine, background::Worker};

use crate::{
    fault::Fault,
    tenant::{provider_at, settings},
};

/// What it says once all its calls have begun.
pub const READY: &str = "holding";
/// Its database, in the environment: an address may carry a password.
pub const DATABASE: &str = "DATABASE_URL";

/// Claims so many operations, calls the provider for each, and stays until it is killed or its
/// owner is gone.
pub async fn run(name: &str, provider: &str, calls: usize) -> Result<(), Fault> {
    let url = std::env::var(DATABASE)
        .map_err(|_| Fault::Said(format!("{DATABASE} does not name the database")))?;
    let mut settings = settings(&url, name, 8);
    settings.providers = vec![provider_at(provider)];
    let engine = Engine::connect(settings).await?;
    let mut worker = Worker::new(&engine, calls)?;
    let mut held = 0;
    while held < calls as u64 {
        held += worker.claim_some().await?.handled;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("{READY}");
    let owner = tokio::task::spawn_blocking(|| {
        // Its owner never writes: this returns when the owner is gone.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
    });
    let _ = owner.await;
    Ok(())
}
