//! The sandbox over real sockets and real files.

mod consumer;
mod drafts;
mod engine_double;
mod keys_and_ledger;
mod lookups;
mod modes;
mod publications;
mod services;
mod smtp;
mod story;
mod support;
mod webhooks;
