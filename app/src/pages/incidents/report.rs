//! `/incidents/{id}/report`: the report to be read and printed. Its files hold all of it; the page holds
//! what a browser shows at once, and says what it leaves to the files.

use domain::{
    ids::IncidentId,
    money::Money,
    record::RecordType,
    view::{IncidentReport, IncidentStep, ReportDecision, ReportNote, ReportStake, SealedReport},
};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::incidents::report,
    components::{
        amount::Amount,
        facts::{fact, fact_at, fact_key, fact_text},
        mark::MarkBadge,
        part::Part,
        record_state::{cause, record_label, record_state},
        timestamp::Timestamp,
    },
    pages::record::record_page,
    text,
};

/// Rows of each part that the page shows.
const RECORDS: usize = 200;
const STEPS: usize = 300;
const DECISIONS: usize = 100;
const NOTES: usize = 100;
/// The head of the column whose figures stand under each other.
const AMOUNT: &str = "Amount";

/// The page.
#[component]
pub fn ReportPage() -> impl IntoView {
    view! {
        <Title text="Incident report · Onceover"/>
        {record_page(|id: IncidentId| report(id), |sealed| shown(&sealed))}
    }
}

fn shown(sealed: &SealedReport) -> AnyView {
    let report = &sealed.report;
    let path = format!("/incidents/{}", report.incident.id);
    let file = |format: &str, words: &'static str| {
        let href = format!("{path}/report?format={format}");
        view! { <a class="button" href=href download="">{words}</a> }
    };
    let head = view! {
        <header>
            <h1 class="page-title">{format!("Incident: {}", report.incident.summary)}</h1>
            <p class="detail-sub">
                {format!("{} \u{b7} all times in {} \u{b7} generated ", report.tenant, report.zone)}
                <Timestamp at=sealed.as_of/>
            </p>
            <p class="form-actions">
                <a class="button" href=path.clone()>"Back to the incident"</a>
                {file("md", "Markdown")}
                {file("json", "JSON")}
                {file("csv", "CSV")}
            </p>
        </header>
    }
    .into_any();
    view! {
        <article class="report">
            {head}
            {happened(report)}
            {records(report)}
            {timeline(report)}
            {decisions(report)}
            {notes(report)}
            <footer class="report-seal">
                <p>"Content hash: " <code>{sealed.content_hash.clone()}</code></p>
                <p class="field-help">
                    "SHA-256 over the content, the same for every reader of this state of the incident. \
                     The files carry it too; \u{201c}onceover report verify\u{201d} checks one."
                </p>
            </footer>
        </article>
    }
    .into_any()
}

fn happened(report: &IncidentReport) -> AnyView {
    let incident = &report.incident;
    let facts = [
        Some(fact("State", view! { <MarkBadge mark=incident.status/> })),
        Some(fact("Cause", cause(&incident.cause))),
        Some(fact_key("Id", incident.id.to_string())),
        fact_at("Opened", Some(incident.opened_at)),
        Some(fact("Opened by", incident.opened_by.clone().unwrap_or_else(|| "the engine".into()))),
        report.opened_reason.clone().map(|reason| fact_text("Why it was opened", reason)),
        fact_at("Closed", incident.closed_at),
        incident.closed_by.clone().map(|by| fact("Closed by", by)),
        report.closed_reason.clone().map(|reason| fact_text("Why it was closed", reason)),
    ];
    let stake = at_stake(&report.stake);
    view! {
        <Part id="happened" title="What happened">
            <dl class="facts">{facts.into_iter().flatten().collect_view()} {stake}</dl>
        </Part>
    }
    .into_any()
}

/// The facts about money, one per currency.
pub(super) fn at_stake(stake: &[ReportStake]) -> Vec<AnyView> {
    stake
        .iter()
        .map(|stake| {
            let money =
                |amount_minor| Money { amount_minor, currency: stake.currency.clone() }.to_string();
            let words = format!(
                "{} in {}, of it {} with an unknown outcome",
                money(stake.amount_minor),
                counted(stake.operations, "operation"),
                money(stake.unknown_minor)
            );
            fact("Money at stake", words)
        })
        .collect()
}

