//! The page: what was searched and how it was read, then what was found, by type of record.

use domain::{
    record::RecordType,
    view::{FoundGroup, MIN_SEARCH_CHARS, Named, SearchView},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::row::{COLUMNS, found};
use crate::{
    api::{
        reading::Reading,
        search::{Searched, search},
    },
    components::{data_table::DataTable, empty_state::EmptyState, notice::FailedPart, part::Part},
    location::{href, value},
    pages::{address::query, elsewhere::InAnotherTenant},
};

/// The page of a search.
#[component]
pub fn SearchPage() -> impl IntoView {
    let q = value(&query(), "q").map(|q| q.trim().to_owned()).unwrap_or_default();
    let again = href("/search", [("q", q.as_str())]);
    let asked = q.clone();
    let reading = Reading::new(move || {
        let q = asked.clone();
        async move { if q.is_empty() { None } else { Some(search(&q).await) } }
    });
    let content = Suspend::new(async move {
        match reading.await {
            None => teach(),
            Some(Ok(Searched { elsewhere: Some(tenant), .. })) => {
                view! { <InAnotherTenant tenant/> }.into_any()
            }
            Some(Ok(Searched { view, .. })) => shown(view),
            Some(Err(error)) => view! { <FailedPart error again/> }.into_any(),
        }
    });
    view! {
        <Title text="Search · Onceover"/>
        <header class="page-head"><h1 class="page-title">"Search"</h1></header>
        {content}
    }
    .into_any()
}

/// What the search finds, for who has not asked yet.
fn teach() -> AnyView {
    view! {
        <EmptyState title="Type what you know of it, in the box above.">
            {what_is_searched()}
        </EmptyState>
    }
    .into_any()
}

/// What is searched and how. The help page says the same.
#[must_use]
pub fn what_is_searched() -> AnyView {
    view! {
        <p>
            "The search looks at operations, workflows, events, messages, payload conflicts, undos, requests for a "
            "second person and incidents of the tenant named at the top: by id, key, external reference, the search "
            "terms of a kind such as the invoice, workflow key, aggregate, topic, and the producer\u{2019}s id of a "
            "message. Conflicts, undos, requests and incidents are also found by what finds their operation."
        </p>
        <p>
            "It finds exactly what you type, or what begins so; never what stands in the middle of a word. An amount "
            "needs its currency: 129.00 EUR, EUR 129, 1250 JPY. A whole id leads straight to its record or receipt."
        </p>
    }
    .into_any()
}

fn shown(view: SearchView) -> AnyView {
    if view.too_short {
        let words = format!(
            "\u{201c}{}\u{201d} is too short: type at least {MIN_SEARCH_CHARS} characters. What begins with fewer is \
             most of what there is.",
            view.q
        );
        return view! {
            <EmptyState title="Nothing was searched.">
                <p>{words}</p>
                <p>"A list finds a shorter key by its own search: "<a href="/operations">"all operations"</a>"."</p>
            </EmptyState>
        }
        .into_any();
    }
    let named = view.named.as_ref().map(|named| {
        let place = match named {
            Named::Record(record, id) => record.page(id),
            Named::Receipt(id) => format!("/receipts/{id}"),
        };
        view! { <p class="prose"><a href=place>"This id names one thing alone: open it"</a></p> }
    });
    if view.groups.is_empty() && named.is_none() {
        return view! {
            <p class="page-sub">{summary(&view)}</p>
            <EmptyState title="Nothing is called that, or begins so.">
                {what_is_searched()}
                <p>
                    "What has expired keeps its key and its id; its search terms are gone. Fields that are masked are "
                    "found by the whole value alone."
                </p>
            </EmptyState>
        }
        .into_any();
    }
    let (as_of, q, words) = (view.as_of, view.q.clone(), summary(&view));
    let groups: Vec<_> = view.groups.into_iter().map(|found| group(found, &q, as_of)).collect();
    view! {
        <p class="page-sub">{words}</p>
        {named}
        {groups}
    }
    .into_any()
}

/// How the text was read, in a sentence.
fn summary(view: &SearchView) -> String {
    let mut words = format!("Exactly or by its beginning: \u{201c}{}\u{201d}", view.q);
    if let Some(amount) = &view.amount {
        words.push_str(&format!(", and as the amount {amount}"));
    }
    if view.whole_id {
        words.push_str(", and as a whole id");
    }
    words.push_str(". Exact ones stand first, then the newest.");
    words
}

const fn heading(record: RecordType) -> (&'static str, &'static str) {
    match record {
        RecordType::Operation => ("operations", "Operations"),
        RecordType::Workflow => ("workflows", "Workflows"),
        RecordType::Compensation => ("undos", "Undos"),
        RecordType::Event => ("events", "Events"),
        RecordType::Message => ("messages", "Messages"),
        RecordType::Conflict => ("conflicts", "Payload conflicts"),
        RecordType::Approval => ("requests", "Requests for a second person"),
        RecordType::Incident => ("incidents", "Incidents"),
    }
}

fn group(group: FoundGroup, q: &str, as_of: chrono::DateTime<chrono::Utc>) -> AnyView {
    let FoundGroup { record, rows, more } = group;
    let (id, title) = heading(record);
    let more = more.then(|| match record {
        // Neither has a list that can be searched.
        RecordType::Compensation | RecordType::Approval => {
            view! { <p class="field-help">"There are more: a longer beginning finds them."</p> }
                .into_any()
        }
        _ => {
            let all = href(record.list(), [("q", q)]);
            let words = format!("More than {}: look in the list", rows.len());
            view! { <p class="slice"><a href=all>{words}</a></p> }.into_any()
        }
    });
    let rows = rows.into_iter().map(|row| found(record, row, as_of)).collect();
    view! {
        <Part id title>
            <DataTable caption=title columns=COLUMNS rows/>
            {more}
        </Part>
    }
    .into_any()
}
