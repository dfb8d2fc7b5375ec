//! A button that copies a text. It appears with WASM alone: without, a click on a key selects it.

use leptos::prelude::*;

use super::alive;

/// The button; its icon comes from the server.
#[island]
pub fn CopyButton(
    /// What is copied.
    #[prop(into)]
    text: String,
    /// What it is, for the button's name, such as `the key`.
    #[prop(into)]
    what: String,
    /// The icon.
    children: Children,
) -> impl IntoView {
    let alive = alive();
    let (copied, set_copied) = signal(false);
    let copy = move |_| {
        // The promise fails only where the browser forbids it; the key stays selectable.
        drop(window().navigator().clipboard().write_text(&text));
        set_copied.set(true);
    };
    view! {
        <button
            type="button"
            class="button button--quiet copy"
            hidden=move || !alive.get()
            on:click=copy
        >
            {children()}
            <span aria-live="polite">{move || if copied.get() { "copied" } else { "copy" }}</span>
            <span class="visually-hidden">{what}</span>
        </button>
    }
}
