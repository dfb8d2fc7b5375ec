//! `/admin`: the rules themselves: kinds and their policies, people and their roles.

mod kind;
mod kinds;
mod member;
mod policy;
mod policy_fields;
mod policy_form;
mod staff;

pub use kind::KindPage;
pub use kinds::KindsPage;
pub use member::{GrantPage, MemberPage};
pub use policy_form::{NewKindPage, PolicyFormPage};
pub use staff::StaffPage;
