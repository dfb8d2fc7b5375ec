//! A model behind HTTP: the prompt by POST under an `Idempotency-Key`, a text with an `id` back.

use super::{Answering, Model, ModelAnswer, Prompt, Written};
use crate::{
    operations::FinishOutcome,
    provider::{Call, http::HttpProvider},
};

/// A model at an address.
pub(in crate::provider) struct ModelOverHttp {
    name: String,
    at: HttpProvider,
}

impl std::fmt::Debug for ModelOverHttp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelOverHttp").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ModelOverHttp {
    pub(in crate::provider) const fn new(name: String, at: HttpProvider) -> Self {
        Self { name, at }
    }
}

impl Model for ModelOverHttp {
    fn ask<'a>(&'a self, prompt: Prompt<'a>) -> Answering<'a> {
        Box::pin(async move {
            let call = Call {
                provider_key: prompt.key,
                payload: prompt.input,
                amount: None,
                deadline: prompt.deadline,
            };
            let result = self.at.call(&call).await;
            match (result.outcome, result.external_reference, result.response) {
                (FinishOutcome::Done, Some(id), Some(answer)) => {
                    ModelAnswer::Written(Written { id, answer, astray: result.other_target })
                }
                (FinishOutcome::Rejected, _, response) => ModelAnswer::Refused(response),
                (FinishOutcome::NotDone, _, response) => ModelAnswer::NotAsked(response),
                (_, _, response) => ModelAnswer::Lost(response),
            }
        })
    }
}
