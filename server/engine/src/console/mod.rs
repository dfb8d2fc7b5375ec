//! What the console reads: lists, one operation with everything about it, and what needs a person.

mod approvals;
mod bounds;
mod detail;
mod elsewhere;
mod inbox;
mod list;
mod overview;
mod plan;
mod rules;
mod timeline;
mod workflows;

pub use approvals::ApprovalFilter;
pub use rules::{KindInForce, MemberInForce};
