//! The fault suite: the program itself, with crash points, against a provider in another process.
fn main() {}
