//! Which columns of a list are shown: a form that changes the address, so that a link and a saved view
//! carry them. The column by which people know a record always stays.

use leptos::prelude::*;

use super::data_table::Column;
use crate::location::{Asked, COLUMNS};

/// A column's name in an address: its heading in small letters.
fn slug(column: &Column) -> String {
    let mut slug = String::new();
    for c in column.0.chars() {
        if c.is_alphanumeric() {
            slug.extend(c.to_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

/// The place of the column by which people know a record.
fn key(columns: &[Column]) -> usize {
    let place = |class: &str| {
        columns.iter().position(|(_, classes)| classes.split(' ').any(|each| each == class))
    };
    place("col-key").or_else(|| place("col-words")).unwrap_or_default()
}

/// Whether each column is shown. A name that the list does not have says nothing: columns come and go
/// with versions, and a link must not break by it.
fn shown(columns: &[Column], asked: &Asked) -> Vec<bool> {
    let Some(wanted) = asked.columns() else { return vec![true; columns.len()] };
    let key = key(columns);
    columns
        .iter()
        .enumerate()
        .map(|(place, column)| place == key || wanted.contains(&slug(column).as_str()))
        .collect()
}

/// The places of the columns that are left out, from one, as the style sheet counts; `None` for none.
#[must_use]
pub fn left_out(columns: &[Column], asked: &Asked) -> Option<String> {
    let shown = shown(columns, asked);
    let places = shown.iter().zip(1..).filter(|(shown, _)| !**shown);
    let places: Vec<_> = places.map(|(_, place): (_, usize)| place.to_string()).collect();
    (!places.is_empty()).then(|| places.join(" "))
}

/// The form.
#[must_use]
pub fn columns_form(columns: &[Column], asked: &Asked) -> AnyView {
    let (shown, key) = (shown(columns, asked), key(columns));
    let kept = asked
        .kept(&[COLUMNS])
        .into_iter()
        .map(|(name, value)| view! { <input type="hidden" name=name value=value/> })
        .collect_view();
    let always = columns.get(key).map(slug);
    let boxes = columns
        .iter()
        .zip(shown)
        .enumerate()
        .map(|(place, (column, shown))| {
            view! {
                <label class="filter-check">
                    <input
                        type="checkbox"
                        name=COLUMNS
                        value=slug(column)
                        checked=shown
                        disabled=place == key
                    />
                    {column.0}
                </label>
            }
        })
        .collect_view();
    let all = asked.columns().map(|_| {
        view! { <a class="quiet" href=asked.without(COLUMNS)>"All columns"</a> }
    });
    view! {
        <form class="tool-form" method="get" action=asked.path()>
            {kept}
            // A box that cannot be unticked is not sent; without any the address would mean all.
            <input type="hidden" name=COLUMNS value=always/>
            <fieldset class="tool-boxes">
                <legend class="tool-title">"Columns"</legend>
                {boxes}
            </fieldset>
            <div class="tool-buttons">
                <button class="button">"Show these"</button>
                {all}
            </div>
        </form>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: &[Column] = &[
        ("State", "col-status"),
        ("Sent again by", "col-name"),
        ("Key", "col-key"),
        ("Of the other", "col-amount num"),
    ];

    #[test]
    fn the_key_stays_and_an_unknown_name_says_nothing() {
        let out = |query| left_out(OF, &Asked::read("/conflicts", query));
        assert_eq!(out(""), None);
        assert_eq!(out("columns=state,sent-again-by,of-the-other"), None);
        assert_eq!(out("columns=of-the-other"), Some("1 2".into()));
        assert_eq!(out("columns=gone"), Some("1 2 4".into()));
        assert_eq!(key(&[("Number", "col-count num"), ("Why", "col-words")]), 1);
    }
}
