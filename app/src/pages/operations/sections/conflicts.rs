//! The same key with other payloads: who sent them, how often, and what differs.

use chrono::{DateTime, Utc};
use domain::{money::Money, view::ConflictView};
use leptos::prelude::*;

use crate::{
    components::{diff::Diff, part::Part, timestamp::Ago},
    text,
};

/// Comparisons that the page shows, and changed fields of each; the rest stands on each conflict's own
/// page.
const MAX_COMPARED: usize = 3;
const MAX_CHANGES: usize = 15;
/// The most of the names of who sent it, in bytes of the page.
const MAX_CALLERS: usize = 300;

/// Every other payload, beside the one that was accepted.
#[component]
pub fn Conflicts(
    /// The refused payloads.
    conflicts: Vec<ConflictView>,
    /// The amount of the accepted one.
    amount: Option<Money>,
    /// When they were read.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    if conflicts.is_empty() {
        return ().into_any();
    }
    let count = conflicts.len();
    view! {
        <Part id="conflicts" title="Same key, other payload" count>
            <div class="stack">
                {conflicts
                    .into_iter()
                    .enumerate()
                    .map(|(index, conflict)| {
                        one(conflict, amount.clone(), as_of, index < MAX_COMPARED)
                    })
                    .collect_view()}
            </div>
        </Part>
    }
    .into_any()
}

fn one(
    conflict: ConflictView,
    amount: Option<Money>,
    as_of: DateTime<Utc>,
    compared: bool,
) -> impl IntoView {
    let times = match conflict.count {
        1 => "Refused once".to_owned(),
        n => format!("Refused {n} times"),
    };
    let from = match conflict.callers.len() {
        0 => String::new(),
        _ => format!(", from {}", text::cut_end(&conflict.callers.join(", "), MAX_CALLERS)),
    };
    let (first_at, last_at, many) = (conflict.first_at, conflict.last_at, conflict.count > 1);
    let first = many.then(|| {
        view! {
            ", first "
            <Ago at=first_at as_of/>
        }
    });
    let page = format!("/conflicts/{}", conflict.id);
    let diff = compared.then(|| view! { <Diff conflict first=amount most=MAX_CHANGES/> });
    view! {
        <div>
            <p class="body-view-caption">
                {format!("{times}{from}")} ", last " <Ago at=last_at as_of/> {first} ". "
                <a href=page>"Both payloads"</a>
            </p>
            {diff}
        </div>
    }
}
