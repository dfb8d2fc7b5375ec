//! Faults with real parts: workers and the provider are processes, a crash is a SIGKILL, a pause a
//! SIGSTOP, and the provider's ledger is what counts: one charge, one mail.

mod answers;
mod crashes;
mod pauses;
pub mod postgres;
pub mod processes;
mod repeats;
mod scene;
mod stops;
