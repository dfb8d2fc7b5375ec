//! What a scene found, in figures; printed past libtest's capture, for figures matter most where
//! the test passes.

use std::{
    io::Write as _,
    ops::AddAssign,
    sync::{Mutex, PoisonError},
};

use crate::{invariants::Violation, seed::seed};

/// Figures of one scene, or of several.
#[derive(Debug, Default)]
pub struct Tally {
    pub kills: u64,
    pub operations: u64,
    pub doubles: u64,
    pub losses: u64,
    pub violations: Vec<String>,
}

impl Tally {
    pub fn of(kills: u64, operations: usize, found: Vec<Violation>) -> Self {
        let mut tally = Self { kills, operations: operations as u64, ..Self::default() };
        for violation in found {
            match violation.invariant {
                "double" => tally.doubles += 1,
                "loss" => tally.losses += 1,
                _ => {}
            }
            tally.violations.push(format!("{}: {}", violation.invariant, violation.what));
        }
        tally
    }

    /// Prints the figures of a scene, and ends the test where an invariant does not hold.
    #[track_caller]
    pub fn tell(&self, name: &str, more: &str) {
        say(&format!(
            "{name}: {more}kills {}, operations {}, doubles {}, losses {}, seed {}",
            self.kills,
            self.operations,
            self.doubles,
            self.losses,
            seed()
        ));
        assert!(
            self.violations.is_empty(),
            "{name}, FAULT_SEED={}: {:#?}",
            seed(),
            self.violations
        );
    }

    /// The last line of a form.
    pub fn sum(&self, rescue: &str) -> String {
        let bound = if self.doubles + self.losses == 0 && self.kills > 0 {
            3.0 / self.kills as f64
        } else {
            1.0
        };
        format!(
            "kills {}, doubles {}, losses {}, bound 3/N={bound:.5}, longest rescue {rescue}, seed {}",
            self.kills,
            self.doubles,
            self.losses,
            seed()
        )
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.kills += other.kills;
        self.operations += other.operations;
        self.doubles += other.doubles;
        self.losses += other.losses;
        self.violations.extend(other.violations);
    }
}

static LINE: Mutex<()> = Mutex::new(());

/// A line on the real standard output.
pub fn say(line: &str) {
    let _one = LINE.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = writeln!(std::io::stdout(), "  {line}");
}

/// What a report of crash points says of one: how often it was reached, and how often it acted.
pub fn reached(report: &str, point: &str) -> (u64, u64) {
    let text = std::fs::read_to_string(report).unwrap_or_default();
    let own = text.lines().filter(|line| line.split(' ').next() == Some(point));
    own.fold((0, 0), |(reached, acted), line| (reached + 1, acted + u64::from(line.contains(' '))))
}
