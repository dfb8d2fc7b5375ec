//! The bar above a list whose rows can be picked: what is done to many at once. It is the form that the
//! checkboxes of the rows belong to; everything else happens on the page that it leads to. Of records that
//! nothing is done to in bulk, those that can be gathered into an incident are picked for that alone.

use domain::{
    access::Permission,
    action::{TargetType, Verb},
    bulk::BulkList,
    record::RecordType,
};
use leptos::prelude::*;

use super::notice::lacks;
use crate::{
    api::{bulks::FREEZE, records::permits},
    location::Asked,
};

/// The id of the form, which the checkboxes name.
pub const SELECTION: &str = "selection";

/// The page that picked records are gathered on.
const GATHER: &str = "/incidents/gather";

/// What the rows of a list are picked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picks {
    /// Bulk verbs, and an incident.
    Bulk(BulkList),
    /// An incident alone.
    Gather,
}

/// What the rows of the list at a path are picked for; `None` where they are not.
#[must_use]
pub fn pickable(path: &str) -> Option<Picks> {
    let gathered = |record: &RecordType| record.can_be_gathered() && record.list() == path;
    let gather = RecordType::ALL.iter().any(gathered).then_some(Picks::Gather);
    BulkList::ALL.into_iter().find(|list| list.path() == path).map(Picks::Bulk).or(gather)
}

/// Whether the reader can do anything with rows that are picked: act on many, or gather them.
#[must_use]
pub fn may_pick() -> bool {
    [Permission::Bulk, Permission::Incident].into_iter().any(may)
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

fn may(right: Permission) -> bool {
    permits(right).unwrap_or_default()
}

/// The bar.
#[component]
pub fn Selection<'a>(
    /// What rows are picked for.
    picks: Picks,
    /// What the list shows.
    asked: &'a Asked,
) -> impl IntoView {
    match picks {
        Picks::Bulk(list) => bulk(list, asked),
        Picks::Gather => gather(),
    }
}

/// Nothing but the way into an incident.
fn gather() -> AnyView {
    let lacking = (!may(Permission::Incident)).then(|| {
        view! { <p class="selection-why">{lacks(Permission::Incident)}</p> }
    });
    view! {
        <form class="selection" id=SELECTION method="get" action=GATHER aria-label="Gather picked rows">
            <p class="selection-words">"Picked rows:"</p>
            <button class="button" type="submit" disabled=lacking.is_some()>
                "Gather into an incident"
            </button>
            {lacking}
        </form>
    }
    .into_any()
}

fn bulk(list: BulkList, asked: &Asked) -> AnyView {
    let target = list.target();
    let missing = |verb: Verb| {
        [Permission::Bulk, verb.permission_on(target)].into_iter().find(|right| !may(*right))
    };
    let verbs = list
        .verbs()
        .iter()
        .map(|verb| {
            let missing = missing(*verb);
            let why = missing.map(lacks);
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
        view! { <p class="selection-why">{lacks(right)}</p> }
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
                formaction=GATHER
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_list_whose_records_can_be_gathered_are_picked() {
        for record in RecordType::ALL {
            let picked = pickable(record.list()).is_some();
            assert_eq!(picked, record.can_be_gathered(), "{record}");
        }
        assert_eq!(pickable("/conflicts"), Some(Picks::Gather));
        assert_eq!(pickable("/approvals"), Some(Picks::Gather));
        assert_eq!(pickable("/leases"), Some(Picks::Bulk(BulkList::Leases)));
        assert_eq!(pickable("/audit"), None, "its rows are no records");
    }
}
