//! How many requests one token, one person or one address may send in a minute (R29, T40).
//!
//! It stands behind the session and before the rights: a program is counted by its token, a person by
//! account, and what comes with neither by its address. In this process and in memory: a restart forgives,
//! but never a failed sign-in, which the database counts. Guards against one tenant that floods the others
//! out, and against guessing of tokens.

use std::{
    hash::Hash,
    net::IpAddr,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use axum::{
    extract::{Request, State},
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::{
    ids::{StaffId, TokenId},
    problem::Code,
};
use engine::{Caller, Limits, StaffCaller};
use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
};

use super::client::Client;
use crate::refusal::Refused;

/// Keys that were not seen for a while are forgotten each so many checks.
const SWEEP_EVERY: u32 = 10_000;

/// The counts of this process; cloning shares them.
#[derive(Clone)]
pub struct Limiter(Arc<Counts>);

struct Counts {
    tokens: Count<TokenId>,
    accounts: Count<StaffId>,
    addresses: Count<IpAddr>,
}

/// One limit, for each of many keys: so many at once, coming back evenly over a minute.
struct Count<K: Hash + Eq + Clone> {
    a_minute: u32,
    seen: DefaultKeyedRateLimiter<K>,
    checks: AtomicU32,
}

impl<K: Hash + Eq + Clone> Count<K> {
    fn new(a_minute: u32) -> Self {
        let quota = Quota::per_minute(NonZeroU32::new(a_minute).unwrap_or(NonZeroU32::MIN));
        Self { a_minute, seen: RateLimiter::keyed(quota), checks: AtomicU32::new(0) }
    }

    fn take(&self, key: &K, whose: &str) -> Result<(), Refused> {
        if self.checks.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            self.seen.retain_recent();
            self.seen.shrink_to_fit();
        }
        self.seen.check_key(key).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            let limit = self.a_minute;
            tracing::warn!(limit, whose, "refused by the limiter");
            Refused::code(Code::RateLimited)
                .detail(format!("The limit is {limit} requests a minute for one {whose}."))
                .retry_after(seconds)
        })
    }
}

impl Limiter {
    /// Nothing counted yet.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self(Arc::new(Counts {
            tokens: Count::new(limits.token_calls),
            accounts: Count::new(limits.account_calls),
            addresses: Count::new(limits.address_calls),
        }))
    }

    /// Counts a program's call.
    ///
    /// # Errors
    /// [`Refused`] beyond its token's limit.
    pub fn program(&self, caller: &Caller) -> Result<(), Refused> {
        caller.token_id().map_or(Ok(()), |token| self.0.tokens.take(&token, "token"))
    }

    /// Counts a request of somebody unknown.
    ///
    /// # Errors
    /// [`Refused`] beyond its address's limit.
    pub fn stranger(&self, client: Option<Client>) -> Result<(), Refused> {
        client.map_or(Ok(()), |client| self.0.addresses.take(&client.network(), "address"))
    }
}

/// Counts what is asked of the console's pages: by account, or by address without a session.
pub async fn pages(State(limiter): State<Limiter>, request: Request, next: Next) -> Response {
    let staff = request.extensions().get::<StaffCaller>().map(StaffCaller::staff_id);
    let taken = match staff {
        Some(person) => limiter.0.accounts.take(&person, "person"),
        None => limiter.stranger(request.extensions().get::<Client>().copied()),
    };
    match taken {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    }
}

/// Counts what turned out to come from somebody unknown, by address: signatures that were guessed.
pub async fn guesses(State(limiter): State<Limiter>, request: Request, next: Next) -> Response {
    let client = request.extensions().get::<Client>().copied();
    let response = next.run(request).await;
    if response.status() != StatusCode::UNAUTHORIZED {
        return response;
    }
    match limiter.stranger(client) {
        Ok(()) => response,
        Err(refused) => refused.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_limit() {
        let count = Count::new(60);
        for _ in 0..60 {
            assert!(count.take(&1, "token").is_ok());
        }
        let refused = count.take(&1, "token").unwrap_err().into_response();
        assert_eq!(refused.status(), 429);
        assert_eq!(refused.headers()["retry-after"], "1");
        assert!(count.take(&2, "token").is_ok());
    }
}
