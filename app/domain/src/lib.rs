//! The words and rules of Onceover without clock, chance or IO: what the engine and the browser
//! both have to agree on.

pub mod access;
pub mod action;
pub mod approval;
pub mod browser;
pub mod bulk;
pub mod compensation;
pub mod csv;
pub mod evidence;
pub mod export;
pub mod idempotency;
pub mod ids;
pub mod inbox;
pub mod json;
pub mod lease;
pub mod listing;
pub mod machine;
pub mod money;
pub mod operation;
pub mod outbox;
pub mod preferences;
pub mod problem;
pub mod reconciliation;
pub mod record;
pub mod token;
pub mod told;
pub mod verdict;
pub mod view;
pub mod workflow;
