//! `/incidents/{id}`: one incident, the records that it is about, their story in one timeline, the ways
//! to its report.

use std::collections::HashMap;

use domain::{
    action::{Subject, TargetType, Verb},
    listing::IncidentState,
    operation::Status,
    record::RecordType,
    view::{IncidentDetail, IncidentRecord, IncidentStep},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::{form::words, report::at_stake};
use crate::{
    api::{incidents::incident_page, notes::Noted, refused::RefusedForm},
    components::{
        audit::Audit,
        facts::{fact, fact_at, fact_key, fact_text},
        icon::IconName,
        moves::{Moves, Told},
        notes::Notes,
        part::Part,
        record_head::{Offered, RecordHead},
        record_list::record_list,
        record_state::cause,
        slice::Slice,
        timestamp::Timestamp,
        verdict_band::{Standing, VerdictBand},
    },
    location::value,
    pages::{address::query, record::record_page},
    text,
};

/// Records that one page lists.
pub(super) const RECORDS: usize = 50;

/// The page of an incident.
#[component]
pub fn DetailPage() -> impl IntoView {
    let query = query();
    let after = value(&query, "after");
    view! {
        <Title text="Incident · Onceover"/>
        {record_page(
            move |id| incident_page(id, after.clone()),
            move |page| shown(page, &query),
        )}
    }
}

/// A piece of the records, for the page of the incident or one below it.
pub(super) fn records_piece(detail: &IncidentDetail, query: &str, below: Option<Verb>) -> Slice {
    let path = match below {
        None => format!("/incidents/{}", detail.row.id),
        Some(verb) => format!("/incidents/{}/{verb}", detail.row.id),
    };
    Slice::asked((&path, query), "records", RECORDS, detail.records.len())
}

/// The verdict; `headed` where the page's heading already says what is the matter.
pub(super) fn standing(detail: &IncidentDetail, headed: bool) -> Standing {
    let row = &detail.row;
    match row.status {
        IncidentState::Open => {
            let opened = row.opened_by.as_ref().zip(detail.opened_reason.as_ref());
            let opened =
                opened.map(|(by, reason)| format!("{by} opened it: \u{201c}{reason}\u{201d}"));
            let stays = "It stays open until a person closes it with a reason";
            let changes =
                "closing it changes no record, but operations in it may expire again from then on.";
            let (sentence, more) = if headed {
                (format!("{stays}."), text::capitalised(changes))
            } else {
                (row.summary.clone(), format!("{stays}; {changes}"))
            };
            let grounds = opened.into_iter().chain(unknown(detail)).chain([more]);
            Standing::person(sentence).grounds(grounds)
        }
        IncidentState::Closed => {
            let by = row.closed_by.as_deref().unwrap_or("Somebody");
            let reason = detail.reason.iter().map(|reason| format!("\u{201c}{reason}\u{201d}"));
            let sentence = if headed {
                format!("Closed by {by}.")
            } else {
                format!("Closed by {by}: {}", row.summary)
            };
            Standing::over(sentence).grounds(reason)
        }
    }
}

/// Which outcomes closing it would leave open.
fn unknown(detail: &IncidentDetail) -> Option<String> {
    let is_unknown = |record: &&IncidentRecord| {
        record.now.record == RecordType::Operation && record.now.status == Status::Unknown.as_str()
    };
    match detail.records.iter().filter(is_unknown).count() {
        0 => None,
        1 => Some(
            "The outcome of one operation in it is still unknown; closing it does not settle that."
                .to_owned(),
        ),
        many => Some(format!(
            "The outcomes of {many} operations in it are still unknown; closing it settles none."
        )),
    }
}

/// What the page offers. More is gathered from the pages and lists of the records themselves.
fn actions(detail: &IncidentDetail) -> Vec<Offered> {
    let gathered = detail.records.iter().any(|record| record.added_by.is_some());
    let fits = |verb: Verb| match verb {
        Verb::Remove => gathered,
        verb => words(verb).is_some(),
    };
    let label = |verb| match verb {
        Verb::Remove => "Take a record out",
        _ => "Close it with a reason",
    };
    detail
        .actions
        .iter()
        .filter(|offer| fits(offer.verb))
        .map(|offer| Offered { offer: offer.clone(), label: label(offer.verb).into(), why: None })
        .collect()
}

fn shown(page: Noted<IncidentDetail>, query: &str) -> AnyView {
    let Noted { record: detail, notes } = page;
    let (row, refused) = (&detail.row, RefusedForm::from_query(query));
    let sub = view! {
        {format!("version {} as of ", row.version)}
        <Timestamp at=detail.as_of/>
    }
    .into_any();
    let subject = Subject::new(TargetType::Incident, row.id.to_string());
    let path = format!("/incidents/{}", row.id);
    let piece = records_piece(&detail, query, None);
    let list = view! {
        {record_list(piece.of(&detail.records).iter().map(|record| &record.now))}
        {piece.ways()}
        <p class="field-help">
            "Add more from their own pages: each has \u{201c}Add to an incident\u{201d}."
        </p>
    }
    .into_any();
    let (about, told) = (detail.records.len(), story(&detail, query));
    view! {
        <article class="detail">
            <RecordHead
                subject=&subject
                mark=row.status
                kind=cause(&row.cause)
                key=row.id.to_string()
                title=row.summary.clone()
                sub
                version=row.version
                actions=actions(&detail)
            />
            <VerdictBand verdict=standing(&detail, true)/>
            <div class="detail-columns">
                <div class="detail-story">
                    <Part id="records" title="What it is about" count=about>
                        {list}
                    </Part>
                    <Part id="timeline" title="One timeline of all of them">
                        {told}
                    </Part>
                    <Notes notes refused place=(&path, query)/>
                    {report(&detail)}
                    <Audit audit=&detail.audit place=&path query/>
                </div>
                {facts(&detail)}
            </div>
        </article>
    }
    .into_any()
}

/// One page of the story, with the ways back to its beginning and on.
fn story(detail: &IncidentDetail, query: &str) -> AnyView {
    let path = format!("/incidents/{}", detail.row.id);
    let names: HashMap<_, _> = detail
        .records
        .iter()
        .map(|record| ((record.now.record, record.now.id.as_str()), record))
        .collect();
    let told: Vec<_> = detail.story.iter().map(|step| told(step, &names)).collect();
    // The story comes in pages of its own: what came is all of this one.
    let piece = Slice::asked((&path, query), "timeline", told.len().max(1), told.len());
    let first = value(query, "after")
        .map(|_| view! { <a href=format!("{path}#timeline")>"The beginning"</a> });
    let next = detail.story_next.as_ref().map(|next| {
        view! { <a href=format!("{path}?after={next}#timeline")>"What happened next"</a> }
    });
    let ways =
        (first.is_some() || next.is_some()).then(|| view! { <p class="slice">{first} {next}</p> });
    view! {
        <Moves told piece=&piece/>
        {ways}
    }
    .into_any()
}

fn told(step: &IncidentStep, names: &HashMap<(RecordType, &str), &IncidentRecord>) -> Told {
    let status = step.step.to.parse::<Status>().ok();
    let of = names.get(&(step.record, step.id.as_str())).map(|record| {
        let now = &record.now;
        let href = (now.status != "gone").then(|| now.record.href(&now.page_id));
        (format!("{} {}", now.record.label(), now.key), href)
    });
    Told {
        anchor: step.anchor.clone(),
        sentence: step.words(),
        icon: status.map_or(IconName::Info, IconName::of),
        status: status.map(Status::as_str),
        step: step.step.clone(),
        of,
        receipt: step.receipt,
    }
}

/// The ways to the report.
fn report(detail: &IncidentDetail) -> AnyView {
    let path = format!("/incidents/{}/report", detail.row.id);
    let files = [("md", "Markdown"), ("json", "JSON"), ("csv", "CSV")].map(|(format, words)| {
        view! { <a class="button" href=format!("{path}?format={format}") download="">{words}</a> }
    });
    view! {
        <Part id="report" title="Report">
            <p class="prose">
                "All of this in one piece, masked as it is here, with a hash of its content. Each file that \
                 is taken is put on record."
            </p>
            <p class="form-actions">
                <a class="button" href=path>"Read and print"</a>
                {files.into_iter().collect_view()}
            </p>
        </Part>
    }
    .into_any()
}

fn facts(detail: &IncidentDetail) -> AnyView {
    let row = &detail.row;
    let facts = [
        Some(fact_key("Id", row.id.to_string())),
        Some(fact("Cause", cause(&row.cause))),
        fact_at("Opened", Some(row.opened_at)),
        Some(fact("Opened by", row.opened_by.clone().unwrap_or_else(|| "the engine".into()))),
        detail.opened_reason.clone().map(|reason| fact_text("Why it was opened", reason)),
        fact_at("Closed", row.closed_at),
        row.closed_by.clone().map(|by| fact("Closed by", by)),
        detail.reason.clone().map(|reason| fact_text("Why it was closed", reason)),
    ];
    view! {
        <div class="detail-facts" role="region" aria-label="Facts" tabindex="0">
            <h2 class="facts-title">"Incident"</h2>
            <dl class="facts">
                {facts.into_iter().flatten().collect_view()} {at_stake(&detail.stake)}
            </dl>
        </div>
    }
    .into_any()
}
