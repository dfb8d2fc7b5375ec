//! What kinds of record there are, what people call them, and where each stands in the console:
//! one table, so that a queue, an incident and a search link alike.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use uuid::Uuid;

use crate::{
    action::{Subject, TargetType},
    ids::OperationId,
    operation::UnknownWord,
};

/// A kind of record with a page of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordType {
    /// One business effect.
    Operation,
    /// Steps that belong together.
    Workflow,
    /// The undoing of an operation; stands on the page of what it undoes.
    Compensation,
    /// An event to be told.
    Event,
    /// A message that came in.
    Message,
    /// The same key with another payload.
    Conflict,
    /// A request for a second person.
    Approval,
    /// A problem that stays open until a person closes it.
    Incident,
}

impl RecordType {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Operation,
        Self::Workflow,
        Self::Compensation,
        Self::Event,
        Self::Message,
        Self::Conflict,
        Self::Approval,
        Self::Incident,
    ];

    /// The word that people read.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Workflow => "workflow",
            Self::Compensation => "compensation",
            Self::Event => "event",
            Self::Message => "message",
            Self::Conflict => "conflict",
            Self::Approval => "approval",
            Self::Incident => "incident",
        }
    }

    /// The path of its list.
    #[must_use]
    pub const fn list(self) -> &'static str {
        match self {
            Self::Operation | Self::Compensation => "/operations",
            Self::Workflow => "/workflows",
            Self::Event => "/outbox",
            Self::Message => "/inbox",
            Self::Conflict => "/conflicts",
            Self::Approval => "/approvals",
            Self::Incident => "/incidents",
        }
    }

    /// The path of one record. For a compensation give the id of what it undoes.
    #[must_use]
    pub fn href(self, id: &str) -> String {
        format!("{}/{id}", self.list())
    }

    /// The path of one record's own page, by its own id.
    #[must_use]
    pub fn page(self, id: &str) -> String {
        match self {
            Self::Compensation => format!("/compensations/{id}"),
            _ => self.href(id),
        }
    }

    /// What a decision about it names it.
    #[must_use]
    pub const fn target(self) -> TargetType {
        match self {
            Self::Operation => TargetType::Operation,
            Self::Workflow => TargetType::Workflow,
            Self::Compensation => TargetType::Compensation,
            Self::Event => TargetType::Outbox,
            Self::Message => TargetType::Inbox,
            Self::Conflict => TargetType::Conflict,
            Self::Approval => TargetType::Approval,
            Self::Incident => TargetType::Incident,
        }
    }

    /// The kind of record that a decision names; `None` for a kind's policy and a person's role.
    #[must_use]
    pub fn of_target(target: TargetType) -> Option<Self> {
        Self::ALL.into_iter().find(|record| record.target() == target)
    }

    /// Whether it can be gathered into an incident; incidents do not stand in each other.
    #[must_use]
    pub const fn can_be_gathered(self) -> bool {
        !matches!(self, Self::Incident)
    }

    /// Whether people leave notes on it.
    #[must_use]
    pub const fn takes_notes(self) -> bool {
        !matches!(self, Self::Compensation | Self::Approval)
    }
}

impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl FromStr for RecordType {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|record| record.label() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }
}

/// One record by kind and id, written `operation/0199…`: in addresses, forms and the JSON API alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordName {
    /// What kind of record.
    pub record: RecordType,
    /// Its own id.
    pub id: Uuid,
}

impl RecordName {
    /// A record of a kind.
    #[must_use]
    pub const fn new(record: RecordType, id: Uuid) -> Self {
        Self { record, id }
    }
}

impl From<OperationId> for RecordName {
    fn from(id: OperationId) -> Self {
        Self::new(RecordType::Operation, id.uuid())
    }
}

impl From<RecordName> for Subject {
    fn from(name: RecordName) -> Self {
        Self::new(name.record.target(), name.id.hyphenated().to_string())
    }
}

impl fmt::Display for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.record.label(), self.id.hyphenated())
    }
}

impl FromStr for RecordName {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let unknown = || UnknownWord(text.chars().take(80).collect());
        let (record, id) = text.trim().split_once('/').ok_or_else(unknown)?;
        let record = record.parse().map_err(|_| unknown())?;
        Ok(Self { record, id: Uuid::try_parse(id).map_err(|_| unknown())? })
    }
}

impl Serialize for RecordName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RecordName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_text_everywhere() {
        let id = Uuid::from_u128(7);
        for record in RecordType::ALL {
            let name = RecordName::new(record, id);
            assert_eq!(name.to_string().parse(), Ok(name));
            assert_eq!(serde_json::to_string(&name).unwrap(), format!("\"{name}\""));
            assert_eq!(RecordType::of_target(record.target()), Some(record));
        }
        for text in [
            "",
            "operation",
            "operation/",
            "operation/7",
            "lease/00000000-0000-0000-0000-000000000007",
        ] {
            assert!(text.parse::<RecordName>().is_err(), "{text}");
        }
    }
}