fn counted(count: i64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// What a part leaves to the files.
fn rest(shown: usize, total: usize, cut: bool) -> Option<AnyView> {
    let more = total.saturating_sub(shown);
    let words = match (more, cut) {
        (0, false) => return None,
        (0, true) => "More is on record than a report holds.".to_owned(),
        (more, false) => format!("{more} more stand in the files."),
        (more, true) => {
            format!("{more} more stand in the files, and more is on record than a report holds.")
        }
    };
    Some(view! { <p class="field-help">{words}</p> }.into_any())
}

fn table(label: &'static str, heads: Vec<&'static str>, rows: Vec<AnyView>) -> AnyView {
    let heads = heads
        .into_iter()
        .map(|head| {
            let class = (head == AMOUNT).then_some("num");
            view! { <th scope="col" class=class>{head}</th> }
        })
        .collect_view();
    view! {
        <div class="figures-scroll" tabindex="0" role="region" aria-label=label>
            <table class="figures report-table">
                <thead>
                    <tr>{heads}</tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn records(report: &IncidentReport) -> AnyView {
    let rows = report
        .records
        .iter()
        .take(RECORDS)
        .map(|record| {
            let now = &record.now;
            let by = record.added_by.clone().unwrap_or_else(|| "the engine".into());
            view! {
                <tr>
                    <th scope="row">{record_state(now.record, &now.status, false)}</th>
                    <td>{format!("{} {}", now.record.label(), record_label(now.record, &now.label))}</td>
                    <td class="report-key">{now.key.clone()}</td>
                    <td class="num"><Amount amount=now.amount.clone()/></td>
                    <td data-label="gathered by">{by}</td>
                </tr>
            }
            .into_any()
        })
        .collect();
    let count = report.records.len();
    let heads = vec!["State", "Record", "Key", AMOUNT, "Gathered by"];
    let table = table("Table: records", heads, rows);
    let rest = rest(RECORDS.min(count), count, false);
    view! {
        <Part id="records" title="Records as they are" count>
            {table} {rest}
        </Part>
    }
    .into_any()
}

fn timeline(report: &IncidentReport) -> AnyView {
    let rows = report.timeline.iter().take(STEPS).map(|step| told(report, step)).collect();
    let count = report.timeline.len();
    let table = table("Table: timeline", vec!["When", "What", "Record", "Who"], rows);
    let rest = rest(STEPS.min(count), count, report.timeline_cut);
    view! {
        <Part id="timeline" title="Timeline" count>
            {table} {rest}
        </Part>
    }
    .into_any()
}

fn told(report: &IncidentReport, step: &IncidentStep) -> AnyView {
    let said = ["reason", "Reason", "Note", "error", "Text"]
        .into_iter()
        .find_map(|name| step.detail(name))
        .map(|said| format!(" \u{201c}{said}\u{201d}"));
    let words = format!("{}{}", step.words(), said.unwrap_or_default());
    view! {
        <tr>
            <th scope="row">{text::instant_ms(step.step.at)}</th>
            <td>{words}</td>
            <td class="report-key">{name(report, step.record, &step.id)}</td>
            <td>{step.step.actor.clone()}</td>
        </tr>
    }
    .into_any()
}

/// What a record is called in the report: its key, or its id where it has none here.
fn name(report: &IncidentReport, record: RecordType, id: &str) -> String {
    let known =
        report.records.iter().find(|known| known.now.record == record && known.now.id == id);
    known.map_or_else(|| id.to_owned(), |known| known.now.key.clone())
}

fn decisions(report: &IncidentReport) -> Option<AnyView> {
    let count = report.decisions.len();
    let rows = report.decisions.iter().take(DECISIONS).map(|made| decided(report, made)).collect();
    let heads = vec!["When", "Decision", "Record", "Who", "Why", "Receipt"];
    let table = table("Table: decisions", heads, rows);
    let rest = rest(DECISIONS.min(count), count, report.decisions_cut);
    (count > 0).then(|| {
        view! {
            <Part id="decisions" title="Decisions" count>
                {table} {rest}
            </Part>
        }
        .into_any()
    })
}

fn decided(report: &IncidentReport, made: &ReportDecision) -> AnyView {
    let who = match &made.approved_by {
        Some(second) => format!("{}, approved by {second}", made.actor),
        None => made.actor.clone(),
    };
    let receipt = made.receipt.to_string();
    view! {
        <tr>
            <th scope="row">{text::instant(made.at)}</th>
            <td>{made.action.replace('_', " ")}</td>
            <td class="report-key">{name(report, made.record, &made.id)}</td>
            <td data-label="by">{who}</td>
            <td>{made.reason.clone()}</td>
            <td class="report-key" data-label="receipt"><a href=format!("/receipts/{receipt}")>{receipt.clone()}</a></td>
        </tr>
    }
    .into_any()
}

fn notes(report: &IncidentReport) -> Option<AnyView> {
    let count = report.notes.len();
    let rows = report.notes.iter().take(NOTES).map(|note| noted(report, note)).collect();
    let table = table("Table: notes", vec!["When", "Who", "Record", "Note"], rows);
    let rest = rest(NOTES.min(count), count, report.notes_cut);
    (count > 0).then(|| {
        view! {
            <Part id="notes" title="Notes" count>
                {table} {rest}
            </Part>
        }
        .into_any()
    })
}

fn noted(report: &IncidentReport, note: &ReportNote) -> AnyView {
    let text = if note.text.is_empty() { "(expired)".to_owned() } else { note.text.clone() };
    view! {
        <tr>
            <th scope="row">{text::instant(note.at)}</th>
            <td>{note.author.clone()}</td>
            <td class="report-key">{name(report, note.record, &note.id)}</td>
            <td>{text}</td>
        </tr>
    }
    .into_any()
}
