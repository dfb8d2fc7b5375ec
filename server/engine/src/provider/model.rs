//! Models, as an agent's step asks them: a prompt, and a text under an id. The trait is the one place
//! where another model is put in; everything behind it (lease, deadline, finish, artifact) is the
//! operation's, so that a text which was carried out is never asked for again (D31, I13).
//!
//! Guards against the client library that asks twice on its own: an implementation asks once a call,
//! and says [`ModelAnswer::Lost`] wherever it does not know.

mod over_http;
mod stand_in;

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use super::{Call, CallResult};
use crate::{operations::FinishOutcome, store::answer::StoredAnswer};

pub(super) use over_http::ModelOverHttp;
pub use stand_in::StandIn;

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// The same however often this text is asked for (D15); for a model that honours keys.
    pub key: &'a str,
    /// The step's input, as JSON.
    pub input: &'a [u8],
    /// How long anybody waits.
    pub deadline: Duration,
}

/// What a model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The model's own name for this answer.
    pub id: String,
    /// The answer whole, as it is stored and replayed; a text stands in its member `text`.
    pub answer: StoredAnswer,
    /// It names another prompt than the one that was sent (D10).
    pub astray: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelAnswer {
    /// A text.
    Written(Written),
    /// The model does not answer this prompt, and will not.
    Refused(Option<StoredAnswer>),
    /// It was not asked: nothing was sent, or it says that it takes nothing now.
    NotAsked(Option<StoredAnswer>),
    /// It may have answered; nobody knows.
    Lost(Option<StoredAnswer>),
}

/// The future of an answer.
pub type Answering<'a> = Pin<Box<dyn Future<Output = ModelAnswer> + Send + 'a>>;

/// A model.
pub trait Model: fmt::Debug + Send + Sync {
    /// Asks once.
    fn ask<'a>(&'a self, prompt: Prompt<'a>) -> Answering<'a>;
}

/// Asks a model as an operation's call.
pub(super) async fn call(model: &Arc<dyn Model>, call: &Call<'_>) -> CallResult {
    let prompt = Prompt { key: call.provider_key, input: call.payload, deadline: call.deadline };
    match model.ask(prompt).await {
        ModelAnswer::Written(written) => CallResult {
            other_target: written.astray,
            external_reference: Some(written.id),
            response: Some(written.answer),
            ..CallResult::of(FinishOutcome::Done)
        },
        ModelAnswer::Refused(response) => {
            CallResult { response, ..CallResult::of(FinishOutcome::Rejected) }
        }
        ModelAnswer::NotAsked(response) => {
            CallResult { response, ..CallResult::of(FinishOutcome::NotDone) }
        }
        ModelAnswer::Lost(response) => {
            CallResult { response, ..CallResult::of(FinishOutcome::Ambiguous) }
        }
    }
}
