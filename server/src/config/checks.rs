//! What a value must be before the program starts on it (T43).

use std::{net::IpAddr, path::PathBuf};

use engine::{Anchors, Destination, ProviderEndpoint};
use tracing_subscriber::EnvFilter;
use url::Url;

use super::{Config, ConfigError, Secret, source::Source};
use crate::auth::password;

/// The shortest secret, in characters.
const MIN_SECRET: usize = 32;
/// Words that stand in examples, and so in the lists of whoever guesses.
const KNOWN: [&str; 7] =
    ["changeme", "change_me", "change-me", "secret", "password", "example", "default"];

/// Whether a host is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Refuses a secret that can be guessed; never repeats it.
pub(super) fn strong(key: &str, secret: &str) -> Result<(), ConfigError> {
    let lower = secret.to_ascii_lowercase();
    if KNOWN.iter().any(|word| lower.starts_with(word)) {
        return Err(ConfigError::new(key, "holds a value from an example; make one of your own"));
    }
    if secret.chars().count() < MIN_SECRET {
        return Err(ConfigError::new(
            key,
            format!("is too short: {MIN_SECRET} characters at least"),
        ));
    }
    let mut letters: Vec<char> = secret.chars().collect();
    letters.sort_unstable();
    letters.dedup();
    if letters.len() < 8 {
        return Err(ConfigError::new(key, "repeats too few characters to be a secret"));
    }
    Ok(())
}

/// Refuses a password within an address that stands in examples; never repeats it. Its length is
/// the other side's to judge.
pub(super) fn password_in(key: &str, address: &str) -> Result<(), ConfigError> {
    let known = Url::parse(address).ok().and_then(|url| {
        let password = url.password()?.to_ascii_lowercase();
        KNOWN.iter().find(|word| password.starts_with(**word))
    });
    match known {
        Some(_) => {
            Err(ConfigError::new(key, "holds a password from an example; make one of your own"))
        }
        None => Ok(()),
    }
}

pub(super) fn database(key: &str, url: Option<Secret>) -> Result<Option<Secret>, ConfigError> {
    if let Some(url) = &url {
        password_in(key, url.expose())?;
    }
    Ok(url)
}

/// A key of ours that nobody may guess, where it is set.
pub(super) fn secret(source: &mut Source, key: &str) -> Result<Option<Secret>, ConfigError> {
    let secret = source.secret(key)?;
    if let Some(secret) = &secret {
        strong(key, secret.expose())?;
    }
    Ok(secret)
}

pub(super) fn webhook_secrets(
    pairs: Vec<(String, String)>,
) -> Result<Vec<(String, Secret)>, ConfigError> {
    pairs
        .into_iter()
        .map(|(name, secret)| {
            strong("ONCEOVER_WEBHOOK_SECRETS", &secret)?;
            Ok((name, Secret::new(secret)))
        })
        .collect()
}

pub(super) fn demo_password(password: Option<Secret>) -> Result<Option<Secret>, ConfigError> {
    if let Some(password) = &password {
        password::check_strength(password.expose()).map_err(|weak| {
            ConfigError::new("ONCEOVER_DEMO_PASSWORD", format!("cannot be used: {weak}"))
        })?;
    }
    Ok(password)
}

pub(super) fn providers(
    effects: Vec<(String, String)>,
    mut lookups: Vec<(String, String)>,
) -> Result<Vec<ProviderEndpoint>, ConfigError> {
    let is_at = |url: &str, schemes: &[&str]| {
        Url::parse(url).is_ok_and(|url| schemes.contains(&url.scheme()) && url.has_host())
    };
    let mut endpoints = Vec::new();
    for (name, url) in effects {
        password_in("ONCEOVER_PROVIDERS", &url)?;
        if !is_at(&url, &["http", "https", "smtp", "smtps", "model+http", "model+https"]) {
            let why = format!("names no http, smtp or model+http address for {name}");
            return Err(ConfigError::new("ONCEOVER_PROVIDERS", why));
        }
        let lookup = lookups.iter().position(|(known, _)| *known == name);
        let lookup_url = lookup.map(|index| lookups.swap_remove(index).1);
        password_in("ONCEOVER_PROVIDER_LOOKUPS", lookup_url.as_deref().unwrap_or_default())?;
        if lookup_url.as_deref().is_some_and(|url| !is_at(url, &["http", "https"])) {
            let why = format!("names no http address for {name}");
            return Err(ConfigError::new("ONCEOVER_PROVIDER_LOOKUPS", why));
        }
        endpoints.push(ProviderEndpoint { name, url, lookup_url });
    }
    match lookups.first() {
        Some((name, _)) => Err(ConfigError::new(
            "ONCEOVER_PROVIDER_LOOKUPS",
            format!("names {name}, which ONCEOVER_PROVIDERS does not, or names it twice"),
        )),
        None => Ok(endpoints),
    }
}

