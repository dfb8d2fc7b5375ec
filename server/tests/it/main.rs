//! The server from the outside: requests through its whole router, on a real database.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod approvals;
mod audit;
mod audit_commands;
mod bulks;
mod clients;
mod command_line;
mod demo;
mod disputed;
mod evidence;
mod exports;
mod faults;
mod forms;
mod guard;
mod headers;
mod incidents;
mod kind_form;
mod limits;
mod listener;
mod live;
mod mail;
mod notices;
mod pages_flows;
mod pages_records;
mod poolers;
mod preferences;
mod refusals;
mod reveal;
mod saved_views;
mod search;
mod sign_in;
mod sizes;
mod sources;
mod support;
mod tenants;
mod trust;
mod v1_answers;
mod v1_console;
mod v1_edges;
mod v1_inbox;
mod v1_records;
mod v1_undo;
mod v1_workflows;
