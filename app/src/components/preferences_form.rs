//! The form in which a person says how the console looks: kept with the account. The rail's switches post
//! single fields of it.

use domain::{
    access::Permission,
    preferences::{Density, PAGE_SIZES, Theme, ZoneChoice},
};
use leptos::prelude::*;

use super::refusal_summary::refusal_summary;
use crate::{error::RefusalView, look::Look, zone::Zone};

/// The form, filled with what is in force; above it why it was refused, where it was.
#[component]
pub fn PreferencesForm(
    /// The refusal.
    refused: Option<RefusalView>,
) -> impl IntoView {
    let refused = refused.map(|refusal| refusal_summary(&refusal, Permission::Read));
    let look = Look::in_force();
    let chosen = &look.chosen;
    let themes =
        Theme::ALL.iter().map(|theme| (theme.as_str().to_owned(), theme.label().to_owned()));
    let densities = Density::ALL
        .iter()
        .map(|density| (density.as_str().to_owned(), density.label().to_owned()));
    let rows = PAGE_SIZES.iter().map(|rows| (rows.to_string(), format!("{rows} rows")));
    view! {
        {refused}
        <form class="form" method="post" action="/preferences">
            <input type="hidden" name="return_to" value="/me#preferences"/>
            {choice("zone", "Times are shown in", zones(&look), chosen.zone.as_str())}
            <p class="field-help">
                "Every time names its zone. Days in filters are days of this zone; a link keeps the zone it "
                "was made in."
            </p>
            {choice("theme", "Theme", themes, chosen.theme.as_str())}
            {choice("density", "Rows of lists", densities, chosen.density.as_str())}
            {choice("rows", "Length of a page", rows, &chosen.rows.to_string())}
            <div class="form-actions"><button class="button button--primary">"Keep these"</button></div>
        </form>
    }
    .into_any()
}

/// UTC, what the browser says, and all places.
fn zones(look: &Look) -> Vec<(String, String)> {
    let local = match look.browser {
        Some(zone) => format!("local: {zone}"),
        None => "local: what the browser says, once it has".to_owned(),
    };
    let mut zones = vec![("utc".to_owned(), "UTC".to_owned()), ("local".to_owned(), local)];
    let named = |name: &str| (name.to_owned(), name.replace('_', " "));
    zones.extend(Zone::offered().filter(|name| *name != Zone::UTC.name()).map(named));
    // One that is not offered but was chosen, such as a fixed offset, stays.
    if let ZoneChoice::Named(name) = &look.chosen.zone
        && zones.iter().all(|(known, _)| known != name)
    {
        zones.push(named(name));
    }
    zones
}

fn choice(
    name: &'static str,
    label: &'static str,
    options: impl IntoIterator<Item = (String, String)>,
    chosen: &str,
) -> AnyView {
    let options = options
        .into_iter()
        .map(|(value, word)| {
            let selected = value == chosen;
            view! { <option value=value selected=selected>{word}</option> }
        })
        .collect_view();
    view! {
        <div class="field">
            <label class="field-label" for=name>{label}</label>
            <select class="input" id=name name=name>{options}</select>
        </div>
    }
    .into_any()
}
