//! A report for spreadsheets: one table, a row per fact, no cell that runs (T35).

use csv::{Terminator, WriterBuilder};
use domain::{csv::defuse, money::Money, view::SealedReport};

use super::{carried, instant, name, operations};

/// The columns of the table.
const HEAD: [&str; 13] = [
    "part",
    "at",
    "record",
    "id",
    "key",
    "state",
    "amount_minor",
    "currency",
    "rule",
    "who",
    "what",
    "said",
    "receipt",
];
/// How many columns.
pub(super) const COLUMNS: usize = HEAD.len();

/// A row by what it holds.
#[derive(Default)]
struct Row {
    part: &'static str,
    at: String,
    record: &'static str,
    id: String,
    key: String,
    state: String,
    amount: Option<Money>,
    rule: String,
    who: String,
    what: String,
    said: String,
    receipt: String,
}

impl Row {
    fn cells(self) -> [String; COLUMNS] {
        let (minor, currency) = self
            .amount
            .map(|amount| (amount.amount_minor.to_string(), amount.currency))
            .unwrap_or_default();
        let cells = [
            self.part.to_owned(),
            self.at,
            self.record.to_owned(),
            self.id,
            self.key,
            self.state,
            minor,
            currency,
            self.rule,
            self.who,
            self.what,
            self.said,
            self.receipt,
        ];
        cells.map(|cell| defuse(&cell).into_owned())
    }
}

/// The table, up to the hash of the file.
pub(super) fn text(sealed: &SealedReport, by: &str) -> String {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    // Writing into memory does not fail, and every row has the columns of the first.
    let _ = writer.write_record(HEAD);
    for row in rows(sealed, by) {
        let _ = writer.write_record(row.cells());
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

fn rows(sealed: &SealedReport, by: &str) -> Vec<Row> {
    let mut rows = facts(sealed, by);
    rows.extend(records(sealed));
    rows.extend(happened(sealed));
    rows.push(Row {
        part: "seal",
        what: "content hash".into(),
        said: sealed.content_hash.clone(),
        ..Row::default()
    });
    rows
}

fn facts(sealed: &SealedReport, by: &str) -> Vec<Row> {
    let report = &sealed.report;
    let incident = &report.incident;
    let fact = |what: &str, said: String| Row {
        part: "incident",
        what: what.to_owned(),
        said,
        ..Row::default()
    };
    let mut rows = vec![
        Row {
            id: incident.id.to_string(),
            state: incident.status.as_str().to_owned(),
            at: instant(incident.opened_at),
            who: incident.opened_by.clone().unwrap_or_else(|| "the engine".into()),
            ..fact(&incident.summary, report.opened_reason.clone().unwrap_or_default())
        },
        fact("tenant", report.tenant.clone()),
        fact("cause", incident.cause.clone()),
        fact("times", report.zone.clone()),
        Row { at: instant(sealed.as_of), who: by.to_owned(), ..fact("generated", String::new()) },
    ];
    if let Some(at) = incident.closed_at {
        rows.push(Row {
            at: instant(at),
            who: incident.closed_by.clone().unwrap_or_default(),
            ..fact("closed", report.closed_reason.clone().unwrap_or_default())
        });
    }
    for stake in &report.stake {
        let money = |amount_minor| Some(Money { amount_minor, currency: stake.currency.clone() });
        let operations = operations(stake.operations);
        rows.push(Row {
            amount: money(stake.amount_minor),
            ..fact("money at stake", operations.clone())
        });
        rows.push(Row {
            amount: money(stake.unknown_minor),
            state: "unknown".into(),
            ..fact("of it with an unknown outcome", operations)
        });
    }
    for (cut, what) in [
        (report.timeline_cut, "timeline"),
        (report.decisions_cut, "decisions"),
        (report.notes_cut, "notes"),
    ] {
        if cut {
            rows.push(fact(what, "more is on record than a report holds".into()));
        }
    }
    rows
}

fn records(sealed: &SealedReport) -> impl Iterator<Item = Row> {
    sealed.report.records.iter().map(|record| {
        let now = &record.now;
        Row {
            part: "record",
            at: record.added_at.map(instant).unwrap_or_default(),
            record: now.record.label(),
            id: now.id.clone(),
            key: now.key.clone(),
            state: now.status.replace('_', " "),
            amount: now.amount.clone(),
            who: record.added_by.clone().unwrap_or_else(|| "the engine".into()),
            what: now.label.clone(),
            ..Row::default()
        }
    })
}

/// The timeline, what was decided, and what was written.
fn happened(sealed: &SealedReport) -> Vec<Row> {
    let report = &sealed.report;
    let steps = report.timeline.iter().map(|step| Row {
        part: "timeline",
        at: instant(step.step.at),
        record: step.record.label(),
        id: step.id.clone(),
        key: name(report, step.record, &step.id),
        state: step.step.to.replace('_', " "),
        rule: step.step.rule.clone(),
        who: step.step.actor.clone(),
        what: step.words(),
        said: carried(step),
        receipt: step.receipt.map(|id| id.to_string()).unwrap_or_default(),
        ..Row::default()
    });
    let decisions = report.decisions.iter().map(|made| Row {
        part: "decision",
        at: instant(made.at),
        record: made.record.label(),
        id: made.id.clone(),
        key: name(report, made.record, &made.id),
        who: match &made.approved_by {
            Some(second) => format!("{}, approved by {second}", made.actor),
            None => made.actor.clone(),
        },
        what: made.action.replace('_', " "),
        said: made.reason.clone().unwrap_or_default(),
        receipt: made.receipt.to_string(),
        ..Row::default()
    });
    let notes = report.notes.iter().map(|note| Row {
        part: "note",
        at: instant(note.at),
        record: note.record.label(),
        id: note.id.clone(),
        key: name(report, note.record, &note.id),
        who: note.author.clone(),
        said: if note.text.is_empty() { "(expired)".into() } else { note.text.clone() },
        ..Row::default()
    });
    steps.chain(decisions).chain(notes).collect()
}
