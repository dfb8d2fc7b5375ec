//! The console: pages, components, and the server functions that feed them.
//!
//! Compiled twice: with `ssr` into the server, with `hydrate` into the browser. What both render
//! first must be the same, so nothing here reads a clock, chance or a locale.

#![recursion_limit = "256"]

pub mod api;
mod app;
pub mod components;
pub mod error;
pub mod location;
pub mod pages;
#[cfg(feature = "ssr")]
mod shell;
pub mod text;

pub use app::App;
#[cfg(feature = "ssr")]
pub use shell::shell;
