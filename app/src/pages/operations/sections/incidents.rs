//! Problems about an operation that stay open until a person closes them.

use domain::view::IncidentView;
use leptos::prelude::*;

use crate::components::{part::Part, slice::Slice};
use crate::{
    components::notice::{Notice, Tone},
    text,
};

/// Incidents that one page shows.
const SHOWN: usize = 10;

/// Incidents, open ones tinted.
#[component]
pub fn Incidents<'a>(
    /// The incidents.
    incidents: &'a [IncidentView],
    /// The path and query of the page.
    place: (&'a str, &'a str),
) -> impl IntoView {
    if incidents.is_empty() {
        return ().into_any();
    }
    let count = incidents.len();
    let piece = Slice::asked(place, "incidents", SHOWN, count);
    let shown = piece.of(incidents).iter().cloned().map(one).collect_view();
    view! {
        <Part id="incidents" title="Incidents" count>
            <div class="stack">{shown}</div>
            {piece.ways()}
        </Part>
    }
    .into_any()
}

fn one(incident: IncidentView) -> impl IntoView {
    let (tone, until) = match incident.closed_at {
        Some(at) => (Tone::Neutral, format!(", closed {}", text::instant(at))),
        None => (Tone::Caution, ", open".to_owned()),
    };
    let line = format!(
        "{}: opened {}{until}",
        incident.cause.replace('_', " "),
        text::instant(incident.opened_at)
    );
    let href = format!("/incidents/{}", incident.id);
    view! {
        <Notice tone title=incident.summary>
            <p>{line} " " <a href=href>"Open the incident"</a></p>
        </Notice>
    }
}
