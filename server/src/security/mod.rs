//! The walls in front of every handler, one file each; `router.rs` puts them in order.

pub mod body;
pub mod client;
pub mod detach;
pub mod headers;
pub mod host;
pub mod limiter;
pub mod location;
pub mod nonce;
pub mod origin;
pub mod request;
