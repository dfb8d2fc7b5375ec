//! The keys of the console: one table for the help page, which the server makes, and for the sheet that
//! `?` opens in the browser, so that no key does what nobody can look up.

use leptos::prelude::*;

/// A page that `g` and a letter lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The letter after `g`.
    pub key: &'static str,
    /// The path.
    pub path: &'static str,
    /// What it is called.
    pub words: &'static str,
}

const fn place(key: &'static str, path: &'static str, words: &'static str) -> Place {
    Place { key, path, words }
}

/// The pages that a letter leads to.
pub const PLACES: [Place; 10] = [
    place("h", "/", "Attention: what needs a person now"),
    place("o", "/operations", "Operations"),
    place("w", "/workflows", "Workflows"),
    place("x", "/outbox", "Outbox"),
    place("i", "/inbox", "Inbox"),
    place("c", "/conflicts", "Conflicts"),
    place("l", "/leases", "Leases"),
    place("a", "/approvals", "Approvals"),
    place("n", "/incidents", "Incidents"),
    place("u", "/audit", "Audit"),
];

/// Keys together or one after another, and what they do.
type Line = (&'static [&'static str], &'static str);

const EVERYWHERE: &[Line] = &[
    (&["/"], "into the search"),
    (&["?"], "this sheet"),
    (&["Ctrl", "K"], "the palette: pages, the actions of a record, a search; on a Mac \u{2318} K"),
    (&["Esc"], "closes a dialog"),
];

const LISTS: &[Line] = &[
    (&["j"], "the next row"),
    (&["k"], "the row before"),
    (&["Enter"], "opens the row"),
    (&["x"], "picks the row, where rows can be picked"),
];

/// The table of all keys.
#[must_use]
pub fn sheet() -> AnyView {
    let places: Vec<_> = PLACES.iter().map(|place| line(&["g", place.key], place.words)).collect();
    view! {
        <div class="keys">
            {part("Everywhere", EVERYWHERE.iter().map(|(keys, words)| line(keys, words)).collect())}
            {part("In a list", LISTS.iter().map(|(keys, words)| line(keys, words)).collect())}
            {part("Go to a page: g, then", places)}
        </div>
    }
    .into_any()
}

fn part(title: &'static str, lines: Vec<AnyView>) -> AnyView {
    view! {
        <div class="keys-part">
            <h3 class="facts-title">{title}</h3>
            <dl class="keys-list">{lines}</dl>
        </div>
    }
    .into_any()
}

fn line(keys: &[&'static str], words: &'static str) -> AnyView {
    let keys = keys.iter().map(|key| view! { <kbd>{*key}</kbd> " " }).collect_view();
    view! { <div><dt>{keys}</dt><dd>{words}</dd></div> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_letter_leads_to_one_page() {
        for (index, place) in PLACES.iter().enumerate() {
            assert!(PLACES.iter().skip(index + 1).all(|other| other.key != place.key));
            assert_eq!(place.key.len(), 1);
        }
    }
}
