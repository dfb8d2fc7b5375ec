//! What the console asks of the engine: caller, engine call, answer, and nothing else.
//!
//! Pages call the reading functions while they are rendered; no address leads to them. The forms post
//! to the server functions under `/act`. Each of those is a public endpoint whoever calls it, so each
//! takes its caller from the session and leaves every decision to the engine's commands (rules 10 and
//! 12). All of them are POST: no GET may have an effect (T04).

pub mod account;
pub mod actions;
pub mod admin;
pub mod audit;
pub mod bulks;
pub(crate) mod context;
mod decision;
mod desk;
pub mod evidence;
pub mod found;
pub mod incidents;
pub mod notes;
pub mod operations;
pub mod overview;
pub(crate) mod picked;
pub mod policy;
pub mod preferences;
pub mod reading;
pub mod receipts;
pub mod records;
mod redirect;
pub mod refused;
pub mod reveal;
pub mod search;
pub mod session;
pub mod tokens;
pub mod views;
pub mod weighing;
pub(crate) mod written;
