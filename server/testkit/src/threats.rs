//! Which threats of docs/security.md a run has shown to be met, for the table at its end.
//!
//! A test says so by one line, after its last assertion, with what it counted and measured; ci/threats.mjs finds every such line in the
//! sources, so that one which did not report is told as a threat that does not hold.

use std::{fs::OpenOptions, io::Write as _, panic::Location};

/// Reports that a threat is met: what was tried against it, in requests or calls, and how many of them
/// had an effect that they should not have had.
///
/// Outside a whole run nobody collects the reports.
///
/// # Panics
/// Where nothing was tried, or something of it had an effect; where the run's file cannot be written.
#[track_caller]
pub fn threat(id: &str, tried: usize, effects: usize) {
    let place = Location::caller();
    report(id, tried, effects, place, "");
    assert!(tried > 0, "{id}: nothing was tried");
    assert_eq!(effects, 0, "{id}: of {tried} that were tried, so many had an effect");
}

/// Reports that this machine does not let a threat be tried, and why: the table then says so of the threat
/// instead of *yes*.
///
/// # Panics
/// Where the run's file cannot be written.
#[track_caller]
pub fn threat_not_tried(id: &str, why: &str) {
    report(id, 0, 0, Location::caller(), &format!(" here not tried: {}", why.replace('\n', " ")));
}

fn report(id: &str, tried: usize, effects: usize, place: &Location<'_>, why: &str) {
    let Ok(path) = std::env::var("ONCEOVER_THREATS_FILE") else { return };
    let line = format!("{id} {tried} {effects} {}:{}{why}\n", place.file(), place.line());
    let mut file = OpenOptions::new().create(true).append(true).open(&path).expect(&path);
    // One write: programs that report at once do not mix their lines.
    file.write_all(line.as_bytes()).expect("the file of the run's threats takes a line");
}
