//! Making and revoking bearer tokens. A token's text is made here, returned once and kept nowhere: what is
//! stored, and what a decision is known by, holds its hash or nothing of it (T13).
//!
//! Guards against a token that reaches further than whoever made it: a service's is made by whoever looks
//! after tokens; a person's by that person alone, for with another's rights an administrator could approve.

use std::fmt;

use domain::{
    access::Permission,
    action::{Subject, TargetType, Verb},
    ids::{TenantId, TokenId},
    problem::Code,
    token::{MAX_KINDS, MAX_NAME_CHARS, MAX_OWN_DAYS, MAX_SERVICE_DAYS, TokenVerb},
    view::Receipt,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    ActionRequest,
    carry::Effect,
    hand::Hand,
    held::Held,
    minted,
    request::{check_text, unfit},
    weigh::{Weighed, leaves},
};
use crate::{
    Engine, StaffCaller,
    database::Tx,
    error::EngineError,
    identity::new_token,
    store::{
        kind,
        token::{self, AddedToken},
        token_listing,
    },
};

/// A token to make, as a decision holds it; only [`Engine::issue_token`] makes one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NewToken {
    pub(super) name: String,
    pub(super) own: bool,
    kinds: Vec<String>,
    verbs: Vec<TokenVerb>,
    days: i32,
    /// SHA-256 of its text: no part of the decision, which is the same whatever chance made of it.
    #[serde(skip)]
    hash: Option<Vec<u8>>,
}

impl NewToken {
    /// The token with its texts trimmed, and what does not fit named.
    pub(super) fn checked(mut self) -> Result<Self, EngineError> {
        self.name = self.name.trim().to_owned();
        check_text("token_name", Some(&self.name), MAX_NAME_CHARS)?;
        if self.name.is_empty() || self.name.contains(['\n', '\r', '\t']) {
            return Err(unfit("token_name", "say in a line what the token is for"));
        }
        self.kinds.sort_unstable();
        self.kinds.dedup();
        self.verbs.sort_unstable();
        self.verbs.dedup();
        let most = if self.own { MAX_OWN_DAYS } else { MAX_SERVICE_DAYS };
        if !(1..=most).contains(&self.days) {
            return Err(unfit("days", &format!("a whole number of days from 1 to {most}")));
        }
        let fits = |verb: &TokenVerb| TokenVerb::of(self.own).contains(verb);
        if self.verbs.is_empty() || !self.verbs.iter().all(fits) {
            return Err(unfit(
                "verbs",
                "choose at least one of the calls that such a token can make",
            ));
        }
        if self.kinds.len() > MAX_KINDS || (self.own && !self.kinds.is_empty()) {
            return Err(unfit(
                "kinds",
                &format!("at most {MAX_KINDS} kinds, and none for a person's token"),
            ));
        }
        Ok(self)
    }
}

/// A token to make.
#[derive(Clone, Debug)]
pub struct AskToken {
    /// The id that the form minted: the same form makes one token.
    pub id: String,
    /// What it is called; once in the tenant.
    pub name: String,
    /// Whether it is its maker's own; else a service's.
    pub own: bool,
    /// Kinds of operation; empty: all of the tenant's. A person's names none.
    pub kinds: Vec<String>,
    /// Calls; at least one.
    pub verbs: Vec<TokenVerb>,
    /// Days that it lasts.
    pub days: i32,
    /// Why.
    pub reason: String,
}

/// A token that was made, now or before.
pub struct Issued {
    /// Its text, where it was made now; it is kept nowhere.
    pub secret: Option<String>,
    /// The decision's receipt.
    pub receipt: Receipt,
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").field("receipt", &self.receipt.id).finish_non_exhaustive()
    }
}

impl Engine {
    /// Makes a token, once: its text is in this answer alone. The same form sent again is answered by
    /// the receipt, without the text.
    ///
    /// # Errors
    /// As [`Engine::act`].
    pub async fn issue_token(
        &self,
        by: &StaffCaller,
        ask: AskToken,
    ) -> Result<Issued, EngineError> {
        let AskToken { id, name, own, kinds, verbs, days, reason } = ask;
        let (secret, hash) = new_token(own);
        let target = Subject::new(TargetType::Token, id.trim());
        let new = NewToken { name, own, kinds, verbs, days, hash: Some(hash) };
        let request = ActionRequest {
            token: Some(Box::new(new)),
            ..ActionRequest::new(target, Verb::Issue, 0, reason)
        };
        // No token takes a second person: whoever makes one gains nothing by it.
        let acted = self
            .act(by, request)
            .await?
            .done()
            .ok_or_else(|| EngineError::refused(Code::SecondPersonRequired))?;
        Ok(Issued { secret: (!acted.replayed).then_some(secret), receipt: acted.receipt })
    }

    /// The right that a decision about a token takes: one's own takes less. Whose a token is never
    /// changes, so it can be read before the lock.
    pub(super) async fn right_to_token(
        &self,
        by: &StaffCaller,
        request: &ActionRequest,
    ) -> Result<Permission, EngineError> {
        let own = match (request.verb, &request.token) {
            (Verb::Issue, Some(token)) => token.own,
            (Verb::Issue, None) => false,
            _ => {
                let Ok(id) = request.target.id.parse::<TokenId>() else {
                    return Ok(Permission::ManageTokens);
                };
                let mut tx = self.pools.begin_console(by.tenant_id()).await?;
                let found = token_listing::find(&mut tx, by.tenant_id(), id).await?;
                tx.commit().await?;
                found
                    .and_then(|token| token.person)
                    .is_some_and(|(person, _)| person == by.staff_id())
            }
        };
        Ok(if own { Permission::OwnTokens } else { Permission::ManageTokens })
    }
}

