//! Who moves an operation, as its timeline names it.

/// The author of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// `worker`, `service`, `staff`, `webhook`, `reconciler`, `janitor` or `command line`.
    pub kind: &'static str,
    /// A worker's or token's name, a person's email.
    pub name: String,
}

impl Actor {
    /// An actor of a kind.
    pub fn new(kind: &'static str, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }
}
