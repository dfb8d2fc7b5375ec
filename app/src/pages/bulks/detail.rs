//! `/bulks/{id}`: what was frozen, which rows can be decided, what they add up to; the form that starts
//! it; how far it got; and each row's result.

use domain::{
    action::{Subject, TargetType, Verb},
    bulk::{BulkState, totals},
    listing::Page,
    view::{BulkDetail, BulkRecord},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::{
    rows::rows,
    words::{grouped, label, list_href, list_word, progress, standing, start, what, words},
};
use crate::{
    api::bulks::{bulk, bulk_with_rows},
    components::{
        audit::Audit,
        facts::{fact, fact_at, fact_key, fact_text},
        mark::Mark,
        part::Part,
        record_form::{Decision, RecordForm},
        record_head::{Offered, RecordHead},
        timestamp::Timestamp,
        verdict_band::VerdictBand,
    },
    location::Asked,
    pages::{
        address::query,
        record::{About, decision_page, record_page},
    },
};

/// The page of a bulk.
#[component]
pub fn DetailPage() -> impl IntoView {
    let asked = StoredValue::new(Asked::read("/bulks", &query()));
    let load = move |id| bulk_with_rows(id, asked.get_value());
    view! {
        <Title text="Bulk · Onceover"/>
        {record_page(load, move |(detail, page)| shown(&detail, page, &asked.get_value()))}
    }
}

/// The forms of a bulk.
#[component]
pub fn FormPage() -> impl IntoView {
    let about = |detail: &BulkDetail, _: Verb| About {
        version: detail.row.version,
        mark: detail.row.status.into(),
        kind: "bulk".to_owned(),
        key: what(detail.row.verb, detail.row.target_type, detail.row.total),
        actions: detail.actions.clone(),
        known: view! {
            <VerdictBand verdict=standing(detail)/>
            {sums(detail)}
        }
        .into_any(),
        moves: Vec::new(),
        fields: None,
        words: None,
    };
    decision_page(TargetType::Bulk, bulk, about, words)
}

fn shown(detail: &BulkDetail, page: Page<BulkRecord>, asked: &Asked) -> AnyView {
    let row = &detail.row;
    let subject = Subject::new(TargetType::Bulk, row.id.to_string());
    let sub = view! {
        {format!("version {} as of ", row.version)}
        <Timestamp at=detail.as_of/>
    }
    .into_any();
    // Starting it has its form below, behind the rows: people see what they start.
    let actions = detail.actions.iter().filter(|offer| offer.verb != Verb::Run);
    let actions = actions
        .map(|offer| Offered {
            offer: offer.clone(),
            label: label(offer.verb).to_owned(),
            why: None,
        })
        .collect();
    let (sums, rows, form) =
        (sums(detail), rows(detail, page, asked), form(detail, subject.clone()));
    let on_page = form.is_some();
    let (subject_page, whole) = (format!("/bulks/{}", row.id), query());
    view! {
        <article class="detail">
            <RecordHead
                subject=&subject
                mark=row.status
                kind="bulk".to_owned()
                key=row.id.to_string()
                title=what(row.verb, row.target_type, row.total)
                sub
                version=row.version
                actions
                on_page
            />
            <VerdictBand verdict=standing(detail)/>
            {moving(detail)}
            {waiting(detail)}
            {until(detail)}
            <div class="detail-columns">
                <div class="detail-story">
                    <Part id="sums" title="What it adds up to">{sums}</Part>
                    <Audit audit=&detail.audit place=&subject_page query=&whole/>
                </div>
                {facts(detail)}
            </div>
            <Part id="rows" title="Records of the set">{rows}</Part>
            {form}
        </article>
    }
    .into_any()
}

/// How far it got, and a way to ask again: the page does not turn itself over under the reader.
fn moving(detail: &BulkDetail) -> Option<AnyView> {
    let row = &detail.row;
    if !row.status.moves_by_itself() {
        return None;
    }
    let (now, whole) = match row.run_at {
        Some(_) => (row.done + row.refused, row.eligible),
        None => (row.eligible + row.ineligible, row.total),
    };
    let href = format!("/bulks/{}", row.id);
    Some(
        view! {
            <p class="bulk-progress">
                <progress max=whole.max(1) value=now aria-label="How far it got"></progress>
                <span>{format!("{} of {}", grouped(now), grouped(whole))}</span>
                <a class="button" href=href>"See how far it is now"</a>
            </p>
        }
        .into_any(),
    )
}

/// The requests for a second person that wait.
fn waiting(detail: &BulkDetail) -> Option<AnyView> {
    let asked = detail.approvals.first()?;
    let href = format!("/approvals/{}", asked.id);
    let words = format!("{} asked for a second person", asked.requester);
    Some(view! { <p class="bulk-waiting"><a href=href>{words}</a></p> }.into_any())
}

/// Until when it can be started, as long as it can or will.
fn until(detail: &BulkDetail) -> Option<AnyView> {
    let row = &detail.row;
    let not_started =
        matches!(row.status, BulkState::Freezing | BulkState::Checking | BulkState::Ready);
    (not_started && !row.has_expired(detail.as_of)).then(|| {
        view! {
            <p class="bulk-waiting">
                "It can be started until " <Timestamp at=row.expires_at/>
                ". After that it expires, and nothing is done."
            </p>
        }
        .into_any()
    })
}

fn form(detail: &BulkDetail, target: Subject) -> Option<AnyView> {
    let offer = detail.actions.iter().find(|offer| offer.verb == Verb::Run)?;
    if !detail.approvals.is_empty() {
        return None;
    }
    let words = start(detail);
    let decision = Decision {
        target,
        verb: Verb::Run,
        version: detail.row.version,
        opened_at: None,
        state: Mark::from(detail.row.status).word.to_owned(),
        moves: Vec::new(),
        offer: Some(offer.clone()),
        title: words.title,
        consequence: words.consequence,
        button: words.button,
    };
    let form = view! { <RecordForm decision refused=None/> }.into_any();
    Some(view! { <Part id="start" title="Start it">{form}</Part> }.into_any())
}

/// What the eligible rows add up to, by kind and in all.
fn sums(detail: &BulkDetail) -> AnyView {
    if detail.sums.iter().all(|sum| sum.currency.is_none()) {
        return view! { <p class="field-help">"No record of the set has a known amount."</p> }
            .into_any();
    }
    let rows = detail
        .sums
        .iter()
        .map(|sum| {
            let amount = sum.currency.clone().map_or_else(
                || "not known".to_owned(),
                |currency| {
                    let amount_minor = sum.amount_minor;
                    domain::money::Money { amount_minor, currency }.to_string()
                },
            );
            view! {
                <tr>
                    <th scope="row">{sum.kind.clone()}</th>
                    <td class="num">{grouped(sum.rows)}</td>
                    <td class="num">{amount}</td>
                </tr>
            }
        })
        .collect_view();
    let together: Vec<_> = totals(&detail.sums).iter().map(ToString::to_string).collect();
    view! {
        <p class="prose">{format!("Together: {}.", together.join(", "))}</p>
        <div class="figures-scroll" tabindex="0" role="region" aria-label="Table: sums by kind">
            <table class="figures">
                <thead>
                    <tr>
                        <th scope="col">"Kind"</th>
                        <th scope="col" class="num">"Records"</th>
                        <th scope="col" class="num">"Amount"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn facts(detail: &BulkDetail) -> AnyView {
    let row = &detail.row;
    let from = view! { <a href=list_href(row)>{list_word(row.list)}</a> };
    let how = match &row.filter {
        None => "picked one by one".to_owned(),
        Some(filter) => {
            let parts: Vec<_> =
                filter.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            format!("all that matched {}", parts.join(", "))
        }
    };
    let receipt = detail.receipt.map(|id| {
        fact("Receipt", view! { <a href=format!("/receipts/{id}")>"How it was started"</a> })
    });
    let run = row.run_by.clone().map(|by| fact("In the name of", by));
    let facts = [
        Some(fact("From", from)),
        Some(fact_text("How", how)),
        Some(fact("Records", grouped(row.total))),
        Some(fact("Eligible", grouped(row.eligible))),
        Some(fact("Not eligible", grouped(row.ineligible))),
        row.run_at.map(|_| fact("Results", progress(row))),
        Some(fact("Frozen by", row.frozen_by.clone())),
        fact_at("Frozen", Some(row.frozen_at)),
        fact_at("To be started until", Some(row.expires_at).filter(|_| row.run_at.is_none())),
        run,
        fact_at("Started", row.run_at),
        detail.reason.clone().map(|reason| fact_text("Reason", reason)),
        receipt,
        fact_at("Ended", row.over_at),
        Some(fact_key("Id", row.id.to_string())),
    ];
    view! {
        <div class="detail-facts" role="region" aria-label="Facts" tabindex="0">
            <h2 class="facts-title">"Bulk"</h2>
            <dl class="facts">{facts.into_iter().flatten().collect_view()}</dl>
        </div>
    }
    .into_any()
}
