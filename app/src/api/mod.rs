//! The server functions under `/act`: caller, engine call, answer, and nothing else.
//!
//! Each one is a public endpoint whoever calls it, so each takes its caller from the session and
//! leaves every decision to the engine's commands (rules 10 and 12). All of them are POST: no GET
//! may have an effect (T04).

pub mod actions;
#[cfg(feature = "ssr")]
pub(crate) mod context;
#[cfg(feature = "ssr")]
mod decision;
#[cfg(feature = "ssr")]
mod desk;
pub mod found;
pub mod operations;
pub mod overview;
pub mod page_data;
pub mod receipts;
#[cfg(feature = "ssr")]
mod redirect;
pub mod refused;
pub mod session;
#[cfg(feature = "ssr")]
mod written;
