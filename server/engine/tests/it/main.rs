//! The engine against a real database, one per test; instants move by the database's clock, never
//! by waiting.

#![allow(
    clippy::disallowed_methods,
    reason = "a test's own transactions are never dropped half way"
)]

mod actions;
mod approvals;
mod attention;
mod audit;
mod bulk;
mod changes;
mod compensation;
mod evidence;
mod evidence_files;
mod expiry;
mod fixture;
mod gathering;
mod inbox;
mod incidents;
mod life;
mod lifetimes;
mod lists;
mod machines;
mod model;
mod moves;
mod newest;
mod outbox;
mod panics;
mod plans;
mod plans_console;
mod plans_machines;
mod provider;
mod races;
mod reconcile;
mod records;
mod reserve;
mod reveal;
mod search;
mod story;
mod sweepers;
mod tenants;
mod timeline;
mod tokens;
mod walls;
mod words;
mod workflows;
