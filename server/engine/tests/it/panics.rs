//! R22: a provider's code that panics costs its one call. The worker goes on, and what it was calling for
//! is nobody's any more: its beats end, its lease runs out, and its outcome is unknown.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use domain::ids::OperationId;
use engine::{
    Admission, Engine, Reserve,
    background::Worker,
    identity::Admin,
    provider::{Answering, Model, Prompt, StandIn},
    store::kind::KindPolicy,
};
use testkit::eventually;

use crate::fixture::{Fixture, mail, mail_request, settings};

const LIMIT: Duration = Duration::from_secs(60);

/// Panics when it is asked for the first time, and is well from then on.
#[derive(Debug, Default)]
struct Breaks {
    broke: AtomicBool,
    after: StandIn,
}

impl Model for Breaks {
    fn ask<'a>(&'a self, prompt: Prompt<'a>) -> Answering<'a> {
        Box::pin(async move {
            assert!(self.broke.swap(true, Ordering::SeqCst), "a provider of the tests");
            self.after.ask(prompt).await
        })
    }
}

async fn queue(fixture: &Fixture, key: &str) -> OperationId {
    let request = Reserve { queued: true, ..mail_request(key) };
    match fixture.engine.reserve(&fixture.service, request).await.unwrap() {
        Admission::Queued { id, .. } => id,
        other => panic!("not queued: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_panics_costs_one_call_and_frees_its_lease() {
    let fixture = Fixture::new().await;
    let kind = KindPolicy {
        provider: Some("drafts".into()),
        lease_ms: 3_000,
        call_deadline_ms: 1_000,
        ..mail()
    };
    let mut admin = Admin::connect(&fixture.db.url()).await.unwrap();
    admin.put_kind(fixture.service.tenant_id(), &kind).await.unwrap();
    let breaks = Arc::new(Breaks::default());
    let models: Vec<(String, Arc<dyn Model>)> = vec![("drafts".into(), Arc::clone(&breaks) as _)];
    let engine = Engine::connect_with_models(settings(&fixture.db), models).await.unwrap();
    let mut worker = Worker::new(&engine, 1).unwrap();

    let first = queue(&fixture, "first").await;
    assert_eq!(worker.claim_some().await.unwrap().handled, 1);
    let load = worker.load();
    eventually("the call broke", LIMIT, async || {
        breaks.broke.load(Ordering::SeqCst) && load.busy() == 0
    })
    .await;
    assert_eq!(fixture.status(first).await, "executing", "nobody knows of it yet");
    // The clock is not moved: a beat that went on would keep the lease for ever.
    eventually("the lease runs out", LIMIT, async || {
        engine.take_over_expired().await.unwrap().handled == 1
    })
    .await;
    assert_eq!(fixture.status(first).await, "unknown", "it may have happened");

    let second = queue(&fixture, "second").await;
    assert_eq!(worker.claim_some().await.unwrap().handled, 1, "the worker lives");
    eventually("the next is carried out", LIMIT, async || {
        fixture.status(second).await == "succeeded"
    })
    .await;
    assert_eq!(worker.drain(LIMIT).await, 0);
    assert_eq!((breaks.after.calls(), fixture.status(first).await.as_str()), (1, "unknown"));
}
