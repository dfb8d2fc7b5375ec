//! Reading the rules: kinds with their policies, and the people of a tenant with their roles.

use domain::{ids::StaffId, problem::Code};
pub use engine::{
    console::{KindInForce, MemberInForce},
    store::kind::KindPolicy,
};

use super::{
    context::{caller, engine, read, refuse},
    found::Found,
};
use crate::error::ConsoleError;

/// The policy of a kind as it is in force. Kinds are names, so that of another tenant is never meant.
///
/// # Errors
/// `not_found` for a name that this tenant does not have.
pub async fn kind(name: &str) -> Result<KindInForce, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.kind_in_force(&caller, name)).await
}

/// The people of the tenant, by email.
///
/// # Errors
/// `permission_missing` for whoever does not look after staff.
pub async fn members() -> Result<Vec<MemberInForce>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.members(&caller)).await
}

/// Whether a person is the reader; decides nothing.
#[must_use]
pub fn is_reader(id: StaffId) -> bool {
    caller().is_ok_and(|caller| caller.staff_id() == id)
}

/// One of them.
///
/// # Errors
/// As [`members`]; `not_found` for who is no member here.
pub async fn member(id: StaffId) -> Result<Found<MemberInForce>, ConsoleError> {
    let found = members().await?.into_iter().find(|member| member.id == id);
    found.map(Found::Here).ok_or_else(|| refuse(ConsoleError::code_only(Code::NotFound)))
}
