//! What the console reads: lists, one operation with everything about it, and what needs a person.

mod approvals;
mod artifacts;
mod audit;
mod bodies;
mod body;
mod bounds;
mod bulks;
mod conflicts;
mod detail;
mod elsewhere;
mod export;
mod gathered;
mod health;
mod inbox;
mod incidents;
mod leases;
mod links;
mod list;
mod matching;
mod notes;
mod offers;
mod outbox;
mod overview;
mod plan;
mod report;
mod reveal;
mod rules;
mod search;
mod story;
mod timeline;
mod tokens;
mod told;
mod views;
mod whole;
mod workflows;

pub use artifacts::StaffArtifact;
pub use export::{Export, ExportedRows, MAX_BATCH};
pub use report::{content_hash, sha256};
pub use reveal::{AskReveal, Revealed};
pub use rules::{KindInForce, MemberInForce};
pub use timeline::Piece;
pub use whole::WhichBody;

pub(crate) use audit::READ as READ_AUDIT;
pub(crate) use matching::Wanted;
pub(crate) use told::entry;
