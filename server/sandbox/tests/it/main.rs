//! The sandbox over real sockets and real files.

mod engine_double;
mod keys_and_ledger;
mod lookups;
mod modes;
mod services;
mod story;
mod support;
mod webhooks;
