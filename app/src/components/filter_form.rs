//! The filters of a list, and what is in force as chips that can be taken away.
//!
//! A plain GET form: the address is the state, so filters work without scripts and can be pasted.

use leptos::prelude::*;

use super::icon::{Icon, IconName};
use crate::{
    api::operations::MAX_OFFERED,
    location::{Asked, ZONE},
    zone::Zone,
};

/// One filter of a list.
#[derive(Debug, Clone)]
pub struct FilterField {
    /// The part of the address.
    pub name: &'static str,
    /// What people read.
    pub label: &'static str,
    /// How it is given.
    pub input: Input,
}

/// How a filter is given.
#[derive(Debug, Clone)]
pub enum Input {
    /// One of a list, by value and word; what is in force and not among them stays offered.
    Choice {
        /// What stands first: nothing chosen.
        any: &'static str,
        /// Value and word.
        options: Vec<(String, String)>,
    },
    /// A text.
    Text {
        /// An example.
        example: &'static str,
    },
    /// The name of one of many, more than a choice could offer; the page that lists them stands beside
    /// it.
    Name {
        /// One of them.
        example: String,
        /// The path of the page with all of them.
        all: &'static str,
    },
    /// A day.
    Day,
    /// On or off.
    Check,
}

impl FilterField {
    /// One of a list.
    pub fn choice(
        name: &'static str,
        label: &'static str,
        any: &'static str,
        options: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        Self { name, label, input: Input::Choice { any, options: options.into_iter().collect() } }
    }

    /// A text.
    #[must_use]
    pub const fn text(name: &'static str, label: &'static str, example: &'static str) -> Self {
        Self { name, label, input: Input::Text { example } }
    }

    /// The kind of an operation: a choice while they are few.
    #[must_use]
    pub fn kind(kinds: Vec<String>) -> Self {
        let (name, label) = ("operation", "Kind");
        if kinds.len() > MAX_OFFERED {
            let example = kinds.into_iter().next().unwrap_or_default();
            return Self { name, label, input: Input::Name { example, all: "/admin/kinds" } };
        }
        Self::choice(name, label, "any kind", kinds.into_iter().map(|kind| (kind.clone(), kind)))
    }

    /// A day.
    #[must_use]
    pub const fn day(name: &'static str, label: &'static str) -> Self {
        Self { name, label, input: Input::Day }
    }

    /// On or off.
    #[must_use]
    pub const fn check(name: &'static str, label: &'static str) -> Self {
        Self { name, label, input: Input::Check }
    }

    /// What the chip of a value says.
    fn shown(&self, value: &str, asked: &Asked) -> String {
        let word = match &self.input {
            Input::Choice { options, .. } => {
                options.iter().find(|(known, _)| known == value).map(|(_, word)| word)
            }
            Input::Check => return self.label.to_owned(),
            // An instant names its zone itself.
            Input::Day if !value.contains('T') => return format!("{value} {}", asked.zone()),
            _ => None,
        };
        word.map_or_else(|| value.to_owned(), Clone::clone)
    }
}

/// The form.
#[component]
pub fn FilterForm<'a>(
    /// What is in force.
    asked: &'a Asked,
    /// The filters of the list.
    fields: &'a [FilterField],
) -> impl IntoView {
    let dated = fields.iter().any(|field| matches!(field.input, Input::Day));
    let changed: Vec<&str> =
        fields.iter().map(|field| field.name).chain(dated.then_some(ZONE)).collect();
    let zone = asked.zone_of_form();
    let zone = (dated && zone != Zone::UTC)
        .then(|| view! { <input type="hidden" name=ZONE value=zone.name()/> });
    let kept = asked
        .kept(&changed)
        .into_iter()
        .map(|(name, value)| view! { <input type="hidden" name=name value=value/> })
        .collect_view();
    let (checks, inputs): (Vec<_>, Vec<_>) =
        fields.iter().partition(|field| matches!(field.input, Input::Check));
    let inputs = inputs.into_iter().map(|field| input(field, asked)).collect_view();
    let checks = (!checks.is_empty()).then(|| {
        let checks = checks.into_iter().map(|field| input(field, asked)).collect_view();
        view! { <div class="filter-checks">{checks}</div> }
    });
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
            action=asked.path()
        >
            {kept}
            {zone}
            {inputs}
            {checks}
            <button class="button">"Apply"</button>
        </form>
    }
    .into_any()
}

