//! The provider over HTTP: its description and keys, kept for an hour; a code for tokens; further claims.
//!
//! Guards against answers without end, redirects, a provider that does not answer (asked once in a few
//! seconds, by one request for all), and tokens that make this console ask for keys over and over.

use std::{sync::Arc, time::Duration};

use reqwest::{Client, RequestBuilder, StatusCode};
use serde::Deserialize;
use tokio::{sync::Mutex, time::Instant};
use url::form_urlencoded;

use super::{
    fault::Fault,
    keys::{Keys, Unsigned},
    metadata::{Metadata, address},
    token::{Claims, Token},
};

/// How long description and keys are believed.
const KEPT: Duration = Duration::from_secs(3_600);
/// How often keys are read anew because a token names one that is not there.
const RENEWED_EACH: Duration = Duration::from_secs(60);
/// How long a provider that did not answer is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(5);
/// The most of an answer that is read.
const MAX_BYTES: usize = 256 * 1024;
/// The longest error code that is repeated in the log.
const MAX_WORD: usize = 64;

/// An identity provider.
pub(super) struct Provider {
    client: Client,
    issuer: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: Option<Known>,
    failed: Option<(Instant, String)>,
}

#[derive(Clone)]
struct Known {
    metadata: Arc<Metadata>,
    keys: Arc<Keys>,
    read_at: Instant,
    renewed_at: Option<Instant>,
}

/// By what this console asks for tokens.
pub(super) struct Exchange<'a> {
    pub(super) client_id: &'a str,
    pub(super) client_secret: &'a str,
    pub(super) redirect_uri: &'a str,
    pub(super) code: &'a str,
    pub(super) verifier: &'a str,
}

impl Exchange<'_> {
    fn form(&self, with_secret: bool) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", self.code)
            .append_pair("redirect_uri", self.redirect_uri)
            .append_pair("code_verifier", self.verifier);
        if with_secret {
            form.append_pair("client_id", self.client_id)
                .append_pair("client_secret", self.client_secret);
        }
        form.finish()
    }
}

/// What a code was worth.
#[derive(Deserialize)]
pub(super) struct Tokens {
    pub(super) id_token: String,
    pub(super) access_token: Option<String>,
}

