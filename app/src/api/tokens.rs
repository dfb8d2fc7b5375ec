//! Bearer tokens: reading them, and the form that makes one.
//!
//! The form is posted to a handler of the server that answers with a page and no redirect: the token's
//! text stands in that one answer, never in an address. What was typed comes back after a refusal in the
//! address of the form, as everywhere.

use domain::{
    ids::{OperationId, TokenId},
    view::{Refusal, TokenView},
};
use form_urlencoded::Serializer;
use http::request::Parts;
use leptos::prelude::use_context;

use super::{
    context::{caller, engine, read},
    found::Found,
    refused::{Kept, RefusedForm},
};
use crate::{
    error::{ConsoleError, Field, RefusalView},
    location::{value, values},
};

/// Where the form is posted to, and the page that answers it.
pub const POSTED_TO: &str = "/tokens/made";
/// The form for a service's token.
pub const NEW_SERVICE: &str = "/admin/new-token";
/// The form for one's own.
pub const NEW_OWN: &str = "/me/new-token";
/// The most of the kinds and of a reason that is read, in bytes; escaped, all of it stays below the 65,534
/// bytes that an address may have.
const MAX_BYTES: usize = 8_000;
/// The same of a name.
const MAX_LINE_BYTES: usize = 1_536;
/// The same of an id, a verb and a number.
const MAX_SHORT_BYTES: usize = 64;
/// Ticked boxes that are read.
const MAX_VERBS: usize = 20;

/// The tokens of the tenant.
///
/// # Errors
/// `permission_missing` for whoever does not look after tokens.
pub async fn tokens() -> Result<Vec<TokenView>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.tokens(&caller)).await
}

/// The reader's own tokens.
///
/// # Errors
/// The engine's refusal.
pub async fn own_tokens() -> Result<Vec<TokenView>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.own_tokens(&caller)).await
}

/// One token.
///
/// # Errors
/// `permission_missing` for whoever may see only their own; `not_found`.
pub async fn token(id: TokenId) -> Result<Found<TokenView>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.token(&caller, id)).await.map(Found::Here)
}

/// The id for a form that makes a token.
///
/// # Errors
/// The engine's.
pub async fn new_id() -> Result<TokenId, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.new_token_id(&caller)).await
}

/// What the server made of the form, put into the request that renders the page of it.
#[derive(Clone)]
pub struct JustMade {
    /// What the token is called.
    pub name: String,
    /// Its id.
    pub id: String,
    /// Its text; `None` where the same form made it before.
    pub secret: Option<String>,
    /// The decision.
    pub receipt: OperationId,
}

/// What was made by this very request.
#[must_use]
pub fn just_made() -> Option<JustMade> {
    use_context::<Parts>().and_then(|parts| parts.extensions.get::<JustMade>().cloned())
}

/// The form as it was typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Typed {
    /// The id that the server minted into the form.
    pub id: String,
    /// Whether it is the maker's own token.
    pub own: bool,
    /// What it is called.
    pub name: String,
    /// Names of kinds, with blanks or commas between them.
    pub kinds: String,
    /// Words of verbs.
    pub verbs: Vec<String>,
    /// Days.
    pub days: String,
    /// Why.
    pub reason: String,
}

impl Typed {
    /// Reads the form's body, or the query of the page that it comes back to.
    #[must_use]
    pub fn read(encoded: &str) -> Self {
        let text = |name, max| bounded(value(encoded, name).unwrap_or_default(), max);
        Self {
            id: text("id", MAX_SHORT_BYTES),
            own: text("own", MAX_SHORT_BYTES) == "true",
            name: text(Field::TokenName.as_str(), MAX_LINE_BYTES),
            kinds: text(Field::Kinds.as_str(), MAX_BYTES),
            verbs: values(encoded, Field::Verbs.as_str())
                .into_iter()
                .map(|verb| bounded(verb, MAX_SHORT_BYTES))
                .take(MAX_VERBS)
                .collect(),
            days: text(Field::Days.as_str(), MAX_SHORT_BYTES),
            reason: text(Field::Reason.as_str(), MAX_BYTES),
        }
    }

    /// The names of its kinds.
    #[must_use]
    pub fn named_kinds(&self) -> Vec<String> {
        let names = self.kinds.split([',', ' ', '\t', '\r', '\n']);
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// The page of the form.
    #[must_use]
    pub const fn form(&self) -> &'static str {
        if self.own { NEW_OWN } else { NEW_SERVICE }
    }

    /// The address of the form that explains a refusal, with everything typed.
    #[must_use]
    pub fn refused(&self, refusal: Refusal) -> String {
        let refusal = RefusalView::from(refusal);
        let kept = Kept { reason: self.reason.clone(), ..Kept::default() };
        let mut query = Serializer::new(RefusedForm { refusal, kept }.to_query());
        for (name, value) in [
            ("id", &self.id),
            (Field::TokenName.as_str(), &self.name),
            (Field::Kinds.as_str(), &self.kinds),
            (Field::Days.as_str(), &self.days),
        ] {
            query.append_pair(name, value);
        }
        for verb in &self.verbs {
            query.append_pair(Field::Verbs.as_str(), verb);
        }
        format!("{}?{}", self.form(), query.finish())
    }
}

/// A little more than is taken, so that what is too long is refused as such.
fn bounded(mut text: String, max: usize) -> String {
    text.truncate(text.floor_char_boundary(max));
    text
}

#[cfg(test)]
mod tests {
    use domain::problem::Code;

    use super::*;

    #[test]
    fn what_was_typed_comes_back_exactly() {
        let typed = Typed {
            id: "0199b2c4-7d1e-7c3a-9f51-0242ac120002".into(),
            own: false,
            name: "100 % & paid+ <b>".into(),
            kinds: "invoice.charge, invoice.refund\r\ncampaign.send".into(),
            verbs: vec!["reserve".into(), "report".into()],
            days: "soon".into(),
            reason: "a\r\nLocation: https://evil.example".into(),
        };
        let refusal = engine::EngineError::field(Code::Unprocessable, "days", "x").refusal();
        let place = typed.refused(refusal);
        assert!(place.bytes().all(|b| b.is_ascii_graphic()), "{place}");
        let (form, query) = place.split_once('?').unwrap();
        assert_eq!(form, NEW_SERVICE);
        assert_eq!(Typed::read(query), typed);
        let refused = RefusedForm::from_query(query).unwrap();
        assert_eq!(refused.refusal.field, Some(Field::Days));
        assert_eq!(typed.named_kinds(), ["invoice.charge", "invoice.refund", "campaign.send"]);
    }
}
