//! SIGKILL at crash points: a worker is started, reaches the point, dies; its leases run out by the
//! moved clock; the next begins with what it left. One database for all kills at a point.

use std::time::Duration;

use rand::RngExt as _;
use sandbox::providers::Mode;

use crate::{
    bulks, console,
    effects::PAST_LEASE,
    invariants::invariants,
    report::{Tally, reached, say},
    scene::{LIMIT, Scene},
    seed, undoing,
    waiting::ended,
    workflows,
};

/// What a point belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// A call of a worker.
    Call,
    /// A lookup.
    Reconciler,
    /// A person's decision, by the JSON API.
    Action,
    /// Telling an event.
    Outbox,
    /// A workflow's turn, or a step.
    Workflow,
    /// Undoing what a workflow did, its undos' own calls included.
    Undo,
    /// The rows of a bulk, by a server's background work.
    Bulk,
}

/// A crash point.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub name: &'static str,
    pub area: Area,
    /// How often it can be reached in the life of one process, at least.
    most: u64,
    /// Of the kills that a form asks for at each point, one in so many: points that are killed at in
    /// one area as often as asked are killed at in another, too.
    one_in: u64,
}

const fn point(name: &'static str, area: Area, most: u64) -> Point {
    Point { name, area, most, one_in: 1 }
}

const fn undo(name: &'static str, most: u64) -> Point {
    Point { name, area: Area::Undo, most, one_in: 4 }
}

const fn bulk(name: &'static str) -> Point {
    Point { name, area: Area::Bulk, most: 3, one_in: 4 }
}

/// The 23 points of docs/reliability.md, those among them that are reached within an undo, too, and those
/// of a bulk, whose rows are decisions as others are.
pub const POINTS: &[Point] = &[
    point("C1", Area::Action, 3),
    point("C2", Area::Action, 3),
    point("C3", Area::Action, 3),
    point("C4", Area::Action, 3),
    point("C5", Area::Action, 3),
    point("C6", Area::Action, 3),
    point("P1", Area::Call, 3),
    point("P2", Area::Call, 2),
    point("P3", Area::Call, 3),
    point("P4", Area::Call, 3),
    point("P5", Area::Call, 3),
    point("L1", Area::Call, 1),
    point("L2", Area::Call, 3),
    point("K1", Area::Reconciler, 3),
    point("K2", Area::Reconciler, 3),
    point("W1", Area::Workflow, 3),
    point("W2", Area::Workflow, 3),
    point("W3", Area::Workflow, 3),
    point("W4", Area::Undo, 2),
    point("W5", Area::Workflow, 1),
    point("O1", Area::Outbox, 1),
    point("O2", Area::Outbox, 3),
    point("O3", Area::Outbox, 3),
    undo("P1", 2),
    undo("P2", 2),
    undo("P3", 2),
    undo("P4", 2),
    undo("P5", 2),
    undo("L1", 1),
    undo("L2", 2),
    undo("K1", 2),
    undo("K2", 2),
    undo("W5", 2),
    bulk("B1"),
    bulk("B2"),
    bulk("B3"),
    bulk("C4"),
];

/// Kills at one point, as often as asked.
///
/// # Panics
/// Where the point was reached fewer times, or an invariant does not hold.
pub async fn kill_at(point: Point, asked: u64) -> Tally {
    let asked = point.asked(asked);
    let label = point.label();
    let scene = Scene::open(&label, point.area != Area::Action).await;
    match point.area {
        Area::Action => console::kill(&scene, point, asked).await,
        Area::Call | Area::Reconciler => kill_workers(&scene, point, asked, &[]).await,
        Area::Workflow => workflows::kill(&scene, point, asked).await,
        Area::Undo => undoing::kill(&scene, point, asked).await,
        Area::Bulk => bulks::kill(&scene, point, asked).await,
        Area::Outbox => kill_workers(&scene, point, asked, &scene.consumer.settings()).await,
    }
    let (reached, kills) = reached(&scene.report(&label), point.name);
    scene.quiet().await;
    let mut found = invariants(&scene).await;
    if matches!(point.area, Area::Workflow | Area::Undo) {
        workflows::judge(&scene, &mut found).await;
    }
    if point.area == Area::Outbox {
        say(&format!("{label}: events that came again {}", scene.consumer.repeats().await));
    }
    let tally = Tally::of(kills, scene.all_asked().len(), found);
    tally.tell(&label, &format!("reached {reached}, "));
    assert!(kills >= asked, "{label}: killed {kills} times, {asked} were asked");
    tally
}

impl Point {
    /// What its scene and its report are called.
    pub fn label(self) -> String {
        match self.area {
            Area::Undo if self.name != "W4" => format!("undo-{}", self.name),
            Area::Bulk => format!("bulk-{}", self.name),
            _ => self.name.into(),
        }
    }

    /// How many of a form's kills are its.
    pub fn asked(self, of_each: u64) -> u64 {
        of_each.div_ceil(self.one_in)
    }

    /// The order for one life, and what it needs to be carried out.
    pub fn order(self, rng: &mut rand::rngs::StdRng) -> (u64, String) {
        let nth = rng.random_range(1..=self.most);
        (nth, format!("{}:nth={nth}", self.name))
    }
}

async fn kill_workers(scene: &Scene, point: Point, asked: u64, more: &[(&str, String)]) {
    let mut rng = seed::of(point.name);
    let report = scene.report(point.name);
    match point.name {
        // The call must be under way for the point to be within it.
        "P2" => scene.mode(Mode::Slow { ms: 40 }).await,
        "K1" | "K2" => scene.mode(Mode::ApplyDrop).await,
        _ => {}
    }
    let (mut killed, mut missed) = (0, 0);
    while killed < asked {
        let (nth, order) = point.order(&mut rng);
        for _ in 0..=nth {
            scene.queue(&mut rng).await;
        }
        if point.area != Area::Call {
            // For a reconciler: their answers are lost. For a publisher: there is something to tell.
            scene.round_of_calls().await;
        }
        let mut settings = vec![("CRASH_AT", order.as_str()), ("CRASH_REPORT", &report)];
        settings.extend(more.iter().map(|(name, value)| (*name, value.as_str())));
        let mut worker = scene.worker(&settings);
        if ended(&mut worker, Duration::from_secs(10)).await {
            killed += 1;
        } else {
            worker.kill();
            missed += 1;
            // More of a long form's lives end without their point, too.
            assert!(
                missed < 10.max(asked / 2),
                "{}: not reached within {LIMIT:?}, {missed} times",
                point.name
            );
        }
        scene.database.advance_clock(PAST_LEASE).await;
    }
}
