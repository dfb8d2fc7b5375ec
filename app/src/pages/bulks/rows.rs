//! The rows of a bulk: each record with whether it can be decided or why not, and what became of it.

use domain::{
    action::Verb,
    bulk::Standing,
    ids::BulkId,
    listing::Page,
    view::{BulkDetail, BulkRecord},
};
use leptos::prelude::*;

use super::words::grouped;
use crate::{
    components::{
        amount::Amount,
        data_table::{Column, DataTable},
        key::Key,
        mark::MarkBadge,
        pager::{Pager, Ways},
    },
    location::{self, Asked},
};

const COLUMNS: &[Column] = &[
    ("Standing", "col-status"),
    ("Record", "col-operation"),
    ("Key", "col-key"),
    ("Version", "col-count num"),
    ("Amount", "col-amount num"),
    ("Why, or what came of it", "col-words"),
];

/// The rows, with a view for each way in which they stand.
pub fn rows(detail: &BulkDetail, page: Page<BulkRecord>, asked: &Asked) -> AnyView {
    let id = detail.row.id;
    let chosen = asked.value("standing").and_then(|word| word.parse::<Standing>().ok());
    let to = |cursor: Option<String>| cursor.map(|cursor| page_href(id, chosen, Some(&cursor)));
    let (previous, next) = (to(page.previous), to(page.next));
    let (count, as_of) = (page.items.len(), page.as_of);
    let verb = detail.row.verb;
    let rows = page.items.into_iter().map(|record| row(record, verb)).collect();
    view! {
        {views(detail, chosen)}
        <DataTable caption="Records of the set, in the order in which they were frozen" columns=COLUMNS rows/>
        <Pager rows=count as_of previous next ways=Ways("Before", "After")/>
    }
    .into_any()
}

fn page_href(id: BulkId, standing: Option<Standing>, cursor: Option<&str>) -> String {
    let standing = standing.map(|standing| ("standing", standing.as_str()));
    let cursor = cursor.map(|cursor| ("cursor", cursor));
    location::href(&format!("/bulks/{id}"), standing.into_iter().chain(cursor))
}

fn views(detail: &BulkDetail, chosen: Option<Standing>) -> AnyView {
    let row = &detail.row;
    let looked = row.eligible + row.ineligible;
    let all = std::iter::once((None, "all", row.total));
    let by_standing = Standing::ALL.into_iter().map(|standing| {
        let count = match standing {
            Standing::Eligible => row.left(),
            Standing::Ineligible => row.ineligible,
            Standing::Done => row.done,
            Standing::Refused => row.refused,
            Standing::Frozen => row.total - looked,
        };
        (Some(standing), standing.label(), count)
    });
    let tabs = all
        .chain(by_standing)
        .filter(|(standing, _, count)| standing.is_none() || *standing == chosen || *count > 0)
        .map(|(standing, word, count)| {
            let href = page_href(row.id, standing, None);
            let current = (standing == chosen).then_some("page");
            let words = format!("{word} {}", grouped(count));
            view! { <li><a class="tab" href=href aria-current=current>{words}</a></li> }
        })
        .collect_view();
    view! { <nav class="tabs" aria-label="Rows by standing"><ul>{tabs}</ul></nav> }.into_any()
}

/// What the decision about a row left open, where it was done: its record says how that went on.
fn open(verb: Verb, standing: Standing) -> Option<&'static str> {
    match (standing, verb) {
        (Standing::Done, Verb::Reconcile) => {
            Some("Reconciliation was asked for; the record shows what it found. ")
        }
        (Standing::Done, Verb::Retry) => {
            Some("Another attempt was granted; the record shows how it went. ")
        }
        _ => None,
    }
}

fn row(record: BulkRecord, verb: Verb) -> AnyView {
    let href = format!("{}/{}", record.target_type.pages(), record.id);
    let receipt = record.receipt.map(|id| {
        view! { <a class="cell-link" href=format!("/receipts/{id}")>"Receipt"</a> }
    });
    let open = open(verb, record.standing);
    let why = record.code.map(|code| {
        let words = record.detail.clone().unwrap_or_else(|| code.title().to_owned());
        view! { <span data-code=code.as_str()>{words}</span> }
    });
    view! {
        <tr class="row row--tall" role="row">
            <td role="cell" class="col-status"><MarkBadge mark=record.standing/></td>
            <td role="cell" class="col-operation cell-sub">{record.label}</td>
            <td role="cell" class="col-key"><a class="row-link" href=href><Key text=record.key/></a></td>
            <td role="cell" class="col-count num cell-sub">{record.version}</td>
            <td role="cell" class="col-amount num"><Amount amount=record.amount/></td>
            <td role="cell" class="col-words">{why} {open} {receipt}</td>
        </tr>
    }
    .into_any()
}
