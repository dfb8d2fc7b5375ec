//! The effect routes: carries out one effect under the rules in force.
//!
//! The effect runs in a task of its own: a caller who hangs up does not undo
//! it, which is exactly the case the engine exists for.

use std::{
    collections::HashMap,
    future::pending,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    body::Bytes,
    extract::{ConnectInfo, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use tokio::sync::watch;

use super::{
    connection::Wire,
    draft,
    effect::{Effect, Request},
    ledger::{Applied, Ledger, LedgerError},
    mode::Mode,
    reply,
    table::{EffectPlan, ModeTable, Subject},
    webhook::WebhookSender,
};
use crate::EffectKind;

/// Longest idempotency key, bytes; the engine's provider keys are UUIDs.
const KEY_LIMIT: usize = 512;

/// What every request shares.
pub(super) struct Shared {
    ledger: Ledger,
    modes: ModeTable,
    seed: u64,
    key_ttl_ms: u64,
    webhooks: Option<WebhookSender>,
    stop: watch::Receiver<bool>,
    /// Names last seen under each key, so that a rule by reference meets the
    /// lookup of a call that had no effect. Lost at a restart.
    seen: Mutex<HashMap<(EffectKind, String), Vec<String>>>,
}

impl Shared {
    pub(super) fn new(
        ledger: Ledger,
        modes: ModeTable,
        seed: u64,
        key_ttl: Duration,
        webhooks: Option<WebhookSender>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let key_ttl_ms = u64::try_from(key_ttl.as_millis()).unwrap_or(u64::MAX);
        Self { ledger, modes, seed, key_ttl_ms, webhooks, stop, seen: Mutex::default() }
    }

    pub(super) fn modes(&self) -> &ModeTable {
        &self.modes
    }

    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Notes the names seen under `key`.
    pub(super) fn note(&self, kind: EffectKind, key: &str, names: Vec<String>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert((kind, key.to_owned()), names);
    }

    /// The names last seen under `key`.
    pub(super) fn names_seen(&self, kind: EffectKind, key: &str) -> Vec<String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&(kind, key.to_owned())).cloned().unwrap_or_default()
    }

    pub(super) fn stopped(&self) -> watch::Receiver<bool> {
        self.stop.clone()
    }

    /// How long this request's key is remembered; none: not at all. A draft is
    /// never deduplicated: its ledger counts the calls (I13).
    fn memory_ms(&self, kind: EffectKind, plan: &EffectPlan) -> Option<u64> {
        (plan.honours_keys && kind != EffectKind::Draft)
            .then(|| plan.key_ttl_ms.unwrap_or(self.key_ttl_ms))
    }

    /// Applies and schedules the webhook. `mode` may delay it.
    pub(super) async fn apply(
        self: Arc<Self>,
        request: Request,
        plan: EffectPlan,
    ) -> Result<Applied, LedgerError> {
        if let Mode::Slow { ms } = plan.mode {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        let memory = self.memory_ms(request.kind, &plan);
        let shared = Arc::clone(&self);
        let applied = tokio::task::spawn_blocking(move || shared.ledger.apply(request, memory))
            .await
            .expect("the ledger does not panic and the runtime outlives its tasks")?;
        if let (Applied::New(effect), Some(webhook), Some(sender)) =
            (&applied, plan.webhook, &self.webhooks)
        {
            sender.schedule(effect, webhook);
        }
        Ok(applied)
    }
}

/// `POST` of an effect.
pub(super) async fn effect(
    kind: EffectKind,
    State(shared): State<Arc<Shared>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut request = match parse(kind, &headers, &body) {
        Ok(request) => request,
        Err(message) => return reply::error(StatusCode::BAD_REQUEST, "invalid_request", &message),
    };
    if kind == EffectKind::Draft {
        draft::write(shared.seed, &mut request);
    }
    let names = request.names();
    let subject = Subject { kind, key: &request.key, names: &names };
    let plan = match shared.modes.for_effect(&subject) {
        Ok(plan) => plan,
        Err(error) => return broken(&error),
    };
    shared.note(kind, &request.key, names);
    match &plan.mode {
        Mode::Fail500 => {
            return reply::error(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "something went wrong",
            );
        }
        Mode::Throttle => return reply::throttled(),
        // What is done already stays done; only a new request can be refused.
        Mode::Reject { code }
            if shared.ledger.stored(&request, shared.memory_ms(kind, &plan)).is_none() =>
        {
            return reply::error(StatusCode::PAYMENT_REQUIRED, code, "refused; nothing was done");
        }
        _ => {}
    }
    let mode = plan.mode.clone();
    let applied = tokio::spawn(Arc::clone(&shared).apply(request, plan)).await;
    match applied {
        Ok(Ok(Applied::New(effect))) => respond(&shared, &mode, &wire, &effect, false).await,
        Ok(Ok(Applied::Stored(effect))) => respond(&shared, &mode, &wire, &effect, true).await,
        Ok(Ok(Applied::KeyReused)) => {
            let message = "this key was used with another request; nothing was done";
            reply::error(StatusCode::CONFLICT, "idempotency_key_reused", message)
        }
        Ok(Err(error)) => broken(&error),
        Err(error) => broken(&error),
    }
}

async fn respond(
    shared: &Shared,
    mode: &Mode,
    wire: &Wire,
    effect: &Effect,
    replayed: bool,
) -> Response {
    let answer = effect.answer();
    match mode {
        Mode::ApplyDrop => {
            wire.cut();
            StatusCode::NO_CONTENT.into_response()
        }
        Mode::Hang => {
            let mut stop = shared.stopped();
            tokio::select! {
                () = pending() => {}
                _ = stop.wait_for(|stopped| *stopped) => {}
            }
            wire.cut();
            StatusCode::NO_CONTENT.into_response()
        }
        Mode::Apply500 => {
            reply::error(StatusCode::INTERNAL_SERVER_ERROR, "internal", "something went wrong")
        }
        Mode::Garbage => reply::garbage(),
        Mode::Nul => reply::nul(answer),
        Mode::Huge => reply::huge(answer),
        Mode::WrongAmount => reply::answer(effect.wrong_answer(), replayed),
        _ => reply::answer(answer, replayed),
    }
}

fn parse(kind: EffectKind, headers: &HeaderMap, body: &[u8]) -> Result<Request, String> {
    let key = headers
        .get("idempotency-key")
        .ok_or("the header Idempotency-Key is missing")?
        .to_str()
        .map_err(|_| "the header Idempotency-Key is not ASCII")?;
    if key.is_empty() || key.len() > KEY_LIMIT {
        return Err(format!("the header Idempotency-Key has 1 to {KEY_LIMIT} characters"));
    }
    let body =
        serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
    Request::parse(kind, key, body)
}

/// The provider's own disk failed: a 500 after which nobody knows.
pub(super) fn broken(error: &(dyn std::error::Error + 'static)) -> Response {
    tracing::error!(error, "the sandbox cannot keep its ledger or rules");
    reply::error(StatusCode::INTERNAL_SERVER_ERROR, "internal", "something went wrong")
}
