//! An incident's report as a file: Markdown, JSON or CSV, each with the hash of its content and of
//! itself.
//!
//! The content hash is the same for every reader of one state of an incident. The file's own hash also
//! covers who took it and when, so that nothing in the file can be changed by the way. Neither is a
//! signature: whoever can write a file can write a hash. What a file is compared with in the end is the
//! audit log, where each one that was taken stands with both.

mod http;
mod markdown;
mod table;
mod verify;

use std::str::FromStr;

use chrono::{DateTime, SecondsFormat, Utc};
use domain::{
    record::RecordType,
    view::{IncidentReport, IncidentStep, SealedReport},
};
use engine::console::{content_hash, sha256};
use serde_json::{Value, json};

pub use http::{download, page_or_file};
pub use verify::{Altered, Unaltered, verify};

/// What a report's JSON says it is.
const NAME: &str = "onceover.incident-report/1";
/// What the last line of a Markdown file begins with.
const FILE_HASH: &str = "File hash: ";
/// What the last line of a CSV file begins with.
const FILE_HASH_CELL: &str = "file_hash,";

/// In which form a report is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Markdown,
    /// For programs.
    Json,
    /// For spreadsheets.
    Csv,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Markdown, Self::Json, Self::Csv];

    /// The word in addresses, and what a file's name ends in.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Json => "json",
            Self::Csv => "csv",
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Json => "application/json",
            Self::Csv => "text/csv; charset=utf-8; header=present",
        }
    }
}

/// A word that is no format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoFormat;

impl FromStr for Format {
    type Err = NoFormat;

    fn from_str(text: &str) -> Result<Self, NoFormat> {
        Self::ALL.into_iter().find(|format| format.as_str() == text).ok_or(NoFormat)
    }
}

/// A report as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The hash that it carries of itself.
    pub file_hash: String,
}

/// Writes a report as a file, taken by this person.
#[must_use]
pub fn write(format: Format, sealed: &SealedReport, by: &str) -> File {
    match format {
        Format::Json => json_file(sealed, by),
        Format::Markdown => {
            sealed_text(markdown::text(sealed, by), |hash| format!("{FILE_HASH}{hash}\n"))
        }
        Format::Csv => {
            let rest = ",".repeat(table::COLUMNS - 2);
            sealed_text(table::text(sealed, by), |hash| format!("{FILE_HASH_CELL}{hash}{rest}\r\n"))
        }
    }
}

/// A text with the hash of its bytes in a last line.
fn sealed_text(mut text: String, line: impl FnOnce(&str) -> String) -> File {
    let file_hash = sha256(text.as_bytes());
    text.push_str(&line(&file_hash));
    File { bytes: text.into_bytes(), file_hash }
}

/// The JSON with the hash of all its other members.
fn json_file(sealed: &SealedReport, by: &str) -> File {
    let mut whole = json!({
        "format": NAME,
        "generated_at": sealed.as_of,
        "generated_by": by,
        "zone": sealed.report.zone,
        "report": sealed.report,
        "content_hash": sealed.content_hash,
    });
    let file_hash = content_hash(whole.to_string().as_bytes()).unwrap_or_default();
    whole["file_hash"] = Value::String(file_hash.clone());
    let mut bytes = format!("{whole:#}").into_bytes();
    bytes.push(b'\n');
    File { bytes, file_hash }
}

/// `2026-11-29T17:52:03.120Z`: an instant in UTC.
fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// What a record is called: its kind and its key, or its id where it has none here.
fn name(report: &IncidentReport, record: RecordType, id: &str) -> String {
    let known =
        report.records.iter().find(|known| known.now.record == record && known.now.id == id);
    let key = known.map_or(id, |known| known.now.key.as_str());
    format!("{} {key}", record.label())
}

/// How many operations an amount is of.
fn operations(count: i64) -> String {
    if count == 1 { "1 operation".to_owned() } else { format!("{count} operations") }
}

/// What a step carries, in one text.
fn carried(step: &IncidentStep) -> String {
    let pairs: Vec<_> =
        step.step.detail.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    pairs.join("; ")
}
