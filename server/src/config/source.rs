//! Where a setting comes from: the environment first, then the file; and the list of all keys.

use std::{fmt::Display, str::FromStr};

use super::Secret;

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One value.
    Value,
    /// One value that is never shown.
    Secret,
    /// Values, separated by commas; in the file an array.
    List,
    /// `name=value`, separated by commas; in the file a table.
    Pairs,
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name in the environment. In the file: the same in lower case without `ONCEOVER_`.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
}

const fn key(name: &'static str, kind: Kind) -> Key {
    Key { name, kind }
}

/// Every key there is.
pub const KEYS: &[Key] = &[
    key("DATABASE_URL", Kind::Secret),
    key("ONCEOVER_ADDR", Kind::Value),
    key("ONCEOVER_AUDIT_ANCHOR_DESTINATION", Kind::Value),
    key("ONCEOVER_AUDIT_ANCHOR_FILE", Kind::Value),
    key("ONCEOVER_AUDIT_ANCHOR_MINUTES", Kind::Value),
    key("ONCEOVER_BODY_SECONDS", Kind::Value),
    key("ONCEOVER_BULK_START_HOURS", Kind::Value),
    key("ONCEOVER_CONFIG", Kind::Value),
    key("ONCEOVER_CONSOLE_CONNECTIONS", Kind::Value),
    key("ONCEOVER_DATA", Kind::Value),
    key("ONCEOVER_DEMO_PASSWORD", Kind::Secret),
    key("ONCEOVER_DEMO_SEED", Kind::Value),
    key("ONCEOVER_DEMO_TRAFFIC", Kind::Value),
    key("ONCEOVER_DESTINATIONS", Kind::List),
    key("ONCEOVER_DESTINATION_SECRETS", Kind::Pairs),
    key("ONCEOVER_DESTINATION_TENANTS", Kind::Pairs),
    key("ONCEOVER_DESTINATION_TOPICS", Kind::List),
    key("ONCEOVER_DRAIN_SECONDS", Kind::Value),
    key("ONCEOVER_ENGINE_CONNECTIONS", Kind::Value),
    key("ONCEOVER_EVENT_RETENTION_DAYS", Kind::Value),
    key("ONCEOVER_FACTOR_SECRET", Kind::Secret),
    key("ONCEOVER_HEADER_SECONDS", Kind::Value),
    key("ONCEOVER_HOSTS", Kind::List),
    key("ONCEOVER_IDLE_SECONDS", Kind::Value),
    key("ONCEOVER_INBOX_SOURCES", Kind::Pairs),
    key("ONCEOVER_LOG", Kind::Value),
    key("ONCEOVER_MAX_ACCOUNT_CALLS", Kind::Value),
    key("ONCEOVER_MAX_ADDRESS_CALLS", Kind::Value),
    key("ONCEOVER_MAX_ADDRESS_CONNECTIONS", Kind::Value),
    key("ONCEOVER_MAX_ANSWER_BYTES", Kind::Value),
    key("ONCEOVER_MAX_API_BODY_BYTES", Kind::Value),
    key("ONCEOVER_MAX_ARTIFACT_BYTES", Kind::Value),
    key("ONCEOVER_MAX_BULK_ROWS", Kind::Value),
    key("ONCEOVER_MAX_CHECKPOINT_BODY_BYTES", Kind::Value),
    key("ONCEOVER_MAX_CONNECTIONS", Kind::Value),
    key("ONCEOVER_MAX_EVENT_ATTEMPTS", Kind::Value),
    key("ONCEOVER_MAX_EVIDENCE_BYTES", Kind::Value),
    key("ONCEOVER_MAX_EXPORT_ROWS", Kind::Value),
    key("ONCEOVER_MAX_FILTER_CHARS", Kind::Value),
    key("ONCEOVER_MAX_FINISH_BODY_BYTES", Kind::Value),
    key("ONCEOVER_MAX_FORM_BYTES", Kind::Value),
    key("ONCEOVER_MAX_HEADER_BYTES", Kind::Value),
    key("ONCEOVER_MAX_KEY_CHARS", Kind::Value),
    key("ONCEOVER_MAX_LIST_DAYS", Kind::Value),
    key("ONCEOVER_MAX_PAGE_ROWS", Kind::Value),
    key("ONCEOVER_MAX_PAYLOAD_BYTES", Kind::Value),
    key("ONCEOVER_MAX_PAYLOAD_DEPTH", Kind::Value),
    key("ONCEOVER_MAX_SESSION_STREAMS", Kind::Value),
    key("ONCEOVER_MAX_STREAMS", Kind::Value),
    key("ONCEOVER_MAX_TOKEN_CALLS", Kind::Value),
    key("ONCEOVER_MIGRATE_URL", Kind::Secret),
    key("ONCEOVER_OIDC_CLIENT_ID", Kind::Value),
    key("ONCEOVER_OIDC_CLIENT_SECRET", Kind::Secret),
    key("ONCEOVER_OIDC_DOMAINS", Kind::List),
    key("ONCEOVER_OIDC_ISSUER", Kind::Value),
    key("ONCEOVER_OIDC_MAX_AGE_MINUTES", Kind::Value),
    key("ONCEOVER_OIDC_NAME", Kind::Value),
    key("ONCEOVER_OIDC_ROLES", Kind::List),
    key("ONCEOVER_OIDC_ROLES_CLAIM", Kind::Value),
    key("ONCEOVER_OIDC_SCOPES", Kind::List),
    key("ONCEOVER_ORIGIN", Kind::Value),
    key("ONCEOVER_PRIVATE_DESTINATIONS", Kind::List),
    key("ONCEOVER_PROVIDERS", Kind::Pairs),
    key("ONCEOVER_PROVIDER_LOOKUPS", Kind::Pairs),
    key("ONCEOVER_SEARCH_SECRET", Kind::Secret),
    key("ONCEOVER_SESSION_ABSOLUTE_MINUTES", Kind::Value),
    key("ONCEOVER_SESSION_IDLE_MINUTES", Kind::Value),
    key("ONCEOVER_SIGN_IN_TRIES", Kind::Value),
    key("ONCEOVER_SIGN_IN_TRIES_OF_ADDRESS", Kind::Value),
    key("ONCEOVER_SITE_ROOT", Kind::Value),
    key("ONCEOVER_STEP_UP_SECONDS", Kind::Value),
    key("ONCEOVER_TLS_CERTIFICATE", Kind::Value),
    key("ONCEOVER_TLS_KEY", Kind::Value),
    key("ONCEOVER_TRUSTED_HOPS", Kind::Value),
    key("ONCEOVER_TRUSTED_PROXY", Kind::Value),
    key("ONCEOVER_WEBHOOK_SECRETS", Kind::Pairs),
    key("ONCEOVER_WORKER_NAME", Kind::Value),
];

