//! `GET /live`: what changes in a session's tenant, as server-sent events (docs/live.md). An event
//! names records and nothing of what they hold; a page that is open reads again when its person says
//! so.
//!
//! Guards against streams that outlive their session or keep it alive, that hold a stop up, or that
//! take every connection. Nothing here is noted as a request of the session, or in the audit log.

use std::{
    collections::HashMap,
    convert::Infallible,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    extract::{RawQuery, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
    routing::get,
};
use domain::{ids::SessionId, problem::Code};
use engine::{Engine, Following, Limits, Standing};
use futures_util::{StreamExt as _, stream};
use tokio::{
    sync::watch,
    time::{Instant, Interval, interval_at, sleep_until},
};
use url::form_urlencoded;

use crate::{
    auth::cookie::SessionToken,
    refusal::{Refused, chain},
    router::{AppState, innermost},
    shutdown::stopped,
};

/// How often a stream looks whether its session still stands.
const LOOK: Duration = Duration::from_secs(5);
/// How often that may fail in a row: a database that restarts ends no stream.
const MAX_FAILURES: u32 = 5;
/// At most one event in this time; what changes meanwhile is the next.
const BETWEEN: Duration = Duration::from_secs(1);
/// A line without a meaning so often, for proxies that close what is silent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a browser waits before it comes back.
const RETRY: Duration = Duration::from_secs(3);

/// `/live`.
pub fn router() -> Router<AppState> {
    innermost(Router::new().route("/live", get(follow)))
}

/// The streams of this server; cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct Live(Arc<Streams>);

#[derive(Debug)]
struct Streams {
    open: Mutex<HashMap<SessionId, usize>>,
    ending: watch::Sender<bool>,
}

impl Default for Streams {
    fn default() -> Self {
        Self { open: Mutex::default(), ending: watch::Sender::new(false) }
    }
}

impl Live {
    /// Ends all streams, those to come included.
    pub fn end(&self) {
        self.0.ending.send_replace(true);
    }

    /// A place for one more stream of a session, or the limit that is reached.
    fn place(&self, session: SessionId, limits: &Limits) -> Result<Place, usize> {
        let mut open = self.open();
        if open.values().sum::<usize>() >= limits.streams {
            return Err(limits.streams);
        }
        let own = open.entry(session).or_default();
        if *own >= limits.session_streams {
            return Err(limits.session_streams);
        }
        *own += 1;
        Ok(Place { live: self.clone(), session })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, usize>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one stream, given back when dropped.
struct Place {
    live: Live,
    session: SessionId,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.live.open();
        if let Some(own) = open.get_mut(&self.session) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.session);
            }
        }
    }
}

/// Opens a stream. `tenant` is where the page was read and `since` when, in milliseconds since 1970;
/// a browser that comes back says itself what it heard last.
async fn follow(
    State(state): State<AppState>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let token = SessionToken::of(&headers).ok_or_else(unauthenticated)?;
    let standing =
        state.engine.session_standing(token.as_str()).await?.ok_or_else(unauthenticated)?;
    let query = query.unwrap_or_default();
    let asked = |name: &str| {
        form_urlencoded::parse(query.as_bytes())
            .find(|(key, _)| key.as_ref() == name)
            .map(|(_, value)| value)
    };
    if asked("tenant").is_some_and(|tenant| tenant != standing.tenant_slug()) {
        return Err(Refused::code(Code::NotFound));
    }
    let heard_last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let since = heard_last.or_else(|| asked("since")?.parse().ok());
    let limits = &state.engine.settings().limits;
    let place = state.live.place(standing.session(), limits).map_err(|limit| {
        Refused::code(Code::Unavailable)
            .detail(format!("The limit here is {limit} streams"))
            .retry_after(30)
    })?;
    let following = state.engine.follow(&standing, since);
    let ending = state.live.0.ending.subscribe();
    let tail = Tail {
        engine: state.engine,
        token,
        standing,
        following,
        ending,
        look: interval_at(Instant::now() + LOOK, LOOK),
        failures: 0,
        silent_until: Instant::now(),
        _place: place,
    };
    let opening = Event::default().retry(RETRY).comment("open");
    let events = stream::once(ready(Ok::<_, Infallible>(opening)))
        .chain(stream::unfold(tail, |tail| async { tail.next().await }));
    let mut response =
        Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Else a proxy would hold events back until some kilobytes have come together.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

fn unauthenticated() -> Refused {
    Refused::code(Code::Unauthenticated)
}

/// An open stream.
struct Tail {
    engine: Engine,
    token: SessionToken,
    standing: Standing,
    following: Following,
    ending: watch::Receiver<bool>,
    look: Interval,
    failures: u32,
    silent_until: Instant,
    _place: Place,
}

impl Tail {
    /// The next event; `None` where the stream ends.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            let news = async {
                sleep_until(self.silent_until).await;
                self.following.next().await
            };
            tokio::select! {
                biased;
                () = stopped(&mut self.ending) => return None,
                _ = self.look.tick() => {
                    if !self.stands().await {
                        return None;
                    }
                }
                news = news => {
                    self.silent_until = Instant::now() + BETWEEN;
                    let event =
                        Event::default().id(news.latest_ms.to_string()).data(news.records);
                    return Some((Ok(event), self));
                }
            }
        }
    }

    /// Whether the session still stands where it stood.
    async fn stands(&mut self) -> bool {
        match self.engine.session_standing(self.token.as_str()).await {
            Ok(now) => {
                self.failures = 0;
                now.as_ref() == Some(&self.standing)
            }
            Err(error) => {
                self.failures += 1;
                tracing::debug!(error = chain(&error), "a stream's session cannot be looked at");
                self.failures <= MAX_FAILURES
            }
        }
    }
}
