//! Brokers whose messages come in, each written as one address:
//! `orders=nats://host:4222/STREAM?subject=orders.>&durable=onceover&tenant=acme&consumer=billing`.

use std::time::Duration;

use engine::InboxSource;
use url::Url;

use super::{ConfigError, checks};

const KEY: &str = "ONCEOVER_INBOX_SOURCES";
/// The longest that a delivery may take before it comes again, in milliseconds: an hour.
const MAX_ACK_WAIT_MS: u64 = 3_600_000;

/// Reads the sources; never repeats an address, which may carry a password.
pub(super) fn inbox_sources(pairs: Vec<(String, String)>) -> Result<Vec<InboxSource>, ConfigError> {
    let mut sources: Vec<InboxSource> = Vec::new();
    for (name, text) in pairs {
        let source = read(name, &text)?;
        // Messages are known by tenant, consumer and stream: two sources of the same would each
        // take the other's messages for its own.
        let address = |source: &InboxSource| {
            (source.tenant.clone(), source.consumer.clone(), source.stream.clone())
        };
        if let Some(other) = sources
            .iter()
            .find(|other| other.name == source.name || address(other) == address(&source))
        {
            return Err(ConfigError::new(
                KEY,
                format!(
                    "names {} and {} for one tenant, consumer and stream",
                    other.name, source.name
                ),
            ));
        }
        sources.push(source);
    }
    Ok(sources)
}

fn read(name: String, text: &str) -> Result<InboxSource, ConfigError> {
    let unfit = |fault: &str| ConfigError::new(KEY, format!("for {name}: {fault}"));
    let mut url = Url::parse(text).map_err(|_| unfit("is no address"))?;
    checks::password_in(KEY, text)?;
    if !matches!(url.scheme(), "nats" | "tls") || !url.has_host() {
        return Err(unfit("is an address such as nats://host:4222/STREAM?subject=…"));
    }
    let stream = url.path().trim_start_matches('/').to_owned();
    if stream.is_empty() || stream.contains(['/', '.', '*', '>', ' ', '%']) {
        return Err(unfit("its path is the stream's name"));
    }
    let mut subject = None;
    let mut durable = None;
    let mut tenant = None;
    let mut consumer = None;
    let mut operation = None;
    let mut ack_wait_ms = 30_000;
    for (field, value) in url.query_pairs() {
        let value = Some(value.into_owned()).filter(|value| !value.is_empty());
        match field.as_ref() {
            "subject" => subject = value,
            "durable" => durable = value,
            "tenant" => tenant = value,
            "consumer" => consumer = value,
            "operation" => operation = value,
            "ack_wait_ms" => {
                ack_wait_ms = value
                    .and_then(|value| value.parse().ok())
                    .filter(|ms| (1_000..=MAX_ACK_WAIT_MS).contains(ms))
                    .ok_or_else(|| unfit("ack_wait_ms lies between 1000 and 3600000"))?;
            }
            other => return Err(unfit(&format!("has no setting {other}"))),
        }
    }
    let required = |field: &str, value: Option<String>| {
        value.ok_or_else(|| unfit(&format!("{field} is missing")))
    };
    let source = InboxSource {
        subject: required("subject", subject)?,
        durable: required("durable", durable)?,
        tenant: required("tenant", tenant)?,
        consumer: required("consumer", consumer)?,
        url: {
            url.set_path("");
            url.set_query(None);
            url.set_fragment(None);
            url.to_string()
        },
        name,
        stream,
        operation,
        ack_wait: Duration::from_millis(ack_wait_ms),
        first_pause: Duration::from_secs(1),
    };
    Ok(source)
}
