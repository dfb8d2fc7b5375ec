//! Workflows: steps that do their effects through operations, and the checkpoints by which one
//! that was cut off goes on where it stood (D30 to D33, S1 to S9, W1 to W9).
//!
//! Guards against the step that is done, or decided, a second time: what a step did is its
//! operation, under a key of its own, and its end, its artifacts and its place in the order commit
//! together with the operation's. What is undone afterwards is `compensation`'s.

mod context;
mod definition;
mod registry;
mod start;

pub use context::Context;
pub use definition::{Builder, DecideFn, Definition, DefinitionError, InputFn, Step};
pub use registry::Registry;
pub use start::Begun;

#[allow(unused_imports, reason = "messages start workflows")]
pub(crate) use start::{StartRequest, start_in};
