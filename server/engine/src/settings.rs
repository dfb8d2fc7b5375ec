//! What the engine needs to know from outside, and the limits that it and its doors hold.

use std::{fmt, path::PathBuf, time::Duration};

use domain::{evidence::MAX_FILE_BYTES, idempotency::MAX_KEY_CHARS, outbox::MAX_ATTEMPTS};

use crate::definition::{Definition, MAX_ARTIFACT_BYTES};

/// Settings of one process.
#[derive(Clone)]
pub struct Settings {
    /// The database; its user must be a member of `onceover_app` and `onceover_engine`.
    pub database_url: String,
    /// Connections for services and workers.
    pub engine_connections: u32,
    /// Connections for the console, kept apart so that neither starves the other (R16).
    pub console_connections: u32,
    /// Where providers answer, by the name that an operation kind gives.
    pub providers: Vec<ProviderEndpoint>,
    /// Secrets of signed webhooks, by provider name.
    pub webhook_secrets: Vec<(String, String)>,
    /// Brokers whose messages come in.
    pub inbox_sources: Vec<InboxSource>,
    /// Key of the hashes under which masked search terms are kept.
    pub search_secret: Vec<u8>,
    /// Key under which the secrets of second factors are sealed; `None`: one made of the search secret.
    pub factor_secret: Option<Vec<u8>>,
    /// The workflows that this process can carry out; it leaves every other alone (D32, D33).
    pub workflows: Vec<Definition>,
    /// This process's name as a holder of leases, such as `w-3`.
    pub worker_name: String,
    /// How much is taken and kept.
    pub limits: Limits,
    /// Where events are told; the first whose topics fit takes an event. The same in each process.
    pub destinations: Vec<Destination>,
    /// The console's public address, for the link that an event carries.
    pub console_url: Option<String>,
    /// How long events that were told are kept: the consumers' replay horizon (X9).
    pub event_retention_days: u32,
    /// Where the heads of the audit chains are kept outside the database.
    pub anchors: Anchors,
}

/// Places outside the database that the heads of the audit chains are taken to (T30).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anchors {
    /// A file that lines are added to.
    pub file: Option<PathBuf>,
    /// The name of a destination of events.
    pub destination: Option<String>,
    /// How often, in minutes.
    pub every_minutes: i32,
}

/// How much one process takes and keeps, and how long its sessions last. What goes over a limit is
/// refused with the limit named. The engine holds those of its commands, the HTTP layers those of
/// bodies; each is configurable within bounds that the configuration states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest idempotency key, in Unicode scalar values.
    pub key_chars: usize,
    /// The largest payload after canonicalisation, in bytes.
    pub payload_bytes: usize,
    /// How deep a payload may nest, in levels.
    pub payload_depth: usize,
    /// The most of an answer that is stored, in bytes; cut beyond and marked.
    pub answer_bytes: usize,
    /// Bodies of pages' forms, in bytes.
    pub form_bytes: usize,
    /// Bodies of the JSON API, in bytes.
    pub api_body_bytes: usize,
    /// Bodies of `finish`, which carries a provider's answer, in bytes.
    pub finish_body_bytes: usize,
    /// The most of one artifact, in bytes.
    pub artifact_bytes: usize,
    /// The largest file that a person gives as evidence, in bytes.
    pub evidence_bytes: usize,
    /// Bodies of `checkpoint`, which carries a step's artifacts, in bytes.
    pub checkpoint_body_bytes: usize,
    /// Refusals after which an event is dead (X6).
    pub event_attempts: i32,
    /// The most rows of one page.
    pub page_rows: i64,
    /// The most records of one bulk.
    pub bulk_rows: i64,
    /// How long a frozen set can be started, in hours.
    pub bulk_start_hours: i32,
    /// The widest span of a list, and its default reach, in days.
    pub list_days: i64,
    /// The longest filter or cursor, in characters.
    pub filter_chars: usize,
    /// Streams of changes that the server holds open.
    pub streams: usize,
    /// Streams of changes that a session holds open.
    pub session_streams: usize,
    /// The most rows of one export of a list.
    pub export_rows: i64,
    /// Tries to sign in to one account within a quarter of an hour (T14).
    pub account_tries: i32,
    /// Failed tries to sign in from one address within a quarter of an hour (T14, T40).
    pub address_tries: i32,
    /// Calls of one token in a minute.
    pub token_calls: u32,
    /// Requests of one signed-in person in a minute.
    pub account_calls: u32,
    /// Requests of one address in a minute that come with neither session nor token.
    pub address_calls: u32,
    /// Without a request for so many minutes, a session ends (T11).
    pub session_idle_min: i32,
    /// So many minutes after sign-in a session ends, however busy (T11).
    pub session_absolute_min: i32,
    /// For so many seconds a factor counts for money, reveals and force (T12).
    pub step_up_s: i32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            key_chars: MAX_KEY_CHARS,
            payload_bytes: 256 * 1024,
            payload_depth: 64,
            answer_bytes: 1024 * 1024,
            form_bytes: 64 * 1024,
            api_body_bytes: 1024 * 1024,
            finish_body_bytes: 8 * 1024 * 1024,
            artifact_bytes: MAX_ARTIFACT_BYTES,
            evidence_bytes: MAX_FILE_BYTES,
            checkpoint_body_bytes: 11 * 1024 * 1024,
            event_attempts: MAX_ATTEMPTS,
            page_rows: 200,
            bulk_rows: 50_000,
            bulk_start_hours: 24,
            list_days: 90,
            filter_chars: 2_000,
            streams: 500,
            session_streams: 4,
            export_rows: 10_000,
            account_tries: 5,
            address_tries: 100,
            token_calls: 120_000,
            account_calls: 6_000,
            address_calls: 1_200,
            session_idle_min: 30,
            session_absolute_min: 8 * 60,
            step_up_s: 5 * 60,
        }
    }
}

