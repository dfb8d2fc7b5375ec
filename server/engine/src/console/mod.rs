//! What the console reads: lists, one operation with everything about it, and what needs a person.

mod approvals;
mod artifacts;
mod audit;
mod body;
mod bounds;
mod conflicts;
mod detail;
mod elsewhere;
mod health;
mod inbox;
mod incidents;
mod leases;
mod links;
mod list;
mod offers;
mod outbox;
mod overview;
mod plan;
mod rules;
mod timeline;
mod workflows;

pub use artifacts::StaffArtifact;
pub use rules::{KindInForce, MemberInForce};
