//! Lists as files: CSV and JSON, sent batch by batch as fast as they are taken.
//!
//! Guards against a file that is only a part: what would be too large is refused before the first byte,
//! and what fails on the way breaks the connection off, so that no browser calls it complete. And against
//! cells that a spreadsheet runs (T35).

use std::{io, ops::Range};

use app::location::Asked;
use axum::{
    Extension,
    body::{Body, Bytes},
    extract::{Path, RawQuery, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use domain::{
    csv::defuse,
    export::Exported,
    listing::List,
    problem::Code,
    view::{
        ApprovalView, AuditRow, ConflictRow, EventRow, IncidentRow, LeaseRow, MessageRow,
        OperationRow, WorkflowRow,
    },
};
use engine::{
    Engine, StaffCaller,
    console::{Export, ExportedRows, MAX_BATCH},
};
use futures_util::stream;
use serde::Serialize;
use serde_json::json;

use crate::{refusal::Refused, router::AppState, views::bad_part};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// How an export is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Cells, for spreadsheets.
    Csv,
    /// The rows as the JSON API gives them.
    Json,
}

impl Format {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }

    const fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Json => "application/json",
        }
    }

    /// Reads the word of an address.
    pub(crate) fn read(word: Option<&str>) -> Result<Self, Refused> {
        match word {
            Some("csv") => Ok(Self::Csv),
            Some("json") => Ok(Self::Json),
            _ => {
                let refused = Refused::code(Code::FilterInvalid).field("format");
                Err(refused.detail("An export is csv or json."))
            }
        }
    }
}

/// `GET /export/{list}?format=csv|json` and the list's own filters: what its page shows, all of it.
///
/// # Errors
/// `cross_site` for a request that another site's page made: it would leave a row in the audit log;
/// `not_found` for what is no list; the engine's refusals.
pub async fn download(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    Path(list): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let from = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    if from.is_some_and(|site| site != b"same-origin" && site != b"none") {
        return Err(Refused::code(Code::CrossSite));
    }
    let list: List = list.parse().map_err(|_| Refused::code(Code::NotFound))?;
    let asked = Asked::read(list.path(), query.as_deref().unwrap_or_default());
    let format = Format::read(asked.value("format"))?;
    let mut parts = asked.parts().map_err(bad_part)?;
    parts.retain(|(name, _)| name != "format");
    export(&state.engine, by, list, parts, format).await
}

