//! The filters of the list of operations, and what is in force as chips that can be taken away.
//!
//! A plain GET form: the address is the state, so filters work without WASM and can be pasted.

use domain::{
    listing::{OperationFilter, StatusFilter},
    operation::Status,
};
use leptos::prelude::*;

use super::icon::{Icon, IconName};
use crate::{location, text};

/// The form. The search stands in the top bar; here it is carried along.
#[component]
pub fn FilterForm(
    /// What is in force.
    filter: OperationFilter,
    /// Kinds to choose from; a kind in force that is not among them stays offered.
    mut kinds: Vec<String>,
) -> impl IntoView {
    if let Some(kind) = &filter.operation
        && !kinds.contains(kind)
    {
        kinds.push(kind.clone());
    }
    let OperationFilter {
        status,
        operation: chosen,
        q,
        needs_manual,
        conflict,
        from,
        to,
        limit,
        ..
    } = filter;
    let kinds = kinds
        .into_iter()
        .map(|kind| {
            let selected = chosen.as_ref() == Some(&kind);
            view! { <option value=kind.clone() selected=selected>{kind.clone()}</option> }
        })
        .collect_view();
    view! {
        <button type="button" class="button filter-open" popovertarget="filters">
            <Icon name=IconName::Filter/>
            "Filters"
        </button>
        <form
            class="filter-form"
            id="filters"
            popover="auto"
            aria-label="Filters"
            method="get"
            action="/operations"
        >
            {q.map(|q| view! { <input type="hidden" name="q" value=q/> })}
            {limit.map(|limit| view! {
                <input type="hidden" name="limit" value=limit.to_string()/>
            })}
            <div class="filter-field">
                <label class="filter-label" for="filter-status">"State"</label>
                <select class="filter-input" id="filter-status" name="status">
                    <option value="">"any state"</option>
                    {states(status)}
                </select>
            </div>
            <div class="filter-field">
                <label class="filter-label" for="filter-operation">"Kind"</label>
                <select class="filter-input" id="filter-operation" name="operation">
                    <option value="">"any kind"</option>
                    {kinds}
                </select>
            </div>
            {day_field("from", "Reserved from", location::day_value(from))}
            {day_field("to", "Reserved before", location::day_value(to))}
            <div class="filter-checks">
                {check("needs_manual", "needs a person", needs_manual)}
                {check("conflict", "payload conflict", conflict)}
            </div>
            <button class="button">"Apply"</button>
        </form>
    }
    .into_any()
}

fn states(chosen: Option<StatusFilter>) -> Vec<AnyView> {
    Status::ALL
        .into_iter()
        .map(|status| (StatusFilter::Is(status), status.label()))
        .chain([(StatusFilter::Tombstone, "tombstone")])
        .map(|(value, label)| {
            let selected = chosen == Some(value);
            view! { <option value=value.as_str() selected=selected>{label}</option> }.into_any()
        })
        .collect()
}

fn day_field(name: &'static str, label: &'static str, value: String) -> AnyView {
    let id = format!("filter-{name}");
    view! {
        <div class="filter-field">
            <label class="filter-label" for=id.clone()>{label}</label>
            <input class="filter-input" type="date" id=id name=name value=value/>
        </div>
    }
    .into_any()
}

fn check(name: &'static str, label: &'static str, on: bool) -> AnyView {
    view! {
        <label class="filter-check">
            <input type="checkbox" name=name value="true" checked=on/>
            {label}
        </label>
    }
    .into_any()
}

/// What narrows the list, each with a link that takes it away.
#[component]
pub fn FilterChips(
    /// What is in force.
    filter: OperationFilter,
) -> impl IntoView {
    let filter = OperationFilter { cursor: None, ..filter };
    let chips = chips(&filter);
    (!chips.is_empty()).then(|| {
        let chips = chips
            .into_iter()
            .map(|(name, value, without)| {
                view! {
                    <li>
                        <a class="chip" href=location::operations_href(&without)>
                            <span class="visually-hidden">"Remove filter: "</span>
                            {(!name.is_empty()).then(|| view! { <span class="chip-name">{name}</span> })}
                            <span class="chip-value">{value}</span>
                            <Icon name=IconName::Cross/>
                        </a>
                    </li>
                }
            })
            .collect_view();
        view! {
            <ul class="chips" aria-label="Filters in force">
                {chips}
                <li><a class="quiet" href="/operations">"Clear all"</a></li>
            </ul>
        }
        .into_any()
    })
}

fn chips(filter: &OperationFilter) -> Vec<(&'static str, String, OperationFilter)> {
    let mut chips = Vec::new();
    let mut chip = |name, value: Option<String>, remove: fn(&mut OperationFilter)| {
        if let Some(value) = value {
            let mut without = filter.clone();
            remove(&mut without);
            chips.push((name, value, without));
        }
    };
    let state = filter.status.map(|status| match status {
        StatusFilter::Is(status) => status.label().to_owned(),
        StatusFilter::Tombstone => "tombstone".to_owned(),
    });
    chip("search", filter.q.clone(), |filter| filter.q = None);
    chip("state", state, |filter| filter.status = None);
    chip("kind", filter.operation.clone(), |filter| filter.operation = None);
    chip("from", filter.from.map(text::instant), |filter| filter.from = None);
    chip("before", filter.to.map(text::instant), |filter| filter.to = None);
    chip("", filter.needs_manual.then(|| "needs a person".into()), |filter| {
        filter.needs_manual = false;
    });
    chip("", filter.conflict.then(|| "payload conflict".into()), |filter| filter.conflict = false);
    chips
}
