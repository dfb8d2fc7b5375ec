//! Workflows against a real database: an executor's every turn is one call, and a crash is a turn
//! that was not taken.

mod advance;
mod branch;
mod checkpoint;
mod doubt;
pub mod drift;
mod four_ways;
mod model;
mod start;
pub mod support;
mod unwind;
