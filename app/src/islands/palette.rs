//! The palette that Ctrl-K opens: the pages of the rail, the actions and parts of this page, and a
//! search. It lists what the page links to and nothing else, so it offers no more than the reader has.

use leptos::{
    ev, html,
    prelude::*,
    wasm_bindgen::JsCast as _,
    web_sys::{Element, HtmlFormElement, HtmlInputElement, KeyboardEvent},
};

use super::keyboard::{all, first, go};

/// Entries that are shown at once.
const MAX_SHOWN: usize = 12;

/// Something to go to: what it is, its words, its address.
type Entry = (&'static str, String, String);

/// The palette.
#[island]
pub fn Palette() -> impl IntoView {
    let dialog = NodeRef::<html::Dialog>::new();
    let field = NodeRef::<html::Input>::new();
    let (entries, set_entries) = signal(Vec::<Entry>::new());
    let (typed, set_typed) = signal(String::new());
    let (at, set_at) = signal(0_usize);
    let shown = Memo::new(move |_| typed.with(|typed| entries.with(|all| fitting(all, typed))));
    Effect::new(move || {
        let handle = window_event_listener(ev::keydown, move |event| {
            if !opens(&event) {
                return;
            }
            event.prevent_default();
            let Some(dialog) = dialog.get_untracked().filter(|dialog| !dialog.open()) else {
                return;
            };
            if let Some(field) = field.get_untracked() {
                field.set_value("");
            }
            set_typed.set(String::new());
            set_at.set(0);
            set_entries.set(offered());
            // Fails only for a dialog that is gone.
            drop(dialog.show_modal());
        });
        on_cleanup(move || handle.remove());
    });
    let follow = move |chosen: usize| {
        let entry = shown.with_untracked(|shown| shown.get(chosen).cloned());
        if let Some(dialog) = dialog.get_untracked() {
            dialog.close();
        }
        match entry {
            Some((_, _, href)) if !href.is_empty() => go(&href),
            Some(_) => search(&typed.get_untracked()),
            None => {}
        }
    };
    let press = move |event: KeyboardEvent| {
        let last = shown.with_untracked(Vec::len).saturating_sub(1);
        match event.key().as_str() {
            "ArrowDown" => set_at.update(|at| *at = (*at + 1).min(last)),
            "ArrowUp" => set_at.update(|at| *at = at.saturating_sub(1)),
            "Enter" => follow(at.get_untracked()),
            _ => return,
        }
        event.prevent_default();
    };
    let options = move || {
        let line = |(index, (kind, words, _)): (usize, Entry)| {
            view! {
                <li
                    class="palette-entry"
                    role="option"
                    id=format!("palette-{index}")
                    aria-selected=move || (at.get() == index).to_string()
                    on:click=move |_| follow(index)
                >
                    <span>{words}</span>
                    <span class="palette-kind">{kind}</span>
                </li>
            }
        };
        shown.get().into_iter().enumerate().map(line).collect_view()
    };
    view! {
        <dialog class="dialog palette" node_ref=dialog aria-label="Palette">
            <input
                class="search-input"
                node_ref=field
                type="text"
                role="combobox"
                aria-label="A page, an action, or what to search"
                aria-expanded="true"
                aria-controls="palette-entries"
                aria-activedescendant=move || format!("palette-{}", at.get())
                autocomplete="off"
                spellcheck="false"
                maxlength="512"
                placeholder="A page, an action, or what to search"
                on:input=move |event| {
                    set_typed.set(event_target_value(&event));
                    set_at.set(0);
                }
                on:keydown=press
            />
            <ul class="palette-entries" id="palette-entries" role="listbox" aria-label="What fits">
                {options}
            </ul>
        </dialog>
    }
}

fn opens(event: &KeyboardEvent) -> bool {
    (event.ctrl_key() || event.meta_key())
        && !event.alt_key()
        && !event.shift_key()
        && event.key().eq_ignore_ascii_case("k")
}

/// What this page offers: the actions of its record, its parts, the pages of the rail.
fn offered() -> Vec<Entry> {
    let link = |kind: &'static str, element: &Element, words: Option<Element>| {
        let href = element.get_attribute("href")?;
        let words = words.as_ref().unwrap_or(element).text_content()?;
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        (!words.is_empty()).then_some((kind, words, href))
    };
    let actions = all(".detail-actions a[href]");
    let parts = all("main .section-title a[href]");
    let pages = all(".rail a.rail-link[href]");
    let word = |page: &Element| page.query_selector(".rail-word, .rail-person-name").ok().flatten();
    let mut entries: Vec<Entry> =
        actions.iter().filter_map(|action| link("action", action, None)).collect();
    entries.extend(pages.iter().filter_map(|page| link("page", page, word(page))));
    entries.extend(parts.iter().filter_map(|part| link("on this page", part, None)));
    entries
}

/// The entries that hold every word that was typed, and the search for it.
fn fitting(all: &[Entry], typed: &str) -> Vec<Entry> {
    let typed = typed.trim();
    let lower = typed.to_ascii_lowercase();
    let fits = |entry: &&Entry| {
        let words = entry.1.to_ascii_lowercase();
        lower.split_whitespace().all(|word| words.contains(word))
    };
    let mut fitting: Vec<Entry> = all.iter().filter(fits).take(MAX_SHOWN).cloned().collect();
    if !typed.is_empty() {
        fitting.push(("search", format!("Search for \u{201c}{typed}\u{201d}"), String::new()));
    }
    fitting
}

/// Sends the form of the top bar, which knows where it leads.
fn search(typed: &str) {
    let input = first("#search").and_then(|input| input.dyn_into::<HtmlInputElement>().ok());
    let Some(input) = input else { return };
    input.set_value(typed);
    let form: Option<HtmlFormElement> = input.form();
    if let Some(form) = form {
        // Fails only for a form that is gone.
        drop(form.submit());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_palette_finds_by_any_words_and_always_offers_the_search() {
        let all: Vec<Entry> = [
            ("page", "Outbox", "/outbox"),
            ("action", "Confirm the outcome", "/operations/1/confirm"),
        ]
        .map(|(kind, words, href)| (kind, words.to_owned(), href.to_owned()))
        .to_vec();
        assert_eq!(fitting(&all, " "), all);
        let found = fitting(&all, "OUTCOME conf");
        assert_eq!((found.len(), &found[0]), (2, &all[1]));
        let none = fitting(&all, "INV-1");
        assert_eq!(none.len(), 1);
        assert_eq!(none[0].1, "Search for \u{201c}INV-1\u{201d}");
    }
}
