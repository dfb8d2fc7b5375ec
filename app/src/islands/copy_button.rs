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
    /// Whether the text is a path of the console, copied as the whole address; the button then says so.
    link: bool,
    /// The icon.
    children: Children,
) -> impl IntoView {
    let alive = alive();
    let (copied, set_copied) = signal(false);
    let copy = move |_| {
        let origin =
            if link { window().location().origin().unwrap_or_default() } else { String::new() };
        let text = format!("{origin}{text}");
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
            <span class="copy-word" aria-live="polite" data-copied=move || copied.get().then_some("")>
                {move || if copied.get() { "copied" } else { "copy" }}
            </span>
            <span class=if link { "" } else { "visually-hidden" }>" " {what}</span>
        </button>
    }
}
