//! A long part of a page in pieces: which piece the address asks for, and the ways to the others. What is
//! left out is one click away and said to be left out.

use leptos::prelude::*;

use crate::location::{href, pairs, value};

/// A piece of a long part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    name: &'static str,
    path: String,
    query: String,
    from: usize,
    size: usize,
    total: usize,
}

impl Slice {
    /// The piece that the query of a page asks for under a name, by the number of its first thing.
    #[must_use]
    pub fn asked(
        (path, query): (&str, &str),
        name: &'static str,
        size: usize,
        total: usize,
    ) -> Self {
        let first = value(query, name).and_then(|first| first.parse::<usize>().ok()).unwrap_or(1);
        let last_start = total.saturating_sub(1) / size * size;
        let from = first.saturating_sub(1).min(last_start);
        Self { name, path: path.to_owned(), query: query.to_owned(), from, size, total }
    }

    /// The things of this piece.
    #[must_use]
    pub fn of<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        let end = (self.from + self.size).min(all.len());
        all.get(self.from..end).unwrap_or_default()
    }

    /// How many stand before it.
    #[must_use]
    pub const fn from(&self) -> usize {
        self.from
    }

    fn at(&self, from: usize) -> String {
        let first = (from + 1).to_string();
        let kept = pairs(&self.query);
        let kept = kept.iter().filter(|(name, _)| name != self.name);
        let parts = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        format!("{}#{}", href(&self.path, parts.chain([(self.name, first.as_str())])), self.name)
    }

    /// Where in the whole it stands, with the ways on; nothing where it is the whole.
    #[must_use]
    pub fn ways(&self) -> AnyView {
        if self.total <= self.size {
            return ().into_any();
        }
        let end = (self.from + self.size).min(self.total);
        let words = format!("{} to {end} of {}", self.from + 1, self.total);
        let before = (self.from > 0).then(|| self.at(self.from.saturating_sub(self.size)));
        let after = (end < self.total).then(|| self.at(end));
        view! {
            <p class="slice">
                <span>{words}</span>
                {before.map(|href| view! { <a href=href>"Those before"</a> })}
                {after.map(|href| view! { <a href=href>"Those after"</a> })}
            </p>
        }
        .into_any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thing_stands_in_some_piece_and_a_made_up_place_is_no_error() {
        let all: Vec<_> = (0..300).collect();
        let piece = |query: &str| Slice::asked(("/w/1", query), "steps", 50, all.len());
        assert_eq!(piece("").of(&all).first(), Some(&0));
        assert_eq!(piece("steps=51").of(&all), &all[50..100]);
        assert_eq!(piece("steps=999999").of(&all).last(), Some(&299));
        assert_eq!(piece("steps=x").of(&all).len(), 50);
        assert_eq!(Slice::asked(("/w/1", "steps=9"), "steps", 50, 0).of(&[0; 0]), &[0; 0]);
        assert_eq!(piece("steps=51&moves=7").at(100), "/w/1?moves=7&steps=101#steps");
    }
}
