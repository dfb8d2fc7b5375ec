//! Instants: exact with their zone, or as an age that is counted from when the data was read.
//!
//! Guards against a page that reads its own clock: ages would follow a wrong one (D19).

use chrono::{DateTime, Utc};
use leptos::prelude::*;

use crate::text;

/// An exact instant in the reader's zone.
#[component]
pub fn Timestamp(
    /// The instant.
    at: DateTime<Utc>,
) -> impl IntoView {
    view! {
        <time class="instant" datetime=text::machine(at) title=text::instant_in_full(at)>
            {text::instant(at)}
        </time>
    }
}

/// An age; the exact instant stands in its title, and beside it while its row has the focus.
#[component]
pub fn Ago(
    /// The instant.
    at: DateTime<Utc>,
    /// When the data was read, by the database's clock.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let exact = text::instant_in_full(at);
    view! {
        <time class="ago" datetime=text::machine(at) title=exact>
            {text::ago(at, as_of)}
        </time>
    }
}