/// A place that events go to.
#[derive(Clone)]
pub struct Destination {
    /// Its name in lists and breakers.
    pub name: String,
    /// `nats://host:4222/subject.prefix`, an `https` address that takes a POST, or
    /// `smtp://host:port?from=onceover@example.com&to=ops@example.com`; may carry a password.
    pub url: String,
    /// What the topics that it takes begin with; empty: all.
    pub topics: Vec<String>,
    /// A webhook's signing secret, or a broker's token.
    pub secret: Option<String>,
    /// Whether a webhook may lie in a private network, and be plain http.
    pub allow_private: bool,
    /// The short name of the one tenant whose events it takes; `None`: all of them.
    pub tenant: Option<String>,
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Destination")
            .field("name", &self.name)
            .field("topics", &self.topics)
            .field("allow_private", &self.allow_private)
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}

/// One resource of a provider.
#[derive(Clone)]
pub struct ProviderEndpoint {
    /// The name that operation kinds give, such as `payments.charges`.
    pub name: String,
    /// Where the effect is asked for: by POST at `http(s)://…`, or by mail at
    /// `smtp(s)://host:port?from=campaigns@example.com`. With `&recipients=example.com` a payload
    /// without `to` is mailed to its `recipient_id` at that domain. A model is asked at
    /// `model+http(s)://…`.
    pub url: String,
    /// Where lookups are answered by GET. An http provider that names none answers them at `url`,
    /// an smtp provider not at all.
    pub lookup_url: Option<String>,
}

impl fmt::Debug for ProviderEndpoint {
    /// Without the addresses: they may carry a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderEndpoint").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A broker's stream whose messages a consumer takes in.
#[derive(Clone, PartialEq, Eq)]
pub struct InboxSource {
    /// Its name here, for logs and as the actor of what it starts.
    pub name: String,
    /// The broker's address; may carry a user and a password.
    pub url: String,
    /// The stream. Messages are known by its name, so it names one stream for good.
    pub stream: String,
    /// Which subjects of the stream.
    pub subject: String,
    /// The durable consumer's name at the broker.
    pub durable: String,
    /// The tenant's short name.
    pub tenant: String,
    /// The inbox consumer, whose policy holds.
    pub consumer: String,
    /// The kind of the operation that each message starts, with the message as its payload; `None`
    /// records it alone.
    pub operation: Option<String>,
    /// How long a delivery may take before it comes again; no shorter than its transaction.
    pub ack_wait: Duration,
    /// The pause before a failed delivery comes again, doubled at each failure.
    pub first_pause: Duration,
}

impl fmt::Debug for InboxSource {
    /// Without the address: it may carry a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InboxSource")
            .field("name", &self.name)
            .field("stream", &self.stream)
            .field("subject", &self.subject)
            .field("tenant", &self.tenant)
            .field("consumer", &self.consumer)
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}
