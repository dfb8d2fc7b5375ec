//! `/incidents/{id}`: one incident, the records that it is about, their story in one timeline; and the
//! form that closes it.

use domain::{
    action::{Subject, TargetType, Verb},
    listing::IncidentState,
    view::{IncidentDetail, IncidentStep, RecordRef},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::list::cause;
use crate::{
    api::records::incident,
    components::{
        amount::Amount,
        audit::Audit,
        facts::{fact, fact_at, fact_key, fact_text},
        icon::IconName,
        key::Key,
        moves::{Moves, Told},
        part::Part,
        record_head::{Offered, RecordHead},
        timestamp::Timestamp,
        verdict_band::{Standing, VerdictBand},
    },
    pages::record::{About, Words, decision_page, record_page},
    text,
};

/// The page of an incident.
#[component]
pub fn DetailPage() -> impl IntoView {
    view! {
        <Title text="Incident · Onceover"/>
        {record_page(incident, |detail| shown(&detail))}
    }
}

/// The form that closes an incident.
#[component]
pub fn FormPage() -> impl IntoView {
    let about = |detail: &IncidentDetail, _: Verb| About {
        version: detail.row.version,
        mark: detail.row.status.into(),
        kind: cause(&detail.row.cause),
        key: detail.row.id.to_string(),
        actions: detail.actions.clone(),
        known: view! {
            <VerdictBand verdict=standing(detail)/>
            {records(&detail.records)}
        }
        .into_any(),
        fields: None,
    };
    decision_page(TargetType::Incident, incident, about, words)
}

fn standing(detail: &IncidentDetail) -> Standing {
    let row = &detail.row;
    match row.status {
        IncidentState::Open => Standing::person(row.summary.clone()).grounds([
            "It stays open until a person closes it with a reason; nothing is changed by closing it.".to_owned(),
        ]),
        IncidentState::Closed => {
            let by = row.closed_by.as_deref().unwrap_or("Somebody");
            let reason = detail.reason.iter().map(|reason| format!("\u{201c}{reason}\u{201d}"));
            Standing::over(format!("Closed by {by}: {}", row.summary)).grounds(reason)
        }
    }
}

fn shown(detail: &IncidentDetail) -> AnyView {
    let row = &detail.row;
    let sub = view! {
        {format!("version {} as of ", row.version)}
        <Timestamp at=detail.as_of/>
    }
    .into_any();
    let actions = detail
        .actions
        .iter()
        .map(|offer| Offered {
            offer: offer.clone(),
            label: "Close it with a reason".into(),
            why: None,
        })
        .collect();
    let subject = Subject::new(TargetType::Incident, row.id.to_string());
    let told: Vec<_> =
        detail.story.iter().enumerate().map(|(index, step)| told(index, step)).collect();
    let count = told.len();
    let cut = detail.story_cut.then(|| {
        view! { <p class="field-help">"The story goes on: each record\u{2019}s own page has all of it."</p> }
    });
    let (about, list) = (detail.records.len(), records(&detail.records));
    view! {
        <article class="detail">
            <RecordHead
                subject=&subject
                mark=row.status
                kind=cause(&row.cause)
                key=row.id.to_string()
                sub
                version=row.version
                actions
            />
            <VerdictBand verdict=standing(detail)/>
            <div class="detail-columns">
                <div class="detail-story">
                    <Part id="records" title="What it is about" count=about>
                        {list}
                    </Part>
                    <Part id="timeline" title="One timeline of all of them" count>
                        <Moves told/>
                        {cut}
                    </Part>
                    <Audit audit=detail.audit.clone()/>
                </div>
                {facts(detail)}
            </div>
        </article>
    }
    .into_any()
}

fn records(records: &[RecordRef]) -> AnyView {
    let items = records
        .iter()
        .map(|record| {
            let href = record.record.href(&record.page_id);
            let what = format!("{} \u{b7} {}", record.record.label(), record.label);
            view! {
                <li class="related">
                    <strong>{record.status.replace('_', " ")}</strong>
                    <a href=href><Key text=record.key.clone()/></a>
                    <span class="cell-sub">{what} " " <Amount amount=record.amount.clone()/></span>
                </li>
            }
        })
        .collect_view();
    view! { <ul class="relations">{items}</ul> }.into_any()
}

fn told(index: usize, step: &IncidentStep) -> Told {
    let record = text::capitalised(step.record.label());
    let sentence = match &step.sentence {
        Some(sentence) => format!("{record}: {sentence}"),
        None => format!("{record}: {}.", step.step.to.replace('_', " ")),
    };
    let status = step.step.to.parse::<domain::operation::Status>().ok();
    Told {
        anchor: format!("m{}", index + 1),
        sentence,
        icon: status.map_or(IconName::Info, IconName::of),
        status: status.map(domain::operation::Status::as_str),
        step: step.step.clone(),
    }
}

fn facts(detail: &IncidentDetail) -> AnyView {
    let row = &detail.row;
    let facts = [
        Some(fact_key("Id", row.id.to_string())),
        Some(fact_key("Cause", row.cause.clone())),
        fact_at("Opened", Some(row.opened_at)),
        fact_at("Closed", row.closed_at),
        row.closed_by.clone().map(|by| fact("Closed by", by)),
        detail.reason.clone().map(|reason| fact_text("Why it was closed", reason)),
    ];
    view! {
        <div class="detail-facts" role="region" aria-label="Facts" tabindex="0">
            <h2 class="facts-title">"Incident"</h2>
            <dl class="facts">{facts.into_iter().flatten().collect_view()}</dl>
        </div>
    }
    .into_any()
}

fn words(verb: Verb) -> Option<Words> {
    (verb == Verb::Close).then(|| {
        Words::new(
            "Close the incident",
            "Close it with this reason",
            "Say what was found out and what was done. The records keep their states; the incident stays on \
             record with your reason and can be read by all who could read it before.",
        )
    })
}
