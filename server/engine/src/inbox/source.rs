//! A broker as a source of messages: a durable pull consumer on a stream of NATS `JetStream`.
//!
//! A delivery is acknowledged only after the transaction that took it in has committed, so a crash
//! in between costs a redelivery, which the inbox knows. What fails comes again later; what is dead,
//! quarantined or reused is on record here and need not come any more.

use std::time::Duration;

use async_nats::jetstream::{self, AckKind, consumer::pull};
use chrono::{DateTime, Utc};
use domain::{
    ids::TenantId,
    inbox::{
        InboxState, MAX_CONSUMER_CHARS, MAX_MESSAGE_ID_CHARS, MAX_SOURCE_CHARS, PROVIDER_PREFIX,
    },
    json::Json,
    problem::Code,
};
use futures_util::StreamExt as _;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::{
    effect::Effect,
    message::{Incoming, named},
};
use crate::{Engine, actor::Actor, error::EngineError, settings::Limits, store::tenant};

pub use crate::settings::InboxSource;

/// Messages asked for at a time; their time to be acknowledged runs from then on.
const BATCH: usize = 16;
/// How long one request for messages stands.
const EXPIRES: Duration = Duration::from_secs(30);
/// How often the broker says that it is there while nothing comes.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(5);
/// The longest pause before a failed delivery comes again.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// The header by which a publisher gives an operation's key.
const KEY_HEADER: &str = "Idempotency-Key";

/// Why a source stops. Whoever drives it begins again after a pause.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The broker does not do what was asked of it.
    #[error("the broker of source {source_name}: {doing}")]
    Broker {
        /// The source's name.
        source_name: String,
        /// What failed.
        doing: &'static str,
        /// Why.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It cannot work as it is configured.
    #[error("the source {0} cannot be used: {1}")]
    Settings(String, String),
    /// The database's.
    #[error("the source {0} cannot be set up")]
    Engine(String, #[source] EngineError),
}

/// What is to be told to the broker about a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Taken in, now or before.
    Acknowledge,
    /// Not taken in; to come again after a pause.
    Later(Duration),
    /// On record as dead, quarantined or in conflict: a person decides, the broker need not.
    Terminate,
}

/// A message that the broker delivered and that is not acknowledged yet.
pub struct Delivery {
    message: jetstream::Message,
}

/// A connected source.
pub struct Source {
    engine: Engine,
    settings: InboxSource,
    tenant: TenantId,
    client: async_nats::Client,
    messages: pull::Stream,
}

