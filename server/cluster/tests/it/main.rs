//! The private cluster against a real PostgreSQL and real processes.

mod command;
mod lifecycle;
mod support;
