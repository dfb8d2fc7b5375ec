//! What the console reads: lists, one operation with everything about it, and what needs a person.

mod detail;
mod elsewhere;
mod inbox;
mod list;
mod overview;
mod timeline;
mod workflows;
