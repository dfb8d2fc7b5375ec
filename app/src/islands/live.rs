//! What has changed since the page was read: marks at the rows that did, a line that says how many and
//! leads to the page anew. Nothing moves and nothing is read by itself; while rows are selected it is
//! silent, and a page that nobody sees listens to nothing (browsers hold six connections to a host).
//!
//! Fed by `GET /live`. Where that does not answer, the line stays what it is without scripts.

use std::{cell::RefCell, rc::Rc};

use leptos::{
    ev,
    prelude::*,
    wasm_bindgen::{JsCast as _, closure::Closure},
    web_sys::{EventSource, MessageEvent},
};

/// Records that are told apart; more are many.
const MOST: usize = 500;

/// The line above a page.
#[island]
pub fn Live(
    /// The stream's address, up to the instant since when it is to tell.
    #[prop(into)]
    stream: String,
    /// That instant: when the page was read.
    since: String,
    /// What the page shows: one record (`operation/id`), the records of a list (`operation`), or
    /// everything.
    about: String,
    /// What a new record may not do, where a list shows a part of itself alone (`match these filters`).
    may_miss: String,
    /// The page, to read it again.
    href: String,
    /// What the line says as long as nothing has changed.
    children: Children,
) -> impl IntoView {
    let (words, set_words) = signal(None::<String>);
    Effect::new(move || {
        let heard = Rc::new(RefCell::new(Heard { last: since.clone(), ..Heard::default() }));
        let show = {
            let (heard, about, may_miss) = (Rc::clone(&heard), about.clone(), may_miss.clone());
            move || {
                if !selecting() {
                    set_words.set(heard.borrow().words(&about, &may_miss));
                }
            }
        };
        let take = {
            let (heard, show) = (Rc::clone(&heard), show.clone());
            Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
                heard.borrow_mut().take(&event);
                show();
            })
        };
        let listen = {
            let stream = stream.clone();
            move || heard.borrow_mut().listen(&stream, &take)
        };
        listen();
        // Both last as long as the document.
        window_event_listener(ev::visibilitychange, move |_| listen());
        window_event_listener(ev::change, move |_| show());
    });
    view! {
        <p class="live" role="status" data-news=move || words.with(Option::is_some).then_some("")>
            <a href=href>
                <span hidden=move || words.with(Option::is_some)>{children()}</span>
                {words}
            </a>
        </p>
    }
}

/// Whether rows are picked, or all that match are meant: what is to be decided together must not change
/// under the hand.
fn selecting() -> bool {
    const PICKED: &str = "input[form=selection]:checked, #selection input:checked";
    matches!(document().query_selector(PICKED), Ok(Some(_)))
}

/// What has been heard.
#[derive(Default)]
struct Heard {
    /// Each record, and whether it is new.
    records: Vec<(String, bool)>,
    /// Whether there is more than has been named.
    much: bool,
    /// The instant of the last of it.
    last: String,
    source: Option<EventSource>,
}

impl Heard {
    /// Opens the stream of a page that is seen, and closes that of one that is not.
    fn listen(&mut self, stream: &str, take: &Closure<dyn Fn(MessageEvent)>) {
        if document().hidden() {
            if let Some(source) = self.source.take() {
                source.close();
            }
        } else if self
            .source
            .as_ref()
            .is_none_or(|source| source.ready_state() == EventSource::CLOSED)
        {
            self.source = EventSource::new(&format!("{stream}{}", self.last)).ok();
            if let Some(source) = &self.source {
                source.set_onmessage(Some(take.as_ref().unchecked_ref()));
            }
        }
    }

    fn take(&mut self, event: &MessageEvent) {
        let items = event.data().as_string().unwrap_or_default();
        for item in items.split(' ') {
            let record = item.split('@').next().unwrap_or_default();
            let (record, new) =
                record.strip_prefix('+').map_or((record, false), |rest| (rest, true));
            if let Some(known) = self.records.iter_mut().find(|(known, _)| known == record) {
                known.1 |= new;
            } else if record == "*" || self.records.len() == MOST {
                self.much = true;
            } else {
                self.records.push((record.to_owned(), new));
            }
        }
        self.last = event.last_event_id();
    }

    /// Marks the rows, and says what there is to say.
    fn words(&self, about: &str, may_miss: &str) -> Option<String> {
        if about.contains('/') {
            let older = self.much || self.records.iter().any(|(record, _)| record == about);
            return older.then(|| "This page is older than the state. Read it again".to_owned());
        }
        let (mut new, mut changed, mut others) = (0, 0, 0);
        for (record, is_new) in &self.records {
            if mark(record) || about.is_empty() {
                changed += 1;
            } else if record.strip_prefix(about).is_some_and(|rest| rest.starts_with('/')) {
                if *is_new { new += 1 } else { others += 1 }
            }
        }
        if self.much {
            return Some("Much has changed. Read again".to_owned());
        }
        counted([new, changed, others], about, may_miss)
    }
}

/// How many are new, how many rows and how many others of the list's kind have changed. A new record is
/// called a row only where the page would show it.
fn counted([new, changed, others]: [usize; 3], about: &str, may_miss: &str) -> Option<String> {
    let what_is_new = match (may_miss.is_empty(), new) {
        (true, 1) => "new row".to_owned(),
        (true, _) => "new rows".to_owned(),
        (false, 1) => format!("new {about}"),
        (false, _) => format!("new {about}s"),
    };
    let others_changed = if others == 1 { "other changed" } else { "others changed" };
    let parts = [(new, &*what_is_new), (changed, "changed"), (others, others_changed)];
    let parts = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let parts: Vec<_> = parts.collect();
    let doubt = match (may_miss.is_empty(), new) {
        (true, _) | (_, 0) => String::new(),
        (false, 1) => format!("; what is new may not {may_miss}"),
        (false, _) => format!("; those that are new may not {may_miss}"),
    };
    (!parts.is_empty()).then(|| format!("{}{doubt}. Read again", parts.join(", ")))
}

/// Marks a record's row; false where the page has none.
fn mark(record: &str) -> bool {
    let row = document().query_selector(&format!("tr[data-record='{record}']"));
    let Ok(Some(row)) = row else { return false };
    // Fails only for a name that no attribute can have.
    drop(row.set_attribute("data-changed", ""));
    true
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn a_list_that_shows_a_part_of_itself_promises_no_new_row() {
        let all = |counts| counted(counts, "operation", "").unwrap_or_default();
        assert_eq!(all([0, 0, 0]), "");
        assert_eq!(all([1, 0, 0]), "1 new row. Read again");
        assert_eq!(all([3, 2, 4]), "3 new rows, 2 changed, 4 others changed. Read again");
        assert_eq!(all([0, 0, 1]), "1 other changed. Read again");
        let filtered = |counts| counted(counts, "operation", "match these filters").unwrap();
        assert_eq!(
            filtered([1, 0, 0]),
            "1 new operation; what is new may not match these filters. Read again"
        );
        assert_eq!(
            filtered([2, 0, 1]),
            "2 new operations, 1 other changed; those that are new may not match these filters. Read again"
        );
        assert_eq!(filtered([0, 1, 0]), "1 changed. Read again");
    }
}