fn input(field: &FilterField, asked: &Asked) -> AnyView {
    let (name, label) = (field.name, field.label);
    let id = format!("filter-{name}");
    let value = asked.value(name).unwrap_or_default().to_owned();
    let control = match &field.input {
        Input::Check => {
            return view! {
                <label class="filter-check">
                    <input type="checkbox" name=name value="true" checked=value == "true"/>
                    {label}
                </label>
            }
            .into_any();
        }
        Input::Choice { any, options } => choice(name, &id, any, options, &value),
        Input::Text { example } => text(name, &id, (*example).to_owned(), value),
        Input::Name { example, all } => view! {
            {text(name, &id, example.clone(), value)}
            <a class="filter-more" href=*all>"Look it up"</a>
        }
        .into_any(),
        Input::Day => {
            // A link may carry an instant within the day: the form then offers its day.
            let day = asked.day(name).unwrap_or_default();
            view! { <input class="filter-input" type="date" id=id.clone() name=name value=day/> }
                .into_any()
        }
    };
    // Whoever gives a day is told whose.
    let label = match field.input {
        Input::Day => format!("{label}, {}", asked.zone_of_form()),
        _ => label.to_owned(),
    };
    view! {
        <div class="filter-field">
            <label class="filter-label" for=id>{label}</label>
            {control}
        </div>
    }
    .into_any()
}

fn text(name: &'static str, id: &str, example: String, value: String) -> AnyView {
    view! {
        <input
            class="filter-input"
            type="text"
            id=id.to_owned()
            name=name
            value=value
            maxlength="512"
            placeholder=example
            autocomplete="off"
            spellcheck="false"
        />
    }
    .into_any()
}

fn choice(
    name: &'static str,
    id: &str,
    any: &'static str,
    options: &[(String, String)],
    chosen: &str,
) -> AnyView {
    let stranger = !chosen.is_empty() && options.iter().all(|(value, _)| *value != chosen);
    let stranger = stranger.then(|| (chosen.to_owned(), chosen.to_owned()));
    let options = options
        .iter()
        .cloned()
        .chain(stranger)
        .map(|(value, word)| {
            let selected = value == chosen;
            view! { <option value=value selected=selected>{word}</option> }
        })
        .collect_view();
    view! {
        <select class="filter-input" id=id.to_owned() name=name>
            <option value="">{any}</option>
            {options}
        </select>
    }
    .into_any()
}

/// What narrows the list, each with a link that takes it away.
#[component]
pub fn FilterChips<'a>(
    /// What is in force.
    asked: &'a Asked,
    /// The filters of the list.
    fields: &'a [FilterField],
) -> impl IntoView {
    let chips: Vec<_> = fields
        .iter()
        .filter_map(|field| asked.value(field.name).map(|value| (field, value)))
        .map(|(field, value)| {
            let name = (!matches!(field.input, Input::Check)).then(|| {
                view! { <span class="chip-name">{field.label.to_lowercase()}</span> }
            });
            view! {
                <li>
                    <a class="chip" href=asked.without(field.name)>
                        <span class="visually-hidden">"Remove filter: "</span>
                        {name}
                        <span class="chip-value">{field.shown(value, asked)}</span>
                        <Icon name=IconName::Cross/>
                    </a>
                </li>
            }
            .into_any()
        })
        .collect();
    (!chips.is_empty()).then(|| {
        view! {
            <ul class="chips" aria-label="Filters in force">
                {chips}
                <li><a class="quiet" href=asked.path()>"Clear all"</a></li>
            </ul>
        }
        .into_any()
    })
}
