//! The fault suite (docs/reliability.md): the program itself, built with crash points, against a
//! provider in another process whose ledger is the oracle.
//!
//! Every run is seeded: `FAULT_SEED` repeats one. Every scene ends by driving it to quiet and
//! reading the invariants; what was reached, killed and found is printed as it goes, also where
//! the test passes. The short form are the tests; the long one is `make faults`.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod broker;
mod bulks;
mod clocks;
mod closing;
mod console;
mod consumer;
mod controls;
mod cuts;
mod disk;
mod effects;
mod forms;
mod invariants;
mod kills;
mod pauses;
#[path = "../it/faults/postgres.rs"]
mod postgres;
#[path = "../it/faults/processes.rs"]
mod processes;
mod races;
mod report;
mod rescue;
mod restarts;
mod rolling;
mod scene;
mod seed;
mod stopping;
mod undoing;
mod undone;
mod waiting;
mod workflows;