/// Grants an export and begins to send it.
pub(crate) async fn export(
    engine: &Engine,
    by: StaffCaller,
    list: List,
    parts: Vec<(String, String)>,
    format: Format,
) -> Result<Response, Refused> {
    let export = engine.begin_export(&by, list, parts, format.as_str()).await?;
    let day = export.as_of().format("%Y-%m-%d");
    let name = format!("attachment; filename=\"{list}-{day}.{}\"", format.as_str());
    let mut response =
        Body::from_stream(batches(engine.clone(), by, export, format)).into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, format.media_type()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(name) = HeaderValue::try_from(name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// The file in pieces: its beginning, a batch of rows at a time, its end. Nothing is read before the
/// piece before it was taken.
fn batches(
    engine: Engine,
    by: StaffCaller,
    export: Export,
    format: Format,
) -> impl futures_util::Stream<Item = Result<Bytes, io::Error>> {
    let state = (engine, by, export, Some(0));
    stream::try_unfold(state, move |(engine, by, export, from)| async move {
        let Some(from) = from else { return Ok(None) };
        let rows = export.rows();
        let to = rows.min(from + MAX_BATCH);
        let piece = piece(&engine, &by, &export, format, from..to).await.map_err(|error| {
            tracing::error!(request.id = by.request_id(), %error, "an export broke off");
            io::Error::other("the export broke off")
        })?;
        let next = (to < rows).then_some(to);
        Ok(Some((piece, (engine, by, export, next))))
    })
}

/// Why an export broke off.
#[derive(Debug, thiserror::Error)]
enum BrokeOff {
    #[error("the rows could not be read: {0}")]
    Engine(#[from] engine::EngineError),
    #[error("the rows could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the rows could not be written as CSV: {0}")]
    Csv(#[from] csv::Error),
}

async fn piece(
    engine: &Engine,
    by: &StaffCaller,
    export: &Export,
    format: Format,
    part: Range<usize>,
) -> Result<Bytes, BrokeOff> {
    let (first, last) = (part.start == 0, part.end == export.rows());
    let rows = engine.export_batch(by, export, part).await?;
    let mut out = Vec::new();
    match format {
        Format::Csv => cells(&mut out, &rows, first)?,
        Format::Json => {
            if first {
                let head = json!({ "list": export.list().as_str(), "as_of": export.as_of() });
                let head = head.to_string();
                out.extend_from_slice(head.trim_end_matches('}').as_bytes());
                out.extend_from_slice(b",\"items\":[");
            }
            values(&mut out, &rows, first)?;
            if last {
                out.extend_from_slice(b"]}\n");
            }
        }
    }
    Ok(out.into())
}

/// Runs a function over the rows, whatever they are of.
macro_rules! each {
    ($rows:expr, $function:ident($($argument:expr),*)) => {
        match $rows {
            ExportedRows::Operations(rows) => $function::<OperationRow>(rows, $($argument),*),
            ExportedRows::Workflows(rows) => $function::<WorkflowRow>(rows, $($argument),*),
            ExportedRows::Outbox(rows) => $function::<EventRow>(rows, $($argument),*),
            ExportedRows::Inbox(rows) => $function::<MessageRow>(rows, $($argument),*),
            ExportedRows::Conflicts(rows) => $function::<ConflictRow>(rows, $($argument),*),
            ExportedRows::Leases(rows) => $function::<LeaseRow>(rows, $($argument),*),
            ExportedRows::Approvals(rows) => $function::<ApprovalView>(rows, $($argument),*),
            ExportedRows::Incidents(rows) => $function::<IncidentRow>(rows, $($argument),*),
            ExportedRows::Audit(rows) => $function::<AuditRow>(rows, $($argument),*),
        }
    };
}

fn cells(out: &mut Vec<u8>, rows: &ExportedRows, first: bool) -> Result<(), csv::Error> {
    fn write<R: Exported>(rows: &[R], out: &mut Vec<u8>, first: bool) -> Result<(), csv::Error> {
        // Lines end as RFC 4180 has them, whatever stands in a cell is quoted where it must be.
        let mut writer =
            csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        if first {
            writer.write_record(R::COLUMNS)?;
        }
        for row in rows {
            writer.write_record(row.cells().iter().map(|cell| defuse(cell).into_owned()))?;
        }
        writer.flush()?;
        Ok(())
    }
    each!(rows, write(out, first))
}

fn values(out: &mut Vec<u8>, rows: &ExportedRows, first: bool) -> Result<(), serde_json::Error> {
    fn write<R: Serialize>(
        rows: &[R],
        out: &mut Vec<u8>,
        first: bool,
    ) -> Result<(), serde_json::Error> {
        for (place, row) in rows.iter().enumerate() {
            if !(first && place == 0) {
                out.push(b',');
            }
            out.push(b'\n');
            serde_json::to_writer(&mut *out, row)?;
        }
        Ok(())
    }
    each!(rows, write(out, first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(reason: &str) -> AuditRow {
        AuditRow {
            id: 7,
            at: "2026-11-29T18:00:00Z".parse().unwrap(),
            actor_kind: "staff".into(),
            actor: "ann@acme.test".into(),
            verb: "confirm".into(),
            target_type: "operation".into(),
            target: "t".into(),
            denied: false,
            code: None,
            reason: Some(reason.into()),
            before: None,
            after: None,
            receipt: None,
            bulk: None,
            request_id: "r".into(),
            client: None,
        }
    }

    fn written(reason: &str) -> csv::StringRecord {
        let mut out = Vec::new();
        cells(&mut out, &ExportedRows::Audit(vec![entry(reason)]), true).unwrap();
        let mut reader = csv::Reader::from_reader(out.as_slice());
        assert_eq!(reader.headers().unwrap(), AuditRow::COLUMNS);
        reader.records().next().unwrap().unwrap()
    }

    #[test]
    fn a_cell_comes_back_whole_and_never_begins_as_a_formula() {
        for reason in ["plain", "a \"quoted\" word", "two\r\nlines", "comma, semicolon; tab\t"] {
            assert_eq!(&written(reason)[9], reason);
        }
        for reason in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\u{ff1d}1", "\u{ff20}x"] {
            assert_eq!(written(reason)[9], format!("'{reason}"));
        }
    }

    #[test]
    fn pieces_of_json_make_one_array() {
        let rows = ExportedRows::Audit(vec![entry("a"), entry("b")]);
        let mut out = b"[".to_vec();
        values(&mut out, &rows, true).unwrap();
        values(&mut out, &rows, false).unwrap();
        out.push(b']');
        let read: Vec<AuditRow> = serde_json::from_slice(&out).unwrap();
        assert_eq!(read.len(), 4);
    }
}
