//! Which verb of its token a call takes, by method and route: looked at in one place before any handler,
//! so that no handler can forget it.

use axum::{
    extract::{MatchedPath, Request},
    http::Method,
};
use domain::{problem::Code, token::TokenVerb};
use engine::Caller;

use crate::refusal::Refused;

/// Refuses a call that its token does not cover, naming the verb that is missing.
pub(super) fn check(caller: &Caller, request: &Request) -> Result<(), Refused> {
    // What matches no route is answered 404 whatever the token.
    let Some(path) = request.extensions().get::<MatchedPath>() else { return Ok(()) };
    let path = path.as_str();
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    match needed(caller, request.method(), path) {
        Some(verb) if !caller.covers_verb(verb) => Err(Refused::code(Code::TokenScope)
            .detail(format!("The token lacks the verb {verb}."))
            .with("missing_verb", verb.as_str())),
        _ => Ok(()),
    }
}

/// The verb that a call takes; `None` for what every token may do, and for a call that such a token never
/// makes: its handler says which kind it takes.
fn needed(caller: &Caller, method: &Method, path: &str) -> Option<TokenVerb> {
    if path == "/openapi.json" {
        return None;
    }
    let reads = matches!(*method, Method::GET | Method::HEAD);
    match caller {
        _ if reads => Some(TokenVerb::Read),
        Caller::Staff(_) => Some(TokenVerb::Decide),
        Caller::Service(_) => of_service(path),
    }
}

/// The verb of a service's call that changes something.
fn of_service(path: &str) -> Option<TokenVerb> {
    match path {
        "/operations" => Some(TokenVerb::Reserve),
        "/operations/claim" => Some(TokenVerb::Claim),
        "/operations/{id}/start" | "/operations/{id}/heartbeat" | "/operations/{id}/finish" => {
            Some(TokenVerb::Report)
        }
        "/inbox" => Some(TokenVerb::Inbox),
        "/workflows" | "/workflows/{id}/cancel" => Some(TokenVerb::Workflows),
        _ if path.starts_with("/workflows/{id}/steps/") => Some(TokenVerb::Workflows),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::routes;

    #[test]
    fn every_call_that_takes_a_services_token_has_a_verb() {
        let called: Vec<_> = routes()
            .into_iter()
            .filter(|(method, path)| *method != "GET" && of_service(path).is_some())
            .map(|(_, path)| path)
            .collect();
        let services = [
            "/operations",
            "/operations/claim",
            "/operations/{id}/start",
            "/operations/{id}/heartbeat",
            "/operations/{id}/finish",
            "/inbox",
            "/workflows",
            "/workflows/{id}/cancel",
            "/workflows/{id}/steps/{step_key}/start",
            "/workflows/{id}/steps/{step_key}/resume",
            "/workflows/{id}/steps/{step_key}/checkpoint",
        ];
        for path in services {
            assert!(called.iter().any(|called| called == path), "{path}");
        }
        assert_eq!(called.len(), services.len(), "{called:?}");
    }
}
