//! Keys and references in mono: where space is short the middle gives way, in the style sheet alone,
//! so that the text can be searched and copied whole.

use leptos::prelude::*;

use super::icon::{Icon, IconName};
use crate::text;

/// Characters at a key's end that never give way.
const TAIL: usize = 10;

/// A key or reference.
#[component]
pub fn Key(
    /// The whole text.
    #[prop(into)]
    text: String,
    /// Whether to show all of it; one click then selects exactly the key.
    #[prop(optional)]
    whole: bool,
) -> impl IntoView {
    if whole {
        return view! { <span class="key key--whole">{text}</span> }.into_any();
    }
    let (head, tail) = text::split_tail(&text, TAIL);
    view! {
        <span class="key key--cut" title=text.clone()>
            <span class="key-head">{head.to_owned()}</span>
            <span class="key-tail">{tail.to_owned()}</span>
        </span>
    }
    .into_any()
}

/// A button that copies a text. It appears with WASM alone: without, a click on the key selects it.
#[component]
pub fn CopyButton(
    /// What is copied.
    #[prop(into)]
    text: String,
    /// What it is, for the button's name, such as `key`.
    what: &'static str,
) -> impl IntoView {
    let (ready, set_ready) = signal(false);
    let (copied, set_copied) = signal(false);
    Effect::new(move || set_ready.set(true));
    let text = StoredValue::new(text);
    let copy = move |_| {
        text.with_value(|text| {
            // The promise fails only where the browser forbids it; the key stays selectable.
            drop(window().navigator().clipboard().write_text(text));
        });
        set_copied.set(true);
    };
    view! {
        <Show when=move || ready.get()>
            <button type="button" class="button button--quiet copy" on:click=copy>
                <Icon name=IconName::Copy/>
                <span aria-live="polite">
                    {move || if copied.get() { "copied" } else { "copy" }}
                </span>
                <span class="visually-hidden">{what}</span>
            </button>
        </Show>
    }
}
