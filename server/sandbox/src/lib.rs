//! The world outside the engine: fake providers and the sample services that use them.
//!
//! Owns four things. [`providers`] is an HTTP server of its own process whose
//! append-only ledger is the only oracle of what really happened. [`consumer`]
//! is another team's service that takes the engine's events, with a ledger of
//! what it took. [`services`] behaves as a customer's service does, through the
//! JSON API and with a service token. [`story`] is the fixed opening that a
//! first page shows.
//!
//! Guards against a test that believes our own tables: nothing here reads the
//! engine's database, and the engine's signature check never imports this crate.

pub mod client;
mod clock;
pub mod consumer;
pub mod job;
mod journal;
mod kind;
mod life;
pub mod providers;
mod rng;
pub mod services;
pub mod signature;
pub mod story;

pub use kind::{EffectKind, PREVIEW, Provider};
pub use life::{Performed, Timing};
pub use rng::SplitMix64;
