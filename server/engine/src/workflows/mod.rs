//! Workflows: steps that do their effects through operations, and the checkpoints by which one
//! that was cut off goes on where it stood (D30 to D33, S1 to S9, W1 to W9).
//!
//! Guards against the step that is done, or decided, a second time: what a step did is its
//! operation, under a key of its own, and its end, its artifacts and its place in the order commit
//! together with the operation's. What is undone afterwards is `compensation`'s.

mod advance;
mod campaign;
mod checkpoint;
mod inputs;
mod recover;
mod registry;
mod staff;
mod start;
mod unwind;
mod view;

pub use crate::definition::Context;
pub use crate::definition::{Builder, DecideFn, Definition, DefinitionError, InputFn, Step};
pub use campaign::{CAMPAIGN_AGENT, campaign_agent};
pub use checkpoint::StepAdmission;
pub use registry::Registry;
pub use staff::FlowState;
pub use start::Begun;
pub use view::ServiceWorkflow;

pub(crate) use view::{artifact_view, shown};

use crate::definition::Facts;

pub(crate) use staff::{cancel_in, compensate_in, resume_in};
pub(crate) use start::{StartRequest, start_in};
