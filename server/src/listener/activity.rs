//! What a connection is doing, and since when: the one clock by which it is closed.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, sleep_until};

use super::Bounds;

/// Shared by a connection, its stream and its answers.
#[derive(Clone)]
pub(super) struct Activity(Arc<Mutex<State>>);

struct State {
    phase: Phase,
    /// Since when the client takes nothing of what is there for it.
    stalled: Option<Instant>,
}

#[derive(Clone, Copy)]
enum Phase {
    /// Nothing is asked.
    Idle(Instant),
    /// A header is on its way.
    Header(Instant),
    /// A request is being answered.
    Answering,
}

/// Why a connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    /// It rests; it may be told.
    Idle,
    /// Its header does not end, or it does not take its answer.
    Slow,
}

impl Activity {
    /// A connection that begins: its first header is awaited from now on.
    pub(super) fn begin() -> Self {
        let phase = Phase::Header(Instant::now());
        Self(Arc::new(Mutex::new(State { phase, stalled: None })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes have come.
    pub(super) fn heard(&self) {
        let mut state = self.state();
        if let Phase::Idle(_) = state.phase {
            state.phase = Phase::Header(Instant::now());
        }
    }

    /// Whether the client took what was written.
    pub(super) fn taken(&self, all: bool) {
        let mut state = self.state();
        match (all, state.stalled) {
            (true, _) => state.stalled = None,
            (false, None) => state.stalled = Some(Instant::now()),
            (false, Some(_)) => {}
        }
    }

    /// A request has come; it is answered until the value is dropped.
    pub(super) fn answering(&self) -> Answering {
        self.state().phase = Phase::Answering;
        Answering(self.clone())
    }

    /// Until when it may go on as it is.
    fn deadline(&self, bounds: &Bounds) -> Option<(Instant, Overdue)> {
        let state = self.state();
        if let Some(since) = state.stalled {
            return Some((since + bounds.idle, Overdue::Slow));
        }
        match state.phase {
            Phase::Idle(since) => Some((since + bounds.idle, Overdue::Idle)),
            Phase::Header(since) => Some((since + bounds.header, Overdue::Slow)),
            Phase::Answering => None,
        }
    }

    /// Waits until it has gone on for too long.
    pub(super) async fn overdue(&self, bounds: &Bounds) -> Overdue {
        // Whatever begins meanwhile ends no sooner than this.
        let look = bounds.header.min(bounds.idle);
        loop {
            let now = Instant::now();
            match self.deadline(bounds) {
                Some((at, why)) if at <= now => return why,
                Some((at, _)) => sleep_until(at.min(now + look)).await,
                None => sleep_until(now + look).await,
            }
        }
    }
}

/// A request that is being answered.
pub(super) struct Answering(Activity);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.state().phase = Phase::Idle(Instant::now());
    }
}

/// The body of an answer: the request is answered once it has been handed over, not before.
pub(super) struct Answer {
    pub(super) body: Body,
    pub(super) _answering: Answering,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