/// Weighs making a token of this id, which the tenant does not have yet.
pub(super) async fn weigh_issue(
    tx: &mut Tx,
    tenant: TenantId,
    id: Uuid,
    request: &ActionRequest,
) -> Result<Weighed, EngineError> {
    let new = asked(request)?;
    minted::check(tx, id).await?;
    for name in &new.kinds {
        if kind::find(tx, tenant, name).await?.is_none() {
            return Err(unfit("kinds", &format!("this tenant has no kind {name}")));
        }
    }
    Ok(Weighed::default())
}

/// Weighs taking a token back.
pub(super) fn weigh_revoke(held: &Held, request: &ActionRequest) -> Result<Weighed, EngineError> {
    let state = held.state();
    if leaves(TargetType::Token, request.verb).contains(&state.status.as_str()) {
        return Ok(Weighed::default());
    }
    Err(held.refused(Code::NotAllowedInState))
}

/// Makes it.
pub(super) async fn issue(
    tx: &mut Tx,
    hand: &Hand<'_>,
    held: &Held,
    id: Uuid,
    request: &ActionRequest,
) -> Result<Effect, EngineError> {
    let new = asked(request)?;
    let hash = new.hash.as_deref().ok_or_else(|| EngineError::refused(Code::Unprocessable))?;
    let added = AddedToken {
        id: Some(TokenId::new(id)),
        tenant: hand.tenant(),
        name: &new.name,
        person: new.own.then_some(hand.decides.id),
        kinds: &new.kinds,
        verbs: &new.verbs,
        days: Some(new.days),
        hash,
        made_by: Some((hand.decides.id, hand.decides.email.as_str())),
    };
    if !token::add(tx, &added).await? {
        return Err(unfit(
            "token_name",
            "the tenant has, or had, a token of that name; no name is used twice",
        ));
    }
    let before = held.state();
    let after = Held::lock(tx, hand.tenant(), &request.target).await?.state();
    let may: Vec<_> = new.verbs.iter().map(|verb| verb.label()).collect();
    let of = if new.kinds.is_empty() {
        String::new()
    } else {
        format!(", for operations of {}", new.kinds.join(", "))
    };
    let followed = vec![
        format!("For {} days it may {}{of}.", new.days, may.join("; ")),
        "Its text was shown once, to whoever made it.".to_owned(),
    ];
    Ok(Effect { before, after, followed })
}

/// Takes it back.
pub(super) async fn revoke(
    tx: &mut Tx,
    hand: &Hand<'_>,
    held: &Held,
    request: &ActionRequest,
) -> Result<Effect, EngineError> {
    let id = request.target.id.parse().map_err(|_| EngineError::refused(Code::NotFound))?;
    let (tenant, by) = (hand.tenant(), hand.decides.email.as_str());
    if !token::revoke(tx, tenant, id, request.version, by).await? {
        return Err(held.refused(Code::Stale));
    }
    let before = held.state();
    let after = Held::lock(tx, tenant, &request.target).await?.state();
    let followed = vec!["It is refused from its next request on.".to_owned()];
    Ok(Effect { before, after, followed })
}

fn asked(request: &ActionRequest) -> Result<&NewToken, EngineError> {
    request.token.as_deref().ok_or_else(|| EngineError::refused(Code::Unprocessable))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> NewToken {
        NewToken {
            name: " billing ".into(),
            verbs: vec![TokenVerb::Report, TokenVerb::Reserve, TokenVerb::Report],
            kinds: vec!["b".into(), "a".into(), "b".into()],
            days: 30,
            hash: Some(vec![7; 32]),
            ..NewToken::default()
        }
    }

    fn field(token: NewToken) -> Option<String> {
        token.checked().unwrap_err().refusal().field
    }

    #[test]
    fn the_order_of_what_was_ticked_makes_no_other_decision_and_the_hash_is_no_part_of_it() {
        let token = token().checked().unwrap();
        let told = serde_json::to_value(&token).unwrap();
        let same = serde_json::json!({
            "name": "billing", "own": false, "kinds": ["a", "b"], "verbs": ["reserve", "report"], "days": 30,
        });
        assert_eq!(told, same);
    }

    #[test]
    fn a_slip_names_its_field() {
        assert_eq!(field(NewToken { name: " ".into(), ..token() }).as_deref(), Some("token_name"));
        assert_eq!(
            field(NewToken { name: "a\nb".into(), ..token() }).as_deref(),
            Some("token_name")
        );
        assert_eq!(field(NewToken { days: 0, ..token() }).as_deref(), Some("days"));
        assert_eq!(field(NewToken { days: 366, ..token() }).as_deref(), Some("days"));
        assert_eq!(field(NewToken { verbs: vec![], ..token() }).as_deref(), Some("verbs"));
        let own = NewToken { own: true, kinds: vec![], verbs: vec![TokenVerb::Read], ..token() };
        assert!(own.clone().checked().is_ok());
        assert_eq!(field(NewToken { days: 91, ..own.clone() }).as_deref(), Some("days"));
        let claims = NewToken { verbs: vec![TokenVerb::Claim], ..own.clone() };
        assert_eq!(field(claims).as_deref(), Some("verbs"));
        assert_eq!(field(NewToken { kinds: vec!["a".into()], ..own }).as_deref(), Some("kinds"));
    }
}