/// Destinations in the order in which they are written, which is the order in which topics are
/// compared; what the other three keys say of each.
pub(super) fn destinations(source: &mut Source) -> Result<Vec<Destination>, ConfigError> {
    const LIST: &str = "ONCEOVER_DESTINATIONS";
    const TOPICS: &str = "ONCEOVER_DESTINATION_TOPICS";
    const SECRETS: &str = "ONCEOVER_DESTINATION_SECRETS";
    const PRIVATE: &str = "ONCEOVER_PRIVATE_DESTINATIONS";
    const TENANTS: &str = "ONCEOVER_DESTINATION_TENANTS";
    let mut all: Vec<Destination> = Vec::new();
    for item in source.list(LIST)? {
        let (name, url) = item
            .split_once('=')
            .map(|(name, url)| (name.trim().to_owned(), url.trim().to_owned()))
            .ok_or_else(|| ConfigError::new(LIST, "is a list of name=address"))?;
        password_in(LIST, &url)?;
        if all.iter().any(|known| known.name == name) {
            return Err(ConfigError::new(LIST, format!("names {name} twice")));
        }
        all.push(Destination {
            name,
            url,
            topics: Vec::new(),
            secret: None,
            allow_private: false,
            tenant: None,
        });
    }
    let mut named = |key: &str, name: &str, fill: &mut dyn FnMut(&mut Destination)| {
        all.iter_mut()
            .find(|known| known.name == name)
            .map(fill)
            .ok_or_else(|| ConfigError::new(key, format!("names {name}, which is not in {LIST}")))
    };
    for item in source.list(TOPICS)? {
        let (name, topic) = item
            .split_once('=')
            .ok_or_else(|| ConfigError::new(TOPICS, "is a list of name=beginning of a topic"))?;
        named(TOPICS, name.trim(), &mut |known| known.topics.push(topic.trim().to_owned()))?;
    }
    for (name, secret) in source.pairs(SECRETS)? {
        strong(SECRETS, &secret)?;
        named(SECRETS, &name, &mut |known| known.secret = Some(secret.clone()))?;
    }
    for (name, tenant) in source.pairs(TENANTS)? {
        named(TENANTS, &name, &mut |known| known.tenant = Some(tenant.clone()))?;
    }
    for name in source.list(PRIVATE)? {
        named(PRIVATE, &name, &mut |known| known.allow_private = true)?;
    }
    engine::outbox::check(&all).map_err(|error| match error {
        engine::EngineError::Destination(name, fault) => {
            ConfigError::new(LIST, format!("cannot be used: {name}: {fault}"))
        }
        _ => ConfigError::new(LIST, "cannot be used"),
    })?;
    Ok(all)
}

/// Where the heads of the audit chains go: a destination named here takes documents, so it is no mail.
pub(super) fn anchors(
    source: &mut Source,
    destinations: &[Destination],
) -> Result<Anchors, ConfigError> {
    const DESTINATION: &str = "ONCEOVER_AUDIT_ANCHOR_DESTINATION";
    let destination = source.text(DESTINATION)?;
    if let Some(name) = &destination {
        let known = destinations.iter().find(|known| known.name == *name).ok_or_else(|| {
            ConfigError::new(
                DESTINATION,
                "names a destination that is not in ONCEOVER_DESTINATIONS",
            )
        })?;
        if known.url.starts_with("smtp") {
            return Err(ConfigError::new(
                DESTINATION,
                "names one that mails; heads are not mailed",
            ));
        }
    }
    Ok(Anchors {
        file: source.text("ONCEOVER_AUDIT_ANCHOR_FILE")?.map(PathBuf::from),
        destination,
        every_minutes: source.between("ONCEOVER_AUDIT_ANCHOR_MINUTES", 1_440, 1, 10_080)?,
    })
}

pub(super) fn origin(text: &str) -> Result<Url, ConfigError> {
    let wrong = || {
        ConfigError::new(
            "ONCEOVER_ORIGIN",
            "is an address such as https://console.example.com, without a path",
        )
    };
    let url = Url::parse(text).map_err(|_| wrong())?;
    let bare = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if bare { Ok(url) } else { Err(wrong()) }
}

pub(super) fn log(directives: &str) -> Result<(), ConfigError> {
    EnvFilter::try_new(directives).map(drop).map_err(|_| {
        ConfigError::new("ONCEOVER_LOG", "is a filter such as info or onceover=debug,info")
    })
}

/// Sessions travel over TLS, or do not leave the machine.
pub(super) fn transport(config: &Config) -> Result<(), ConfigError> {
    if !config.addr.ip().is_loopback() && !config.trusted_proxy && config.tls.is_none() {
        return Err(ConfigError::new(
            "ONCEOVER_ADDR",
            "is open to other machines over plain http; listen on 127.0.0.1, put a proxy that ends TLS in \
             front and set ONCEOVER_TRUSTED_PROXY=true, or set ONCEOVER_TLS_CERTIFICATE and ONCEOVER_TLS_KEY",
        ));
    }
    match &config.origin {
        None if !config.addr.ip().is_loopback() => Err(ConfigError::new(
            "ONCEOVER_ORIGIN",
            "is not set; it is the https address that people open",
        )),
        Some(origin) if origin.scheme() == "http" && config.tls.is_some() => Err(ConfigError::new(
            "ONCEOVER_ORIGIN",
            "is plain http, but ONCEOVER_TLS_CERTIFICATE is set",
        )),
        Some(origin)
            if origin.scheme() == "http" && !origin.host_str().is_some_and(is_loopback) =>
        {
            Err(ConfigError::new(
                "ONCEOVER_ORIGIN",
                "is plain http on another machine; sessions need https",
            ))
        }
        _ => Ok(()),
    }
}

/// The machine's name and this process's number: unique among those that run now.
pub(super) fn worker_name() -> String {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{machine}-{}", std::process::id())
}
