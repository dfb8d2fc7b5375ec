//! Facts as a definition list: what is known, each under its name, absent ones left out.

use chrono::{DateTime, Utc};
use leptos::prelude::*;

use super::{
    icon::{Icon, IconName},
    key::Key,
    timestamp::Timestamp,
};
use crate::{islands::CopyButton, text};

/// One fact.
#[must_use]
pub fn fact(name: &'static str, value: impl IntoView + 'static) -> AnyView {
    view! {
        <div class="fact">
            <dt>{name}</dt>
            <dd>{value.into_view()}</dd>
        </div>
    }
    .into_any()
}

/// How often something happened, in words.
#[must_use]
pub fn times(count: i64) -> String {
    match count {
        ..=0 => "never".to_owned(),
        1 => "once".to_owned(),
        many => format!("{many} times"),
    }
}

/// The longest text that stands beside its name, in characters.
const BESIDE: usize = 120;

/// What a person wrote: below its name where it is long.
#[must_use]
pub fn fact_text(name: &'static str, value: String) -> AnyView {
    let long = value.chars().count() > BESIDE || value.contains('\n');
    let class = if long { "fact fact--wide" } else { "fact" };
    view! {
        <div class=class>
            <dt>{name}</dt>
            <dd>{value}</dd>
        </div>
    }
    .into_any()
}

/// A key, a reference or an id, whole, with a button that copies it.
#[must_use]
pub fn fact_key(name: &'static str, value: String) -> AnyView {
    let what = format!("the {}", name.to_lowercase());
    fact(
        name,
        view! {
            <Key text=value.clone() whole=true/>
            <CopyButton text=value what link=false><Icon name=IconName::Copy/></CopyButton>
        },
    )
}

/// An instant, where there is one.
#[must_use]
pub fn fact_at(name: &'static str, at: Option<DateTime<Utc>>) -> Option<AnyView> {
    at.map(|at| fact(name, view! { <Timestamp at/> }))
}

/// A text that may be a link: only `https` becomes one, everything else stays text (T02).
#[must_use]
pub fn text_or_link(value: String) -> AnyView {
    match text::safe_href(&value).filter(|href| !href.starts_with('/')) {
        Some(href) => {
            let href = href.to_owned();
            view! {
                <a href=href rel="external noopener noreferrer" target="_blank">
                    {value}
                </a>
            }
            .into_any()
        }
        None => view! { <span>{value}</span> }.into_any(),
    }
}
