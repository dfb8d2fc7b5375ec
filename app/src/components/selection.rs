//! The bar above a list whose rows can be picked: what is done to many at once. It is the form that the
//! checkboxes of the rows belong to; everything else happens on the page that it leads to.

use domain::{
    access::Permission,
    action::{TargetType, Verb},
    bulk::BulkList,
};
use leptos::prelude::*;

use crate::{
    api::{bulks::FREEZE, records::permits},
    location::Asked,
};

/// The id of the form, which the checkboxes name.
pub const SELECTION: &str = "selection";

/// The list at a path, where its rows can be picked.
#[must_use]
pub fn pickable(path: &str) -> Option<BulkList> {
    BulkList::ALL.into_iter().find(|list| list.path() == path)
}

/// Whether the reader can do anything with rows that are picked: act on many, or gather them.
#[must_use]
pub fn may_pick() -> bool {
    [Permission::Bulk, Permission::Incident]
        .into_iter()
        .any(|right| permits(right).unwrap_or_default())
}

/// A verb as people read it, on its own.
#[must_use]
pub const fn verb_word(target: TargetType, verb: Verb) -> &'static str {
    match (target, verb) {
        (_, Verb::Reconcile) => "Reconcile",
        (_, Verb::Retry) => "Grant another attempt",
        (_, Verb::Release) => "Release",
        (_, Verb::Cancel) => "Cancel",
        (_, Verb::Requeue) => "Requeue",
        (_, Verb::Skip) => "Skip",
        (_, Verb::Drop) => "Drop",
        (_, Verb::Run) => "Run",
        (_, Verb::Resume) => "Resume",
        (_, other) => other.as_str(),
    }
}

/// The bar.
#[component]
pub fn Selection<'a>(
    /// The list.
    list: BulkList,
    /// What it shows.
    asked: &'a Asked,
) -> impl IntoView {
    let target = list.target();
    let may = |right| permits(right).unwrap_or_default();
    let missing = |verb: Verb| {
        [Permission::Bulk, verb.permission_on(target)].into_iter().find(|right| !may(*right))
    };
    let verbs = list
        .verbs()
        .iter()
        .map(|verb| {
            let missing = missing(*verb);
            let why =
                missing.map(|right| format!("Your role lacks the right to {}.", right.label()));
            view! {
                <button
                    class="button"
                    type="submit"
                    name="bulk"
                    value=verb.as_str()
                    disabled=missing.is_some()
                    title=why
                >
                    {verb_word(target, *verb)}
                </button>
            }
        })
        .collect_view();
    let lacking = list.verbs().iter().find_map(|verb| missing(*verb)).map(|right| {
        let words = format!("Your role lacks the right to {}.", right.label());
        view! { <p class="selection-why">{words}</p> }
    });
    let gather = may(Permission::Incident);
    let query = asked.href();
    let query = query.split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default();
    let all = list.known(crate::location::pairs(&query)).is_ok_and(|known| !known.is_empty());
    let all = (all && may_pick()).then(|| {
        view! {
            <label class="selection-all">
                <input type="checkbox" name="all" value="true"/>
                "all that match the filters"
            </label>
        }
    });
    view! {
        <form class="selection" id=SELECTION method="post" action=FREEZE aria-label="Act on picked rows">
            <input type="hidden" name="list" value=list.as_str()/>
            <input type="hidden" name="filter" value=query/>
            <p class="selection-words">"Picked rows:"</p>
            {all}
            {verbs}
            <button
                class="button"
                type="submit"
                formaction="/incidents/gather"
                formmethod="get"
                disabled=!gather
            >
                "Gather into an incident"
            </button>
            <a class="selection-past" href="/bulks">"Earlier bulks"</a>
            {lacking}
        </form>
    }
    .into_any()
}

/// The cell of a row by which it is picked. `name` is what the row is called, for who does not see it.
#[must_use]
pub fn pick(record: &str, name: &str) -> AnyView {
    view! {
        <td role="cell" class="pick-cell">
            <input
                type="checkbox"
                form=SELECTION
                name="record"
                value=record.to_owned()
                aria-label=format!("Pick {name}")
            />
        </td>
    }
    .into_any()
}