impl Source {
    /// Connects, and makes the durable consumer where the stream has none of its name.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn connect(engine: &Engine, settings: &InboxSource) -> Result<Self, SourceError> {
        let unusable = |why: String| SourceError::Settings(settings.name.clone(), why);
        check(settings, &engine.settings.limits).map_err(|error| unusable(error.to_string()))?;
        let tenant = tenant_of(engine, &settings.tenant)
            .await
            .map_err(|error| SourceError::Engine(settings.name.clone(), error))?
            .ok_or_else(|| unusable(format!("there is no tenant {}", settings.tenant)))?;
        let client = async_nats::ConnectOptions::new()
            .name(format!("onceover {}", settings.name))
            .connection_timeout(CONNECT)
            .connect(&settings.url)
            .await
            .map_err(|error| settings.failed("it cannot be reached", error))?;
        let stream = jetstream::new(client.clone())
            .get_stream(&settings.stream)
            .await
            .map_err(|error| settings.failed("the stream cannot be had", error))?;
        let wanted = pull::Config {
            durable_name: Some(settings.durable.clone()),
            filter_subject: settings.subject.clone(),
            ack_wait: settings.ack_wait,
            ..pull::Config::default()
        };
        let consumer = stream
            .get_or_create_consumer(&settings.durable, wanted)
            .await
            .map_err(|error| settings.failed("the consumer cannot be had", error))?;
        let filter = &consumer.cached_info().config.filter_subject;
        if *filter != settings.subject {
            return Err(unusable(format!(
                "the consumer {} is there and filters {filter:?}, not {:?}",
                settings.durable, settings.subject
            )));
        }
        let messages = consumer
            .stream()
            .max_messages_per_batch(BATCH)
            .expires(EXPIRES)
            .heartbeat(HEARTBEAT)
            .messages()
            .await
            .map_err(|error| settings.failed("no messages can be asked for", error))?;
        Ok(Self { engine: engine.clone(), settings: settings.clone(), tenant, client, messages })
    }

    /// Takes messages in until the stop, or until the broker fails. A message that has begun is
    /// finished: the stop is looked for between messages only.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) -> Result<(), SourceError> {
        while !*stop.borrow() {
            let delivery = tokio::select! {
                delivery = self.next() => delivery?,
                stopped = stop.wait_for(|stopped| *stopped) => {
                    drop(stopped);
                    break;
                }
            };
            let verdict = self.take(&delivery).await;
            self.answer(&delivery, verdict).await?;
        }
        self.client
            .flush()
            .await
            .map_err(|error| self.settings.failed("it was not told all", error))
    }

    /// The next delivery; waits for one.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn next(&mut self) -> Result<Delivery, SourceError> {
        match self.messages.next().await {
            Some(Ok(message)) => Ok(Delivery { message }),
            Some(Err(error)) => Err(self.settings.failed("messages stopped", error)),
            None => Err(self.settings.failed("messages ended", "the stream was closed")),
        }
    }

    /// Takes a delivery in; says what to tell the broker. Nothing is told yet.
    pub async fn take(&self, delivery: &Delivery) -> Verdict {
        let (incoming, tries) = match self.incoming(delivery) {
            Ok(incoming) => incoming,
            Err(error) => {
                tracing::error!(source = self.settings.name, %error, "a delivery cannot be read");
                return Verdict::Later(MAX_PAUSE);
            }
        };
        let message_id = incoming.message_id.clone();
        match self.engine.take_in(incoming).await {
            Ok(taken) if taken.received.state.needs_person() => {
                tracing::warn!(
                    source = self.settings.name,
                    message_id,
                    state = InboxState::label(taken.received.state),
                    "a message waits for a person"
                );
                Verdict::Terminate
            }
            Ok(_) => Verdict::Acknowledge,
            Err(error) if error.refusal().code == Code::MessageReused => {
                tracing::warn!(
                    source = self.settings.name,
                    message_id,
                    "a message id came with another content; the conflict is on record"
                );
                Verdict::Terminate
            }
            Err(error) => {
                if error.is_fault() {
                    tracing::error!(source = self.settings.name, message_id, error = ?error, "a delivery failed");
                }
                Verdict::Later(self.settings.pause(tries))
            }
        }
    }

    /// Tells the broker.
    ///
    /// # Errors
    /// [`SourceError`]; the delivery then comes again, and is known.
    pub async fn answer(&self, delivery: &Delivery, verdict: Verdict) -> Result<(), SourceError> {
        let kind = match verdict {
            Verdict::Acknowledge => AckKind::Ack,
            Verdict::Later(pause) => AckKind::Nak(Some(pause)),
            Verdict::Terminate => AckKind::Term,
        };
        let told = delivery.message.ack_with(kind).await;
        told.map_err(|error| SourceError::Broker {
            source_name: self.settings.name.clone(),
            doing: "it cannot be told",
            cause: error,
        })
    }

    /// The delivery as a message, and how often it came.
    fn incoming(
        &self,
        delivery: &Delivery,
    ) -> Result<(Incoming, i64), Box<dyn std::error::Error + Send + Sync>> {
        let info = delivery.message.info()?;
        let header = |name: &str| {
            let headers = delivery.message.headers.as_ref()?;
            Some(headers.get(name)?.as_str().to_owned())
        };
        let given = header(async_nats::header::NATS_MESSAGE_ID.as_ref());
        let message_id = match given {
            None => format!("{}:{}", info.stream, info.stream_sequence),
            Some(id) if named("id", &id, MAX_MESSAGE_ID_CHARS).is_ok() => id,
            // Longer than a name may be, or not to be read: the same id is the same name still.
            Some(id) => format!("sha256:{}", hex::encode(Sha256::digest(id))),
        };
        let effect = match &self.settings.operation {
            None => None,
            Some(operation) => {
                let asked =
                    json!({ "operation": { "operation": operation, "key": header(KEY_HEADER) } });
                let bytes = asked.to_string().into_bytes();
                let asked = Json::parse(&bytes)?;
                Some((bytes, asked))
            }
        };
        let nanos = i64::try_from(info.published.unix_timestamp_nanos())?;
        let produced_at: DateTime<Utc> = DateTime::from_timestamp_nanos(nanos);
        let payload = delivery.message.payload.to_vec();
        let incoming = Incoming {
            tenant: self.tenant,
            consumer: self.settings.consumer.clone(),
            source: format!("nats:{}", info.stream),
            message_id,
            produced_at,
            content: Json::parse(&payload).ok(),
            payload,
            effect,
            actor: Actor::new("source", &self.settings.name),
        };
        Ok((incoming, info.delivered))
    }
}

/// What a source must be before anything is connected.
fn check(settings: &InboxSource, limits: &Limits) -> Result<(), EngineError> {
    named("consumer", &settings.consumer, MAX_CONSUMER_CHARS)?;
    named("stream", &settings.stream, MAX_SOURCE_CHARS - "nats:".len())?;
    named("durable", &settings.durable, MAX_CONSUMER_CHARS)?;
    if settings.consumer.starts_with(PROVIDER_PREFIX) {
        return Err(EngineError::field(
            Code::Unprocessable,
            "consumer",
            format!("consumers that begin with {PROVIDER_PREFIX} belong to the engine"),
        ));
    }
    let Some(operation) = &settings.operation else { return Ok(()) };
    let asked = json!({ "operation": { "operation": operation } }).to_string();
    match Effect::parse(asked.as_bytes())? {
        Effect::Operation(effect) => effect.check_names(limits),
        Effect::Workflow(_) | Effect::Webhook(_) => Ok(()),
    }
}

async fn tenant_of(engine: &Engine, slug: &str) -> Result<Option<TenantId>, EngineError> {
    let mut db = engine.pools.engine().acquire().await?;
    tenant::find(&mut db, slug).await
}

impl InboxSource {
    fn failed(
        &self,
        doing: &'static str,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> SourceError {
        SourceError::Broker { source_name: self.name.clone(), doing, cause: cause.into() }
    }

    /// The pause after so many tries: doubles from the first, at most a minute.
    fn pause(&self, tries: i64) -> Duration {
        let doublings = u32::try_from(tries.clamp(1, 10) - 1).unwrap_or_default();
        self.first_pause.saturating_mul(1 << doublings).min(MAX_PAUSE)
    }
}
