//! Whether the audit log is as it was written (T30): the walk along its chain, for a person who asks on
//! the page and for the command line; and the heads of all chains, taken to places outside the database.
//!
//! Guards against whoever may write the database by hand. The chain shows every change but one that was
//! made to all of its rest as well; a head that was kept outside shows that one too.

mod anchor;
mod auditor;
mod check;
mod walk;

pub use anchor::{AnchoredHead, Anchors};
pub use auditor::{Auditor, Verified};
