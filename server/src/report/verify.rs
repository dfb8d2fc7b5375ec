//! Whether a report still says what it said when it was written: needs the file and nothing else.

use domain::{idempotency::canonical, json::Json};
use engine::console::sha256;

use super::{FILE_HASH, FILE_HASH_CELL, NAME, table::COLUMNS};

/// A report as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unaltered {
    /// The hash of its content, where the file names it apart.
    pub content_hash: Option<String>,
    /// The hash of the file.
    pub file_hash: String,
}

/// Why a file is not a report as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Altered {
    /// No report, or its end is missing.
    #[error("this is no report of an incident, or its last line is missing")]
    NoReport,
    /// The content is not what its hash says.
    #[error("altered: the content is not what its content hash says")]
    Content,
    /// Something in the file is not what its hash says.
    #[error("altered: the file is not what its file hash says")]
    File,
}

/// Reads a report in any of its formats and computes its hashes again.
///
/// # Errors
/// [`Altered`], with the sentence for whoever asked.
pub fn verify(bytes: &[u8]) -> Result<Unaltered, Altered> {
    if bytes.trim_ascii_start().starts_with(b"{") {
        return json(bytes);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Altered::NoReport)?;
    let comma = ",".repeat(COLUMNS - 2);
    last_line(text, FILE_HASH_CELL, &format!("{comma}\r\n"))
        .or_else(|| last_line(text, FILE_HASH, "\n"))
        .ok_or(Altered::NoReport)
        .and_then(|(body, named)| {
            if sha256(body.as_bytes()) != named {
                return Err(Altered::File);
            }
            Ok(Unaltered { content_hash: content_hash(body), file_hash: named.to_owned() })
        })
}

/// What stands before the last line, and the hash in that line.
fn last_line<'a>(text: &'a str, before: &str, after: &str) -> Option<(&'a str, &'a str)> {
    let line = text.strip_suffix(after)?;
    let start = line.rfind('\n').map_or(0, |at| at + 1);
    let hash = line.get(start..)?.strip_prefix(before)?;
    is_hash(hash).then_some((text.get(..start)?, hash))
}

fn is_hash(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|digits| {
        digits.len() == 64
            && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    })
}

/// The content hash that a text names, for whoever compares it with the audit log.
fn content_hash(body: &str) -> Option<String> {
    let at = body.rfind("sha256:")?;
    let hash = body.get(at..at + "sha256:".len() + 64)?;
    is_hash(hash).then(|| hash.to_owned())
}

fn json(bytes: &[u8]) -> Result<Unaltered, Altered> {
    let Ok(Json::Object(mut members)) = Json::parse(bytes) else { return Err(Altered::NoReport) };
    let text = |members: &[(String, Json)], name: &str| {
        members.iter().find_map(|(known, value)| match value {
            Json::String(text) if known == name => Some(text.clone()),
            _ => None,
        })
    };
    if text(&members, "format").as_deref() != Some(NAME) {
        return Err(Altered::NoReport);
    }
    let file_hash = text(&members, "file_hash").ok_or(Altered::NoReport)?;
    let content_hash = text(&members, "content_hash").ok_or(Altered::NoReport)?;
    let report = members.iter().find(|(name, _)| name == "report").ok_or(Altered::NoReport)?;
    if sha256(canonical(&report.1).as_bytes()) != content_hash {
        return Err(Altered::Content);
    }
    members.retain(|(name, _)| name != "file_hash");
    if sha256(canonical(&Json::Object(members)).as_bytes()) != file_hash {
        return Err(Altered::File);
    }
    Ok(Unaltered { content_hash: Some(content_hash), file_hash })
}
