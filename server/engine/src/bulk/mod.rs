//! Bulk: a set that is frozen, looked at row by row, and decided row by row (B1 to B9). What people
//! decide about it as a whole is `actions`' affair; here is the work between their decisions, in batches
//! that may be killed at any point.
//!
//! Guards against the two ways in which such a run goes wrong: a row that is decided twice, which its
//! derived key forbids, and a row that is decided although it changed or the right is gone, which is
//! looked at again for each.

mod advance;
mod check;
mod expire;
mod freeze;
mod run;

pub use freeze::{FreezeRequest, FrozenSet};
