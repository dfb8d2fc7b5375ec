//! The forms that close an incident, and take records out of it.

use domain::{
    action::{TargetType, Verb},
    view::IncidentDetail,
};
use leptos::prelude::*;

use super::detail::{RECORDS, records_piece, standing};
use crate::{
    api::incidents::incident,
    components::{
        record_list::record_list, record_state::cause, slice::Slice, verdict_band::VerdictBand,
    },
    error::Field,
    pages::{
        address::query,
        record::{About, Words, decision_page},
    },
};

/// The form that closes an incident, or takes records out of it.
#[component]
pub fn FormPage() -> impl IntoView {
    let query = query();
    let about = move |detail: &IncidentDetail, verb: Verb| {
        let piece = records_piece(detail, &query, Some(verb));
        let known = match verb {
            Verb::Remove => ().into_any(),
            _ => view! {
                {record_list(piece.of(&detail.records).iter().map(|record| &record.now))}
                {piece.ways()}
            }
            .into_any(),
        };
        About {
            version: detail.row.version,
            mark: detail.row.status.into(),
            kind: cause(&detail.row.cause),
            key: detail.row.id.to_string(),
            actions: detail.actions.clone(),
            known: view! {
                <VerdictBand verdict=standing(detail, false)/>
                {known}
            }
            .into_any(),
            moves: Vec::new(),
            fields: (verb == Verb::Remove).then(|| removable(detail, &query)),
            words: None,
        }
    };
    decision_page(TargetType::Incident, incident, about, words)
}

/// The records that can be taken out, one at a time; nothing is chosen beforehand.
fn removable(detail: &IncidentDetail, query: &str) -> AnyView {
    let gathered: Vec<_> =
        detail.records.iter().filter(|record| record.added_by.is_some()).collect();
    let path = format!("/incidents/{}/{}", detail.row.id, Verb::Remove);
    let piece = Slice::asked((&path, query), "records", RECORDS, gathered.len());
    let choices = piece
        .of(&gathered)
        .iter()
        .map(|record| {
            let now = &record.now;
            let by = record.added_by.as_deref().unwrap_or_default();
            choice(
                Field::Records.as_str(),
                format!("{}/{}", now.record.label(), now.id),
                format!("{} {}", now.record.label(), now.key),
                format!("{}, gathered by {by}", now.status.replace('_', " ")),
            )
        })
        .collect_view();
    view! {
        <fieldset class="choices" id=Field::Records.as_str()>
            <legend class="field-label">"Which record"</legend>
            {choices}
            {piece.ways()}
        </fieldset>
    }
    .into_any()
}

/// A choice of a form: what is posted, what it is called and what it means.
pub(super) fn choice(name: &'static str, value: String, title: String, help: String) -> AnyView {
    view! {
        <label class="choice">
            <input type="radio" name=name value=value/>
            <span class="choice-body">
                <span class="choice-title">{title}</span>
                <span class="choice-help">{help}</span>
            </span>
        </label>
    }
    .into_any()
}

/// The words of what can be decided about an incident on a page of its own.
pub(super) fn words(verb: Verb) -> Option<Words> {
    match verb {
        Verb::Close => Some(Words::new(
            "Close the incident",
            "Close it with this reason",
            "Say what was found out and what was done. The records keep their states; the incident stays on \
             record with your reason and can be read by all who could read it before.",
        )),
        Verb::Remove => Some(Words::new(
            "Take a record out of the incident",
            "Take it out",
            "The record keeps its state and its own page; the incident and its timeline no longer show it. \
             That it was here stays in the audit log, with your reason.",
        )),
        _ => None,
    }
}
