//! The console: pages, components, the server functions behind its forms, and its islands.
//!
//! Pages are the server's alone: they are rendered whole, and every form is a plain one. The browser
//! gets `islands`, the few pieces that answer before the server does; compiled with `ssr` this crate
//! is all of it, with `hydrate` the islands and nothing else (docs/islands.md).

#![recursion_limit = "256"]

// A server without it and a browser with it disagree about the page, and nothing comes to life.
#[cfg(not(erase_components))]
compile_error!(
    "views are not type-erased: RUSTFLAGS hides the flags of .cargo/config.toml; \
     add `--cfg erase_components` to it"
);

#[cfg(feature = "ssr")]
pub mod api;
#[cfg(feature = "ssr")]
mod app;
#[cfg(feature = "ssr")]
pub mod components;
#[cfg(feature = "ssr")]
mod cookie;
mod difference;
#[cfg(feature = "ssr")]
pub mod error;
#[cfg(feature = "ssr")]
pub mod held;
pub mod islands;
mod keys;
#[cfg(feature = "ssr")]
pub mod location;
#[cfg(feature = "ssr")]
pub mod look;
#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
mod shell;
#[cfg(feature = "ssr")]
mod span;
#[cfg(feature = "ssr")]
pub mod text;
#[cfg(feature = "ssr")]
pub mod zone;

#[cfg(feature = "ssr")]
pub use app::App;
#[cfg(feature = "ssr")]
pub use shell::shell;
