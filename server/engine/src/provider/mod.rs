//! Providers: who does the effects, as the engine calls and asks them.
//!
//! An answer is `Done`, `Rejected`, `NotDone` or `Ambiguous`, and whatever is not plainly one of
//! the first three is `Ambiguous`: the default must be the side on which nobody is charged twice
//! (D10).

mod http;
mod mail;
mod model;
mod smtp;
mod target;

use std::{collections::HashMap, sync::Arc, time::Duration};

pub use model::{Answering, Model, ModelAnswer, Prompt, StandIn, Written};
pub(crate) use target::same_target;

use domain::{money::Money, reconciliation::ProviderAnswer};

use crate::{
    error::EngineError,
    settings::{ProviderEndpoint, Settings},
    store::answer::StoredAnswer,
};

/// A call of an effect.
pub(crate) struct Call<'a> {
    pub(crate) provider_key: &'a str,
    pub(crate) payload: &'a [u8],
    pub(crate) amount: Option<&'a Money>,
    pub(crate) deadline: Duration,
}

/// What came of a call.
pub(crate) struct CallResult {
    pub(crate) outcome: crate::operations::FinishOutcome,
    /// The answer names another key or target than the request's (D10).
    pub(crate) other_target: bool,
    pub(crate) external_reference: Option<String>,
    pub(crate) amount: Option<Money>,
    pub(crate) response: Option<StoredAnswer>,
}

/// What a lookup is made by (D13).
pub(crate) struct Question<'a> {
    pub(crate) provider_key: &'a str,
    pub(crate) external_reference: Option<&'a str>,
    /// What was sent: an answer that names another target is about something else.
    pub(crate) payload: Option<&'a [u8]>,
    pub(crate) deadline: Duration,
}

/// One provider, by the protocol that it speaks.
pub(crate) enum Provider {
    /// JSON over HTTP.
    Http(http::HttpProvider),
    /// Mail by SMTP, with a lookup over HTTP where there is one.
    Smtp(smtp::SmtpProvider),
    /// A model, whichever it is.
    Model(Arc<dyn Model>),
}

/// What stands before the address of a model behind HTTP.
const MODEL: &str = "model+";

impl Provider {
    fn new(client: reqwest::Client, endpoint: &ProviderEndpoint) -> Result<Self, EngineError> {
        if let Some(url) = endpoint.url.strip_prefix(MODEL) {
            let at = ProviderEndpoint { url: url.to_owned(), ..endpoint.clone() };
            let at = http::HttpProvider::new(client, &at)?;
            return Ok(Self::Model(Arc::new(model::ModelOverHttp::new(endpoint.name.clone(), at))));
        }
        match endpoint.url.split_once("://") {
            Some(("smtp" | "smtps", _)) => {
                smtp::SmtpProvider::new(client, endpoint).map(Self::Smtp)
            }
            _ => http::HttpProvider::new(client, endpoint).map(Self::Http),
        }
    }

    /// Does the effect, once.
    pub(crate) async fn call(&self, call: &Call<'_>) -> CallResult {
        match self {
            Self::Http(provider) => provider.call(call).await,
            Self::Smtp(provider) => provider.call(call).await,
            Self::Model(model) => model::call(model, call).await,
        }
    }

    /// Asks what became of an effect.
    pub(crate) async fn ask(&self, question: &Question<'_>) -> ProviderAnswer {
        match self {
            Self::Http(provider) => provider.ask(question).await,
            Self::Smtp(provider) => provider.ask(question).await,
            // What a model once wrote is not looked up: the text would not come with it.
            Self::Model(_) => ProviderAnswer::NoLookup,
        }
    }
}

/// The providers that this process can reach, by the name that operation kinds give.
pub(crate) struct Providers {
    by_name: HashMap<String, Arc<Provider>>,
}

impl Providers {
    pub(crate) fn new(
        settings: &Settings,
        models: Vec<(String, Arc<dyn Model>)>,
    ) -> Result<Self, EngineError> {
        let client = http::client()?;
        let mut by_name = HashMap::new();
        for endpoint in &settings.providers {
            let provider = Provider::new(client.clone(), endpoint)?;
            by_name.insert(endpoint.name.clone(), Arc::new(provider));
        }
        for (name, model) in models {
            by_name.insert(name, Arc::new(Provider::Model(model)));
        }
        Ok(Self { by_name })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.by_name.keys().cloned().collect();
        names.sort();
        names
    }

    pub(crate) fn get(&self, name: Option<&str>) -> Option<Arc<Provider>> {
        self.by_name.get(name?).cloned()
    }

    /// Asks a provider; an unknown name is a provider that cannot be reached from here.
    pub(crate) async fn ask(&self, name: Option<&str>, question: &Question<'_>) -> ProviderAnswer {
        match self.get(name) {
            Some(provider) => provider.ask(question).await,
            None => ProviderAnswer::Unreachable,
        }
    }
}
