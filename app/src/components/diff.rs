//! Two payloads under one key, side by side: changed leaves only, the money first, the rest counted.

use domain::{
    money::Money,
    view::{ConflictView, FieldChange},
};
use leptos::prelude::*;

use crate::{
    difference::{difference, signed},
    text,
};

/// The most of one value, and of one path, that is shown, in bytes of the page: both payloads can be
/// had whole.
const MAX_VALUE: usize = 400;
const MAX_PATH: usize = 200;

/// The comparison of a refused payload with the one that was accepted.
#[component]
pub fn Diff(
    /// The refused payload.
    conflict: ConflictView,
    /// The amount of the accepted one.
    first: Option<Money>,
    /// How many changed fields are shown.
    most: usize,
) -> impl IntoView {
    let money = money_line(first, conflict.amount);
    let same = match conflict.unchanged {
        1 => "1 field is the same.".to_owned(),
        n => format!("{n} fields are the same."),
    };
    let cut = conflict.cut.then_some(" The comparison stops at the bound of what is stored.");
    let further = match conflict.changes.len().saturating_sub(most) {
        0 => None,
        1 => Some(" 1 more field differs.".to_owned()),
        n => Some(format!(" {n} more fields differ.")),
    };
    let table = (!conflict.changes.is_empty()).then(|| {
        view! {
            <table class="diff-table">
                <thead>
                    <tr>
                        <th scope="col">"Field"</th>
                        <th scope="col">"Accepted first"</th>
                        <th scope="col">"Sent again, refused"</th>
                    </tr>
                </thead>
                <tbody>{conflict.changes.into_iter().take(most).map(row).collect_view()}</tbody>
            </table>
        }
    });
    view! {
        <div class="diff">
            {money}
            {table}
            <p class="diff-same">{same} {further} {cut}</p>
        </div>
    }
    .into_any()
}

fn row(change: FieldChange) -> impl IntoView {
    view! {
        <tr>
            <th scope="row" class="diff-path">
                {match change.pointer.as_str() {
                    "" => "(whole)".to_owned(),
                    path => text::cut_end(path, MAX_PATH),
                }}
            </th>
            <td class="diff-first" data-label="accepted first">
                {leaf(change.first)}
            </td>
            <td class="diff-other" data-label="sent again">
                {leaf(change.other)}
            </td>
        </tr>
    }
}

fn leaf(value: Option<String>) -> AnyView {
    match value {
        Some(value) => {
            let value = text::cut_end(&value, MAX_VALUE);
            view! { <span class="diff-value">{value}</span> }.into_any()
        }
        None => view! { <span class="diff-absent">"not there"</span> }.into_any(),
    }
}

fn money_line(first: Option<Money>, other: Option<Money>) -> Option<AnyView> {
    let (first, other) = (first?, other?);
    if first == other {
        return None;
    }
    let (words, difference) = match difference(&first, &other) {
        Some(difference) if difference.amount_minor > 0 => {
            ("The refused request asked for more:", Some(signed(&difference)))
        }
        Some(difference) => ("The refused request asked for less:", Some(signed(&difference))),
        None => ("The refused request named another currency:", None),
    };
    Some(
        view! {
            <p class="diff-money">
                <span class="diff-money-words">{words}</span>
                <span class="diff-money-first">{first.to_string()}</span>
                <span class="diff-arrow" aria-hidden="true">
                    "→"
                </span>
                <span class="diff-money-other">{other.to_string()}</span>
                {difference.map(|difference| view! { <strong>{difference}</strong> })}
            </p>
        }
        .into_any(),
    )
}
