//! Workflows against a real database: an executor's every turn is one call, and a crash is a turn
//! that was not taken.

mod start;
pub mod support;
