//! The server: HTTP in front of the engine, background work behind it, and the command line.
//!
//! It wires and decides nothing: pages and the JSON API are two doors to the same commands of the
//! engine, and every rule about operations lives there.

pub mod artifacts;
pub mod auth;
pub mod background;
pub mod bodies;
pub mod cli;
pub mod commands;
pub mod config;
pub mod context;
pub mod download;
pub mod evidence;
pub mod exports;
pub mod files;
pub mod health;
pub mod listener;
pub mod live;
pub mod refusal;
pub mod report;
pub mod router;
pub mod security;
pub mod shutdown;
pub mod telemetry;
pub mod tokens;
pub mod v1;
pub mod views;
