//! The form in which a person says how the console looks: kept with the account, and before sign-in in
//! cookies alone. The rail's switches post single fields of it.

use domain::{
    access::Permission,
    preferences::{Density, PAGE_SIZES, Theme, ZoneChoice},
};
use leptos::prelude::*;

use super::{
    form_field::{described, is_wrong},
    refusal_summary::refusal_summary,
};
use crate::{
    error::{Field, RefusalView},
    look::Look,
    zone::Zone,
};

/// What the choice of a zone means.
const ZONES: &str = "Every time names its zone. Days in filters are days of this zone; a link keeps the \
                     zone it was made in.";

/// Whether a refused field is one of this form's.
#[must_use]
pub fn is_preference(field: Field) -> bool {
    matches!(field, Field::Zone | Field::Theme | Field::Density | Field::Rows)
}

/// The form, filled with what is in force; above it why it was refused, where it was. `return_to` is the
/// page to come back to, and `button` the look of its button: a page has one that matters most.
pub fn preferences_form(
    refusal: Option<&RefusalView>,
    return_to: String,
    button: &'static str,
) -> AnyView {
    let summary = refusal.map(|refusal| refusal_summary(refusal, Permission::Read));
    let look = Look::in_force();
    let chosen = &look.chosen;
    let themes =
        Theme::ALL.iter().map(|theme| (theme.as_str().to_owned(), theme.label().to_owned()));
    let densities = Density::ALL
        .iter()
        .map(|density| (density.as_str().to_owned(), density.label().to_owned()));
    let rows = PAGE_SIZES.iter().map(|rows| (rows.to_string(), format!("{rows} rows")));
    view! {
        <form class="form" method="post" action="/preferences">
            {summary}
            <input type="hidden" name="return_to" value=return_to/>
            {choice(Field::Zone, zones(&look), chosen.zone.as_str(), refusal)}
            {choice(Field::Theme, themes, chosen.theme.as_str(), refusal)}
            {choice(Field::Density, densities, chosen.density.as_str(), refusal)}
            {choice(Field::Rows, rows, &chosen.rows.to_string(), refusal)}
            <div class="form-actions"><button class=button>"Keep these"</button></div>
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
    field: Field,
    options: impl IntoIterator<Item = (String, String)>,
    chosen: &str,
    refusal: Option<&RefusalView>,
) -> AnyView {
    let (name, wrong) = (field.as_str(), is_wrong(field, refusal));
    let help = (field == Field::Zone).then_some(ZONES);
    let described = match (help, wrong) {
        (Some(_), wrong) => Some(described(field, wrong)),
        (None, true) => Some(format!("{name}-error")),
        (None, false) => None,
    };
    let error = wrong.then(|| {
        view! { <p class="field-error" id=format!("{name}-error")>{field.mend()}</p> }
    });
    let help = help.map(|help| {
        view! { <p class="field-help" id=format!("{name}-help")>{help}</p> }
    });
    let options = options
        .into_iter()
        .map(|(value, word)| {
            let selected = value == chosen;
            view! { <option value=value selected=selected>{word}</option> }
        })
        .collect_view();
    view! {
        <div class="field" data-invalid=wrong.then_some("true")>
            <label class="field-label" for=name>{field.label()}</label>
            <select
                class="input"
                id=name
                name=name
                aria-describedby=described
                aria-invalid=wrong.then_some("true")
            >
                {options}
            </select>
            {error}
            {help}
        </div>
    }
    .into_any()
}
