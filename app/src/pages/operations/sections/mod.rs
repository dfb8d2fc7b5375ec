//! The parts of an operation's page, each its own type-erased view, so that no page becomes one
//! type of unbounded size.

mod conflicts;
mod evidence;
mod facts;
mod head;
mod incidents;
mod payload;

pub use conflicts::Conflicts;
pub use evidence::Evidence;
pub use facts::FactsColumn;
pub(in crate::pages::operations) use facts::{count_facts, lease_facts};
pub use head::{Banners, Head};
pub use incidents::Incidents;
pub use payload::{Payload, Response};