/// Names that scripts and tests of this repository use; the program leaves them alone.
const TOOLS: &[&str] = &[
    "ONCEOVER_ADVISORY_DB",
    "ONCEOVER_CHROMIUM",
    "ONCEOVER_DENY_DB",
    "ONCEOVER_E2E_ALL",
    "ONCEOVER_E2E_DEMO",
    "ONCEOVER_E2E_URL",
    "ONCEOVER_PG_BIN",
    "ONCEOVER_STAGES_FILE",
    "ONCEOVER_TEST_PROGRAMS",
    "ONCEOVER_THREATS_FILE",
    "ONCEOVER_WASM",
];

impl Key {
    /// Its name in the file.
    #[must_use]
    pub fn in_file(&self) -> String {
        self.name.trim_start_matches("ONCEOVER_").to_ascii_lowercase()
    }
}

/// A setting that stops the start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} {fault}")]
pub struct ConfigError {
    key: String,
    fault: String,
}

impl ConfigError {
    /// A fault of a key, in words that continue its name.
    #[must_use]
    pub fn new(key: &str, fault: impl Into<String>) -> Self {
        Self { key: key.to_owned(), fault: fault.into() }
    }
}

/// The values of one start.
pub(super) struct Source {
    environment: Vec<(String, String)>,
    file: toml::Table,
}

