//! The console: pages, components, and the server functions that feed them.
//!
//! Compiled twice: with `ssr` into the server, with `hydrate` into the browser. What both render
//! first must be the same, so nothing here reads a clock, chance or a locale.

#![recursion_limit = "256"]

// A server without it and a browser with it disagree about the page, and nothing comes to life.
#[cfg(not(erase_components))]
compile_error!(
    "views are not type-erased: RUSTFLAGS hides the flags of .cargo/config.toml; \
     add `--cfg erase_components` to it"
);

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
