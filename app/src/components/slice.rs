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
    /// The first thing of each piece.
    starts: Vec<usize>,
    /// Which piece.
    at: usize,
    total: usize,
}

impl Slice {
    /// The piece that the query of a page asks for under a name, by the number of one of its things: the
    /// first, unless it asks.
    #[must_use]
    pub fn asked(place: (&str, &str), name: &'static str, size: usize, total: usize) -> Self {
        let wanted = asked_for(place.1, name).unwrap_or_default();
        Self::read(place, name, size, (wanted, total))
    }

    /// The same of things of different weight: a piece weighs at most `max`, or is one thing alone.
    #[must_use]
    pub fn weighed(
        place: (&str, &str),
        name: &'static str,
        max: usize,
        weights: impl Iterator<Item = usize>,
    ) -> Self {
        let (mut starts, mut filled, mut total) = (vec![0], 0, 0);
        for weight in weights {
            if filled > 0 && filled + weight > max {
                starts.push(total);
                filled = 0;
            }
            filled += weight;
            total += 1;
        }
        let wanted = asked_for(place.1, name).unwrap_or_default();
        Self::new(place, name, starts, (wanted, total))
    }

    /// A piece that was read by itself: from which thing on, of how many, in pieces of how many.
    #[must_use]
    pub fn read(
        place: (&str, &str),
        name: &'static str,
        size: usize,
        (from, total): (usize, usize),
    ) -> Self {
        let starts = (0..total.max(1)).step_by(size).collect();
        Self::new(place, name, starts, (from, total))
    }

    fn new(
        (path, query): (&str, &str),
        name: &'static str,
        starts: Vec<usize>,
        (from, total): (usize, usize),
    ) -> Self {
        let at = starts.iter().rposition(|start| *start <= from).unwrap_or_default();
        Self { name, path: path.to_owned(), query: query.to_owned(), starts, at, total }
    }

    /// The things of this piece.
    #[must_use]
    pub fn of<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        all.get(self.from()..self.end().min(all.len())).unwrap_or_default()
    }

    /// How many stand before it.
    #[must_use]
    pub fn from(&self) -> usize {
        self.starts.get(self.at).copied().unwrap_or_default()
    }

    fn end(&self) -> usize {
        self.starts.get(self.at + 1).copied().unwrap_or(self.total)
    }

    /// The address of a thing of this piece, which leads to it whatever piece others see first; its
    /// anchor alone where the piece is the whole.
    #[must_use]
    pub fn link(&self, anchor: &str) -> String {
        if self.starts.len() < 2 { format!("#{anchor}") } else { self.to(self.from(), anchor) }
    }

    fn to(&self, from: usize, anchor: &str) -> String {
        let first = (from + 1).to_string();
        let kept = pairs(&self.query);
        let kept = kept.iter().filter(|(name, _)| name != self.name);
        let parts = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        format!("{}#{anchor}", href(&self.path, parts.chain([(self.name, first.as_str())])))
    }

    /// Where in the whole it stands, with the ways on; nothing where it is the whole.
    #[must_use]
    pub fn ways(&self) -> AnyView {
        let last = self.starts.len().saturating_sub(1);
        if last == 0 {
            return ().into_any();
        }
        let words = format!("{} to {} of {}", self.from() + 1, self.end(), self.total);
        let way = |there: bool, piece: usize, words: &'static str| {
            let from = self.starts.get(piece).copied().unwrap_or_default();
            let href = self.to(from, self.name);
            there.then(|| view! { <a href=href>{words}</a> })
        };
        view! {
            <p class="slice">
                <span>{words}</span>
                {way(self.at > 1, 0, "The first")}
                {way(self.at > 0, self.at.saturating_sub(1), "Those before")}
                {way(self.at < last, self.at + 1, "Those after")}
                {way(self.at + 1 < last, last, "The last")}
            </p>
        }
        .into_any()
    }
}

/// The place, from zero, that the query of a page asks for under a name.
#[must_use]
pub fn asked_for(query: &str, name: &str) -> Option<usize> {
    let number = value(query, name)?.parse::<usize>().ok()?;
    number.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thing_stands_in_some_piece_and_a_made_up_place_is_no_error() {
        let all: Vec<_> = (0..300).collect();
        let piece = |query: &str| Slice::asked(("/w/1", query), "steps", 50, all.len());
        assert_eq!(piece("").of(&all).first(), Some(&0));
        for place in ["steps=51", "steps=77", "steps=100"] {
            assert_eq!(piece(place).of(&all), &all[50..100], "{place}");
        }
        assert_eq!(piece("steps=999999").of(&all).last(), Some(&299));
        assert_eq!(piece("steps=x").of(&all).len(), 50);
        assert_eq!(piece("steps=0").of(&all).len(), 50);
        assert_eq!(Slice::asked(("/w/1", "steps=9"), "steps", 50, 0).of(&[0; 0]), &[0; 0]);
        assert_eq!(piece("steps=51&moves=7").link("x"), "/w/1?moves=7&steps=51#x");
        assert_eq!(Slice::asked(("/w/1", "steps=9"), "steps", 50, 50).link("x"), "#x");
    }

    #[test]
    fn heavy_things_share_no_piece_and_none_is_left_out() {
        let weights = [10, 90, 10, 200, 1, 1];
        let piece = |query: &str| {
            Slice::weighed(("/w/1", query), "notes", 100, weights.iter().copied())
                .of(&weights)
                .to_vec()
        };
        assert_eq!(piece(""), [10, 90]);
        assert_eq!(piece("notes=3"), [10]);
        assert_eq!(piece("notes=4"), [200]);
        assert_eq!(piece("notes=6"), [1, 1]);
    }

    #[test]
    fn what_was_read_by_itself_says_where_it_stands() {
        let piece = Slice::read(("/o/1", ""), "timeline", 40, (4_960, 5_000));
        assert_eq!((piece.from(), piece.end()), (4_960, 5_000));
        assert_eq!(piece.link("e9"), "/o/1?timeline=4961#e9");
    }
}