impl Source {
    pub(super) fn new(
        environment: &[(String, String)],
        file: Option<&str>,
    ) -> Result<Self, ConfigError> {
        let known = |name: &str| KEYS.iter().any(|key| key.name == name) || TOOLS.contains(&name);
        for (name, _) in environment {
            if name.starts_with("ONCEOVER_") && !known(name) {
                return Err(ConfigError::new(
                    name,
                    "is no setting of Onceover; docs/configuration.md lists them all",
                ));
            }
        }
        let file: toml::Table = match file {
            None => toml::Table::new(),
            Some(text) => text.parse().map_err(|error: toml::de::Error| {
                ConfigError::new("ONCEOVER_CONFIG", format!("is not TOML: {}", error.message()))
            })?,
        };
        for name in file.keys() {
            if name == "config" || !KEYS.iter().any(|key| key.in_file() == *name) {
                return Err(ConfigError::new(
                    name,
                    "in the file is no setting of Onceover; docs/configuration.md lists them all",
                ));
            }
        }
        let environment =
            environment.iter().filter(|(_, value)| !value.is_empty()).cloned().collect();
        Ok(Self { environment, file })
    }

    fn in_environment(&self, name: &str) -> Option<&str> {
        self.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn take_from_file(&mut self, name: &str) -> Option<toml::Value> {
        let key = KEYS.iter().find(|key| key.name == name).expect("only keys of the list are read");
        self.file.remove(&key.in_file())
    }

    /// One value as text.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, ConfigError> {
        if let Some(value) = self.in_environment(name) {
            return Ok(Some(value.to_owned()));
        }
        match self.take_from_file(name) {
            None => Ok(None),
            Some(toml::Value::String(text)) => Ok(Some(text)),
            Some(toml::Value::Integer(number)) => Ok(Some(number.to_string())),
            Some(toml::Value::Boolean(flag)) => Ok(Some(flag.to_string())),
            Some(_) => Err(ConfigError::new(
                name,
                "in the file is one value: a text, a number or true/false",
            )),
        }
    }

    pub(super) fn secret(&mut self, name: &str) -> Result<Option<Secret>, ConfigError> {
        Ok(self.text(name)?.map(Secret::new))
    }

    /// One value of a type; `expected` says in plain words what it is.
    pub(super) fn parsed<T: FromStr>(
        &mut self,
        name: &str,
        default: T,
        expected: &str,
    ) -> Result<T, ConfigError> {
        match self.text(name)? {
            None => Ok(default),
            Some(text) => text
                .trim()
                .parse()
                .map_err(|_| ConfigError::new(name, format!("must be {expected}"))),
        }
    }

    /// A whole number within bounds.
    pub(super) fn between<T: FromStr + PartialOrd + Display>(
        &mut self,
        name: &str,
        default: T,
        least: T,
        most: T,
    ) -> Result<T, ConfigError> {
        let expected = format!("a whole number between {least} and {most}");
        let number = self.parsed(name, default, &expected)?;
        if (least..=most).contains(&number) {
            Ok(number)
        } else {
            Err(ConfigError::new(name, format!("must be {expected}")))
        }
    }

    pub(super) fn list(&mut self, name: &str) -> Result<Vec<String>, ConfigError> {
        if let Some(value) = self.in_environment(name) {
            return Ok(split(value).map(str::to_owned).collect());
        }
        match self.take_from_file(name) {
            None => Ok(Vec::new()),
            Some(toml::Value::Array(items)) => items
                .into_iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .ok_or_else(|| ConfigError::new(name, "in the file is an array of texts")),
            Some(_) => Err(ConfigError::new(name, "in the file is an array of texts")),
        }
    }

    pub(super) fn pairs(&mut self, name: &str) -> Result<Vec<(String, String)>, ConfigError> {
        if let Some(value) = self.in_environment(name) {
            return split(value)
                .map(|item| {
                    item.split_once('=')
                        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                })
                .collect::<Option<_>>()
                .ok_or_else(|| {
                    ConfigError::new(name, "is a list of name=value, separated by commas")
                });
        }
        match self.take_from_file(name) {
            None => Ok(Vec::new()),
            Some(toml::Value::Table(table)) => table
                .into_iter()
                .map(|(name, value)| Some((name, value.as_str()?.to_owned())))
                .collect::<Option<_>>()
                .ok_or_else(|| ConfigError::new(name, "in the file is a table of texts")),
            Some(_) => Err(ConfigError::new(name, "in the file is a table of texts")),
        }
    }
}

fn split(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|item| !item.is_empty())
}
