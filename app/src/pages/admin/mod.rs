//! `/admin`: the rules themselves: kinds and their policies, people and their roles.

mod kind;
mod kinds;
mod member;
mod policy;
mod staff;

pub use kind::KindPage;
pub use kinds::KindsPage;
pub use member::{GrantPage, MemberPage};
pub use staff::StaffPage;
