//! T38: twenty tabs that read their page again and again, and what that costs the others.

use std::time::{Duration, Instant};

use axum::{
    Router,
    body::Body,
    http::{Method, StatusCode, header},
};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{MissedTickBehavior, interval_at},
};

use crate::{
    figures::{percentile, say},
    live::Stream,
    support::{Answer, Browser, Program, Stage, from_our_page, send},
};

const TABS: u32 = 20;
/// What one session may hold open; the tabs beyond have the link that reads the page again.
const STREAMS: u32 = 4;
/// A page reads nothing by itself, and a person follows its link once in five seconds at most by
/// design. More often here, so that each tab has its turns while others are measured.
const EVERY: Duration = Duration::from_secs(2);
/// Of each kind, and no fewer than one turn of all tabs takes.
const ASKED: usize = 60;

/// A tab of a browser, of which a task is made.
struct Tab {
    router: Router,
    cookie: String,
    streams: bool,
}

impl Tab {
    async fn get(&self, path: &str) -> Answer {
        let request = from_our_page(Method::GET, path).header(header::COOKIE, &self.cookie);
        send(&self.router, request.body(Body::empty()).unwrap()).await
    }

    /// Reads the page until it is told to stop, once at least; how many requests that were.
    async fn read_on(self, first: Duration, mut stop: watch::Receiver<bool>) -> usize {
        let mut turns = interval_at(tokio::time::Instant::now() + first, EVERY);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        turns.tick().await;
        let mut asked = 0;
        loop {
            self.get("/operations").await.expect(StatusCode::OK);
            asked += 1;
            if !self.streams {
                // As a page does that is shown again; it is told when to come back.
                let refused = self.get("/live?tenant=acme").await;
                refused.expect(StatusCode::SERVICE_UNAVAILABLE);
                assert_eq!(refused.header("retry-after"), "30");
                asked += 1;
            }
            tokio::select! {
                biased;
                _ = stop.changed() => return asked,
                _ = turns.tick() => {}
            }
        }
    }
}

/// The times of a person's list and of a program's, asked for by turns.
async fn times(person: &Browser<'_>, program: &Program<'_>) -> (Vec<Duration>, Vec<Duration>) {
    let (mut pages, mut lists) = (Vec::new(), Vec::new());
    let until = Instant::now() + EVERY;
    while pages.len() < ASKED || Instant::now() < until {
        let begun = Instant::now();
        person.get("/operations").await.expect(StatusCode::OK);
        pages.push(begun.elapsed());
        let begun = Instant::now();
        program.get("/operations").await.expect(StatusCode::OK);
        lists.push(begun.elapsed());
    }
    (pages, lists)
}

/// A line about what was asked alone and beside the tabs.
fn compare(what: &str, alone: &mut [Duration], beside: &mut [Duration]) {
    let [(p50, p99), (p50_beside, p99_beside)] =
        [alone, beside].map(|times| (percentile(times, 50), percentile(times, 99)));
    let tenths = 10 * p99_beside / p99.max(1);
    say(&format!(
        "T38: {what}: alone p50 {p50} ms, p99 {p99} ms; beside {TABS} tabs p50 {p50_beside} ms, p99 \
         {p99_beside} ms, ratio {}.{}",
        tenths / 10,
        tenths % 10,
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_tabs_that_read_again_leave_the_others_their_answers() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    for n in 0..20 {
        service.reserve(&format!("INV-{n}"), 100).await.expect(StatusCode::CREATED);
    }
    let person = stage.browser("operator@acme.test").await;
    let program = stage.staff("operator@acme.test").await;
    // The first of each opens connections.
    person.get("/operations").await.expect(StatusCode::OK);
    program.get("/operations").await.expect(StatusCode::OK);
    let alone = times(&person, &program).await;

    let watcher = stage.browser("viewer@acme.test").await;
    let (stop, stopped) = watch::channel(false);
    let (mut tabs, mut streams) = (JoinSet::new(), JoinSet::new());
    for n in 0..TABS {
        if n < STREAMS {
            let mut stream = Stream::open(&watcher, "?tenant=acme").await;
            streams.spawn(async move { stream.end().await });
        }
        let tab = Tab {
            router: stage.router.clone(),
            cookie: watcher.cookie.clone().unwrap(),
            streams: n < STREAMS,
        };
        // Nobody opens twenty tabs in one instant.
        tabs.spawn(tab.read_on(EVERY * n / TABS, stopped.clone()));
    }
    let beside = times(&person, &program).await;
    assert!(streams.try_join_next().is_none(), "no stream ended");
    stop.send_replace(true);
    let mut asked = 0;
    while let Some(tab) = tabs.join_next().await {
        asked += tab.unwrap();
    }
    let ((mut pages, mut lists), (mut pages_beside, mut lists_beside)) = (alone, beside);
    compare("a person's list", &mut pages, &mut pages_beside);
    compare("a program's", &mut lists, &mut lists_beside);
    testkit::threat("T38", asked, 0);
}
