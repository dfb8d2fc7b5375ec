//! The keys of the console: to a page, along the rows of a list, and the sheet that lists them. A page
//! carries this island only for who wants single keys (WCAG 2.1.4); the help page has the switch.

use std::time::Duration;

use leptos::{
    ev, html,
    prelude::*,
    wasm_bindgen::JsCast as _,
    web_sys::{Element, HtmlElement},
};

use super::keyboard::{all, focus, go, is_command};
use crate::keys::{PLACES, sheet};

/// How long after `g` a letter still belongs to it.
const PATIENCE: Duration = Duration::from_millis(1500);
const ROWS: &str = "main tr.row";

/// The keys, and the sheet that `?` opens.
#[island]
pub fn Keys() -> impl IntoView {
    let dialog = NodeRef::<html::Dialog>::new();
    let (open, set_open) = signal(false);
    let began = StoredValue::new(None::<TimeoutHandle>);
    let end = move || {
        let begun = began.try_update_value(Option::take).flatten();
        begun.as_ref().map(TimeoutHandle::clear).is_some()
    };
    Effect::new(move || {
        let handle = window_event_listener(ev::keydown, move |event| {
            if !is_command(&event) {
                end();
                return;
            }
            let key = event.key();
            if end() {
                if let Some(place) = PLACES.iter().find(|place| place.key == key) {
                    event.prevent_default();
                    go(place.path);
                }
                return;
            }
            match key.as_str() {
                "g" => {
                    let forget = move || began.set_value(None);
                    began.set_value(set_timeout_with_handle(forget, PATIENCE).ok());
                }
                "?" => {
                    event.prevent_default();
                    set_open.set(true);
                    if let Some(dialog) = dialog.get_untracked() {
                        // Fails only for a dialog that is open or gone.
                        drop(dialog.show_modal());
                    }
                }
                "j" => step(|at, rows| at.map_or(0, |at| (at + 1).min(rows - 1))),
                "k" => step(|at, rows| at.map_or(rows - 1, |at| at.saturating_sub(1))),
                "x" => pick(),
                _ => {}
            }
        });
        on_cleanup(move || handle.remove());
    });
    view! {
        <dialog
            class="dialog"
            node_ref=dialog
            aria-labelledby="keys-title"
            on:close=move |_| set_open.set(false)
        >
            <div class="dialog-head">
                <h2 class="section-title" id="keys-title">"Keys"</h2>
                <form method="dialog"><button class="button button--quiet">"Close"</button></form>
            </div>
            {move || open.get().then(sheet)}
            <p class="field-help"><a href="/help">"Help, and the switch for single keys"</a></p>
        </dialog>
    }
}

/// The row that has the focus, among the rows.
fn current(rows: &[Element]) -> Option<usize> {
    let row = document().active_element()?.closest("tr.row").ok().flatten()?;
    rows.iter().position(|other| *other == row)
}

/// Moves the focus to another row: the link that the whole row is.
fn step(to: impl Fn(Option<usize>, usize) -> usize) {
    let rows = all(ROWS);
    if rows.is_empty() {
        return;
    }
    let row = &rows[to(current(&rows), rows.len())];
    let link = row.query_selector(".row-link").ok().flatten();
    if let Some(link) = link.or_else(|| row.query_selector("a[href]").ok().flatten()) {
        focus(link);
    }
}

/// Ticks or unticks the box of the row that has the focus, where it has one.
fn pick() {
    let rows = all(ROWS);
    let Some(row) = current(&rows).map(|at| &rows[at]) else { return };
    let field = row.query_selector("input[type=checkbox]").ok().flatten();
    if let Some(field) = field.and_then(|field| field.dyn_into::<HtmlElement>().ok()) {
        field.click();
    }
}
