//! One file per page, named like its path.

mod address;
pub mod admin;
pub mod approvals;
pub mod audit;
pub mod bulks;
pub mod compensations;
pub mod conflicts;
mod elsewhere;
mod failed;
pub mod help;
pub mod inbox;
pub mod incidents;
pub mod leases;
pub mod me;
pub mod not_found;
pub mod operations;
pub mod outbox;
pub mod overview;
pub mod receipts;
mod record;
pub mod reveal;
pub mod search;
pub mod sign_in;
pub mod tokens;
pub mod views;
pub mod workflows;
