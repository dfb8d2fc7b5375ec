//! Undoing: an undo never comes before its do, money never goes back twice, and nothing is called
//! undone that is not (C1 to C10, W8 to W14, I4, I14).

pub mod decisions;
pub mod flows;
mod guards;
mod money;
mod request;
mod staff;
pub mod support;
mod unwinding;
