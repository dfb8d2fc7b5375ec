//! One migrated PostgreSQL database per test, a NATS server for those that publish, bounded
//! waiting, a proxy that hurts connections, and the report of threats met. Never ships: a dev-dependency, and the bench's.
//!
//! Tests run in parallel and in several processes, on the server that `DATABASE_URL`
//! names. Each gets a clone of a template that was migrated once, so no test sees
//! another's rows, and none waits for migrations. Only databases whose names begin
//! with `onceover_test_` are ever made or dropped.
//!
//! Guards against tests that pass because of a neighbour's rows, that wait by sleeping,
//! or that need a real hour to see a lease run out ([`TestDatabase::advance_clock`]).

mod database;
mod eventually;
mod nats;
mod proxy;
mod server;
mod template;
mod threats;

pub use database::TestDatabase;
pub use eventually::{eventually, within};
pub use nats::NatsServer;
pub use proxy::{Fault, Proxy, Upstream};
pub use server::with_database;
pub use threats::{threat, threat_not_tried};
