//! The closed list of refusals: one stable code each, with words that say what happened, what did
//! not, and what is safe now (RFC 9457).
//!
//! A code is all that travels in a URL or an error value, so nobody can put words into the
//! console's mouth and no internal text can leak through it (T41).

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::operation::UnknownWord;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $status:literal, $title:literal, $safe:literal;)*) => {
        /// A refusal's stable code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The word on the wire and in `data-code`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// The HTTP status that goes with it.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }

            /// What happened, in a sentence.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// What did not happen, and what is safe to do next.
            #[must_use]
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$name => $safe,)* }
            }
        }
    };
}

codes! {
    /// No key (D01).
    KeyMissing = "key_missing", 400, "The request has no idempotency key.", "Nothing was stored. Send the request again with a key that stays the same on every repeat.";
    /// Header and body name two keys.
    KeyMismatch = "key_mismatch", 400, "The header and the body name two different keys.", "Nothing was stored. Send one key.";
    /// Over the limit of length, or control characters.
    KeyInvalid = "key_invalid", 400, "The idempotency key cannot be used.", "Nothing was stored. A key has at least one character, no control characters and, unless this server takes fewer, at most 512.";
    /// The engine's own names (D02).
    KeyReserved = "key_reserved", 400, "This key or operation name belongs to the engine.", "Nothing was stored. Keys that begin with wf: or comp: and operations named console.* are the engine's own.";
    /// Not JSON, duplicate names, a float at a money field, too large.
    PayloadInvalid = "payload_invalid", 400, "The payload cannot be taken.", "Nothing was stored, and the key is still free.";
    /// The payload names another amount than the request beside it (D22).
    AmountMismatch = "amount_mismatch", 400, "The payload names another amount than the request.", "Nothing was stored, and the key is still free. Find out which amount is meant before you send it again.";
    /// The body or the form cannot be read at all; a field at fault in one that can is
    /// `unprocessable`.
    RequestInvalid = "request_invalid", 400, "The request cannot be read.", "Nothing was done.";
    /// No such kind for this tenant or token.
    KindUnknown = "kind_unknown", 400, "This tenant has no operation kind of that name.", "Nothing was stored. An administrator can add the kind.";
    /// Same key, other payload (D04).
    KeyReused = "key_reused", 422, "This key was used before with another payload.", "Nothing ran. Do not send it under a new key before you know which of the two requests is meant.";
    /// Same key, first still running (D03).
    OperationInProgress = "operation_in_progress", 409, "An operation with this key is in progress.", "Nothing new was started. Ask again with the same key after the time given.";
    /// Same key, outcome unknown (D11).
    OutcomeUnknown = "outcome_unknown", 409, "It is not known whether this operation took effect.", "Nothing new was started. Do not send it under a new key: the effect may already have happened.";
    /// Same key, waiting for its next attempt (D09).
    RetryLater = "retry_later", 409, "The operation will be tried again later.", "Nothing was started now. Send the same key again after the time given.";
    /// A stored final failure (D07).
    FailedTerminal = "failed_terminal", 422, "The operation failed and will not be tried again.", "The effect did not happen as far as is known here. See Onceover-Safe-New-Key before you use another key.";
    /// The contents are gone, the key stays closed (D39).
    Tombstoned = "tombstoned", 410, "This operation ended long ago and its contents have expired.", "Nothing ran. The key stays closed for ever.";
    /// Same message id, other content (D29).
    MessageReused = "message_reused", 422, "This message id was used before with another content.", "Nothing ran. Both contents are on record: find out which message is meant.";
    /// Older than its window and not on record (N4).
    Quarantined = "quarantined", 409, "This message is older than what its consumer remembers, and not on record.", "It was kept and not run: it may have been done before. A person decides; do not send it again.";
    /// Failed as often as its consumer allows (N3).
    Dead = "dead", 409, "This message failed as often as its consumer allows.", "It was kept and has no effect so far. A person decides; do not send it again.";
    /// A former owner (D16).
    FenceLost = "fence_lost", 409, "This lease is no longer yours.", "Stop: send nothing more to the provider. What you know already can still be sent to finish, and is kept as evidence.";
    /// Started before under the same fence.
    AlreadyStarted = "already_started", 409, "This operation was already started under this lease.", "Do not call the provider twice: if you are not certain that your first call was never sent, finish as ambiguous.";
    /// Too little lease left for the call (O2).
    LeaseTooShort = "lease_too_short", 409, "The lease ends before the call could.", "The call must not begin. Send a heartbeat, then start again.";
    /// The page is older than the record (D41).
    Stale = "stale", 409, "The record has changed since this page was shown.", "Nothing was done. Look at what changed, then decide again.";
    /// Another decision was taken on the same version (D41).
    DecidedOtherwise = "decided_otherwise", 409, "Somebody decided otherwise on this record.", "Your decision was not carried out. The receipt shows the one that was.";
    /// Not in the table of moves.
    NotAllowedInState = "not_allowed_in_state", 409, "This action does not apply to the state the operation is in.", "Nothing was done.";
    /// The provider says the contrary.
    ProviderContradicts = "provider_contradicts", 409, "The provider says the contrary right now.", "Nothing was decided. Look at the provider's answer; only a confirmation can be sent against it, to a second person.";
    /// The provider may still be working on it.
    TooEarly = "too_early", 409, "It is too early to say that it did not happen: the call may still be under way at the provider.", "Nothing was decided. Try again after the instant shown.";
    /// A request for the same action waits.
    ApprovalPending = "approval_pending", 409, "A request for this action waits for a second person.", "Nothing more was done. It is carried out once somebody else approves; whoever asked can withdraw it.";
    /// The role lacks the right.
    PermissionMissing = "permission_missing", 403, "Your role does not have this right.", "Nothing was done.";
    /// Four eyes.
    SecondPersonRequired = "second_person_required", 403, "This decision needs a second person.", "Nothing was done. It takes somebody with the right to approve who did not ask for it, was not given that right by whoever asked, and held it before it was asked for.";
    /// A token's scope does not cover it.
    TokenScope = "token_scope", 403, "This token does not cover that call.", "Nothing was done.";
    /// No or no valid credentials.
    Unauthenticated = "unauthenticated", 401, "You are not signed in, or the token is not valid.", "Nothing was done.";
    /// Email or password wrong.
    SignInFailed = "sign_in_failed", 401, "Email and password do not match an account.", "You are not signed in.";
    /// More calls than the limiter lets pass (T40).
    RateLimited = "rate_limited", 429, "Too many requests in a short time.", "Nothing was done. Wait as long as Retry-After says, then send the same request again: it carries the same key.";
    /// Too many tries.
    TooManyAttempts = "too_many_attempts", 429, "Too many attempts to prove who you are.", "Nothing was done. Wait fifteen minutes and try again.";
    /// The factor was given too long ago for this (T12).
    StepUpRequired = "step_up_required", 403, "Prove first that it is you: what you do moves money, shows masked fields or takes a live lease away.", "Nothing was done. Give your factor again, then send it as it is; a program sends Onceover-TOTP, or a token made less than eight hours ago.";
    /// A password or code that does not fit.
    FactorRefused = "factor_refused", 403, "That password or code does not fit, or the code was used before.", "Nothing was done. A code of an authenticator works once: wait for the next one.";
    /// The identity provider's answer does not hold (T16).
    SsoFailed = "sso_failed", 401, "Signing in with the identity provider did not work.", "Nothing was done. Begin again; if it does not work then either, tell an administrator, whose log says why.";
    /// The identity provider knows the person, and nothing is granted (T16).
    SsoRefused = "sso_refused", 403, "The identity provider knows you, but you have no access here.", "Nothing was done. An administrator can say what your account lacks.";
    /// The identity provider cannot be asked.
    SsoUnavailable = "sso_unavailable", 503, "The identity provider did not answer.", "Nothing was done. Try again in a moment, or sign in with a local account.";
    /// No such record in this tenant.
    NotFound = "not_found", 404, "There is no such record here.", "Check the link, and the tenant you are signed in to.";
    /// A field of a body or form that can be read is missing or wrong.
    Unprocessable = "unprocessable", 422, "Something is missing or does not fit.", "Nothing was done. Mend the fields named and send it again.";
    /// The request did not come from the console's own pages (T03).
    CrossSite = "cross_site", 403, "The request did not come from this console's own pages.", "Nothing was done.";
    /// Other than the content types taken.
    UnsupportedMediaType = "unsupported_media_type", 415, "This content type is not taken here.", "Nothing was done.";
    /// Over a limit.
    TooLarge = "too_large", 413, "The request is larger than the limit.", "Nothing was done.";
    /// A filter, cursor or page size out of range.
    FilterInvalid = "filter_invalid", 400, "The filter cannot be used.", "Nothing was read. Mend the part named.";
    /// The database or its log cannot be written.
    Unavailable = "unavailable", 503, "The database did not answer.", "Nothing is known to have been done. Repeating the same request is safe: it carries the same key.";
    /// A fault of ours.
    Internal = "internal", 500, "Something went wrong on our side.", "It was logged with the request's id. Repeating the same request is safe: it carries the same key.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Code {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.as_str() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_same_word_in_json_and_in_text() {
        for code in Code::ALL {
            let json = serde_json::to_string(code).unwrap();
            assert_eq!(json, format!("\"{code}\""));
            assert_eq!(code.as_str().parse(), Ok(*code));
        }
    }

    #[test]
    fn an_unknown_outcome_is_never_called_failed_and_never_5xx() {
        let code = Code::OutcomeUnknown;
        assert!(code.status() < 500);
        let words = format!("{} {}", code.title(), code.advice()).to_lowercase();
        assert!(!words.contains("fail"));
    }
}
