//! Changing a person's role. Granting the right to approve takes a second person: otherwise one
//! administrator could make the approver that a request needs (A5).

use domain::{
    access::{Permission, Role, permits},
    problem::Code,
};

use super::{ActionRequest, carry::Effect, hand::Hand, held::Held, request::unfit, weigh::Weighed};
use crate::{
    database::Tx,
    error::EngineError,
    store::staff::{self, Member},
};

/// Weighs a new role.
pub(super) fn weigh(member: &Member, request: &ActionRequest) -> Result<Weighed, EngineError> {
    let role = role(request)?;
    if role == member.role {
        return Err(unfit("role", "the person has this role already"));
    }
    let second = permits(role, Permission::Approve)
        .then(|| "It gives the right to approve what others ask for.".to_owned());
    let changes = vec![format!("{}: {} instead of {}.", member.name, role, member.role)];
    Ok(Weighed { second, changes, ..Weighed::default() })
}

/// Changes the role. The right is given by whoever asked: that person's requests it will never
/// approve.
pub(super) async fn grant(
    tx: &mut Tx,
    hand: &Hand<'_>,
    held: &Held,
    member: &Member,
    request: &ActionRequest,
) -> Result<Effect, EngineError> {
    let before = held.state();
    let granter = (hand.decides.id, hand.decides.email.as_str());
    staff::regrant(tx, hand.tenant(), member.id, role(request)?, granter).await?;
    let after = Held::lock(tx, hand.tenant(), &request.target).await?.state();
    let followed = vec!["It holds from the person's next request on.".to_owned()];
    Ok(Effect { before, after, followed })
}

fn role(request: &ActionRequest) -> Result<Role, EngineError> {
    request.role.ok_or_else(|| EngineError::refused(Code::Unprocessable))
}