impl Provider {
    pub(super) fn new(issuer: &str) -> Result<Self, String> {
        // A second process-wide provider of cryptography is refused and does no harm.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .retry(reqwest::retry::never())
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(3))
            .timeout(Duration::from_secs(5))
            .user_agent(concat!("onceover/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self { client, issuer: issuer.to_owned(), state: Mutex::default() })
    }

    /// The provider's description.
    pub(super) async fn metadata(&self) -> Result<Arc<Metadata>, Fault> {
        Ok(self.known().await?.metadata)
    }

    /// Checks a token's signature; reads the keys anew, once a minute at most, where it names one that
    /// is not there.
    pub(super) async fn verify(&self, token: &Token<'_>) -> Result<(), Fault> {
        let known = self.known().await?;
        let mut checked = token.verify(&known.keys);
        if checked == Err(Unsigned::UnknownKey) {
            let newer = self.renewed(&known).await?;
            checked = token.verify(&newer);
        }
        checked.map_err(|unsigned| {
            Fault::Token(match unsigned {
                Unsigned::UnknownKey => "is signed by a key that the provider does not have",
                Unsigned::Wrong => "is not signed by the provider",
            })
        })
    }

    /// Turns a code into tokens.
    pub(super) async fn exchange(
        &self,
        metadata: &Metadata,
        with: &Exchange<'_>,
    ) -> Result<Tokens, Fault> {
        let mut request = self
            .client
            .post(metadata.token.clone())
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json");
        if metadata.basic {
            // RFC 6749, 2.3.1: both are encoded like a form's values first.
            let encoded = |text: &str| -> String {
                form_urlencoded::byte_serialize(text.as_bytes()).collect()
            };
            request =
                request.basic_auth(encoded(with.client_id), Some(encoded(with.client_secret)));
        }
        let (status, body) = ask(request.body(with.form(!metadata.basic))).await?;
        if !status.is_success() {
            return Err(Fault::Declined(error_word(&body)));
        }
        serde_json::from_slice(&body).map_err(|_| Fault::Token("was not sent"))
    }

    /// The claims that stand at the provider for an access token.
    pub(super) async fn userinfo(
        &self,
        metadata: &Metadata,
        access_token: &str,
    ) -> Result<Option<Claims>, Fault> {
        let Some(place) = &metadata.userinfo else { return Ok(None) };
        let request = self.client.get(place.clone()).bearer_auth(access_token);
        let body = read(request.header("accept", "application/json")).await?;
        let unread = |_| Fault::Unavailable("its claims cannot be read".to_owned());
        serde_json::from_slice(&body).map(Some).map_err(unread)
    }

    async fn known(&self) -> Result<Known, Fault> {
        let mut state = self.state.lock().await;
        if let Some(known) = &state.known
            && known.read_at.elapsed() < KEPT
        {
            return Ok(known.clone());
        }
        if let Some((at, words)) = &state.failed
            && at.elapsed() < LEFT_ALONE
        {
            return Err(Fault::Unavailable(words.clone()));
        }
        match self.read_all().await {
            Ok(known) => {
                state.failed = None;
                Ok(state.known.insert(known).clone())
            }
            Err(fault) => {
                state.failed = Some((Instant::now(), fault.to_string()));
                Err(fault)
            }
        }
    }

    async fn read_all(&self) -> Result<Known, Fault> {
        let description = read(self.client.get(address(&self.issuer))).await?;
        let metadata = Arc::new(Metadata::read(&description, &self.issuer)?);
        let keys = self.read_keys(&metadata).await?;
        Ok(Known { metadata, keys, read_at: Instant::now(), renewed_at: None })
    }

    async fn read_keys(&self, metadata: &Metadata) -> Result<Arc<Keys>, Fault> {
        let document = read(self.client.get(metadata.keys.clone())).await?;
        match Keys::read(&document) {
            Some(keys) if !keys.is_empty() => Ok(Arc::new(keys)),
            _ => Err(Fault::Unavailable("it has no key that can be used".to_owned())),
        }
    }

    /// A newer set of keys than the one seen, where one was or may be read.
    async fn renewed(&self, seen: &Known) -> Result<Arc<Keys>, Fault> {
        let mut state = self.state.lock().await;
        let Some(known) = &mut state.known else { return Ok(Arc::clone(&seen.keys)) };
        let just_read = known.renewed_at.is_some_and(|at| at.elapsed() < RENEWED_EACH);
        if just_read || !Arc::ptr_eq(&known.keys, &seen.keys) {
            return Ok(Arc::clone(&known.keys));
        }
        known.renewed_at = Some(Instant::now());
        known.keys = self.read_keys(&known.metadata).await?;
        Ok(Arc::clone(&known.keys))
    }
}

/// A successful answer's body.
async fn read(request: RequestBuilder) -> Result<Vec<u8>, Fault> {
    let (status, body) = ask(request).await?;
    if status == StatusCode::OK {
        Ok(body)
    } else {
        Err(Fault::Unavailable(format!("it answered {}", status.as_u16())))
    }
}

async fn ask(request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), Fault> {
    let broken = |error: reqwest::Error| {
        Fault::Unavailable(if error.is_timeout() {
            "it did not answer in time".to_owned()
        } else if error.is_connect() {
            "it cannot be reached".to_owned()
        } else {
            "the exchange with it broke".to_owned()
        })
    };
    let mut response = request.send().await.map_err(broken)?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > MAX_BYTES {
            return Err(Fault::Unavailable("its answer is too long".to_owned()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((response.status(), body))
}

/// The code of an OAuth error, if it is one.
fn error_word(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Answer {
        error: String,
    }
    let answer = serde_json::from_slice::<Answer>(body).ok();
    plain_word(answer.as_ref().map_or("", |answer| &answer.error))
}

/// A word that may stand in the log, whoever sent it.
pub(super) fn plain_word(word: &str) -> String {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if plain && !word.is_empty() && word.len() <= MAX_WORD {
        word.to_owned()
    } else {
        "an error without a name".to_owned()
    }
}
