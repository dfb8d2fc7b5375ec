//! What the islands of the keyboard share: whether a key is a letter of somebody's text, and focus.

use leptos::{
    prelude::*,
    wasm_bindgen::JsCast as _,
    web_sys::{Element, HtmlElement, HtmlInputElement, KeyboardEvent},
};

/// Whether a key is a command: alone, by nobody who writes, and while no dialog is open.
pub(super) fn is_command(event: &KeyboardEvent) -> bool {
    let plain = !(event.ctrl_key() || event.meta_key() || event.alt_key());
    plain && !event.is_composing() && !event.default_prevented() && !is_writing() && !in_dialog()
}

/// Whether somebody writes into a field, so that a key is a letter and no command.
fn is_writing() -> bool {
    let Some(on) = document().active_element() else { return false };
    if let Some(input) = on.dyn_ref::<HtmlInputElement>() {
        let takes_no_text = ["checkbox", "radio", "button", "submit", "file", "image", "reset"];
        return !takes_no_text.contains(&input.type_().as_str());
    }
    matches!(on.tag_name().as_str(), "TEXTAREA" | "SELECT")
        || on.dyn_ref::<HtmlElement>().is_some_and(HtmlElement::is_content_editable)
}

fn in_dialog() -> bool {
    first("dialog[open]").is_some()
}

/// The first element of the page that a selector names.
pub(super) fn first(selector: &str) -> Option<Element> {
    document().query_selector(selector).ok().flatten()
}

/// The elements of the page that a selector names, in order.
pub(super) fn all(selector: &str) -> Vec<Element> {
    let Ok(list) = document().query_selector_all(selector) else { return Vec::new() };
    (0..list.length())
        .filter_map(|index| list.get(index))
        .filter_map(|node| node.dyn_into().ok())
        .collect()
}

/// Puts the focus on an element.
pub(super) fn focus(element: Element) {
    if let Ok(element) = element.dyn_into::<HtmlElement>() {
        // Fails only for an element that is gone.
        drop(element.focus());
    }
}

/// Loads another page of the console.
pub(super) fn go(path: &str) {
    drop(window().location().set_href(path));
}
