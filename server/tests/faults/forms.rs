//! The short form, as tests, and the long one, which `make faults` asks for.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use crate::{
    broker::broker,
    clocks::{self, wrong_clocks},
    controls,
    cuts::{Way, cut},
    disk::full_disk,
    kills::{POINTS, Point, kill_at},
    pauses,
    races::race,
    report::{Tally, say},
    rescue::rescue,
    restarts::restart,
    rolling::rolling,
    seed::seed,
    stopping::killed_while_stopping,
};

/// Scenes beside each other.
const ABREAST: usize = 3;

/// How often a fault is asked for; `FAULT_TIMES` says otherwise while a scene is being written.
fn times(asked: u64) -> u64 {
    std::env::var("FAULT_TIMES").ok().and_then(|text| text.parse().ok()).unwrap_or(asked)
}

/// All crash points, some beside each other.
async fn kill_at_all(asked: u64) -> Tally {
    let asked = times(asked);
    let only = std::env::var("FAULT_POINT").unwrap_or_default();
    let points: Vec<Point> =
        POINTS.iter().copied().filter(|point| only.is_empty() || point.label() == only).collect();
    let left = Arc::new(Mutex::new(points));
    // Threads with a runtime each: starting a process blocks, and must not hold the others up.
    let lines: Vec<_> = (0..ABREAST)
        .map(|_| {
            let left = left.clone();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                let mut all = Tally::default();
                loop {
                    let Some(point) = left.lock().unwrap().pop() else { return all };
                    // One point that fails must not hide what the others would have said.
                    let killed =
                        catch_unwind(AssertUnwindSafe(|| runtime.block_on(kill_at(point, asked))));
                    match killed {
                        Ok(tally) => all += tally,
                        Err(_) => all.violations.push(format!("{} failed", point.label())),
                    }
                }
            })
        })
        .collect();
    tokio::task::spawn_blocking(move || {
        let mut all = Tally::default();
        for line in lines {
            all += line.join().unwrap();
        }
        all
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_crash_point_nothing_is_doubled_or_lost() {
    let all = kill_at_all(20).await;
    let (rescued, rescue) = rescue(5).await;
    let mut all = all;
    all += rescued;
    say(&all.sum(&rescue));
    assert!(all.violations.is_empty(), "{:?}", all.violations);
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_beyond_its_lease_a_worker_changes_nothing() {
    for point in pauses::POINTS {
        pauses::pause_at(point, times(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_person_webhook_and_reconciler_one_settles_it() {
    Box::pin(race(200)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_restarts_under_load_and_nothing_is_lost() {
    restart(10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_replaced_under_load_and_no_request_is_cut() {
    rolling(12).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_while_it_stops_leaves_nothing_undone_or_double() {
    killed_while_stopping(6).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_refused_whole_and_heals() {
    full_disk().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_from_provider_or_database_nothing_is_doubled_or_lost() {
    for way in [Way::Provider, Way::Database] {
        cut(way, 15).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_broker_all_goes_on_and_all_is_told_once_it_is_back() {
    broker(8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_with_wrong_clocks_change_nothing() {
    wrong_clocks(&clocks::FEW, 24).await;
}

#[test]
fn every_one_of_the_23_points_is_killed_at_as_often_as_asked() {
    let named: BTreeSet<_> =
        POINTS.iter().filter(|point| point.asked(20) == 20).map(|point| point.name).collect();
    assert_eq!(named.len(), 23, "{named:?}");
}

#[test]
fn the_program_under_test_has_crash_points() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_onceover")).unwrap();
    let mark = b"onceover-crash-points-are-compiled-in";
    assert!(program.windows(mark.len()).any(|window| window == mark), "the build finds nothing");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the long form: make faults"]
async fn long_form() {
    say(&format!("seed {}", seed()));
    let mut all = kill_at_all(50).await;
    for point in pauses::POINTS {
        all += pauses::pause_at(point, 50).await;
    }
    all += Box::pin(race(1_000)).await;
    all += restart(20).await;
    all += rolling(50).await;
    all += killed_while_stopping(25).await;
    if let Some(tally) = full_disk().await {
        all += tally;
    }
    for way in [Way::Provider, Way::Database] {
        all += cut(way, 60).await;
    }
    all += broker(40).await;
    if let Some(tally) = wrong_clocks(&clocks::ALL, 200).await {
        all += tally;
    }
    let (rescued, rescue) = rescue(10).await;
    all += rescued;
    controls::all().await;
    let sum = all.sum(&rescue);
    if let Ok(path) = std::env::var("FAULT_SUM") {
        std::fs::write(path, format!("{sum}\n")).unwrap();
    }
    say(&sum);
    assert!(all.violations.is_empty(), "{:?}", all.violations);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "part of the long form"]
async fn controls_show_that_the_suite_can_fail() {
    controls::all().await;
}
