//! `/` puts the caret into the search, and the hint in the search says so once it is true.

use leptos::wasm_bindgen::JsCast as _;
use leptos::{ev, prelude::*};

use super::{alive, keyboard::is_command};

/// The hint, and the key.
#[island]
pub fn SearchKey(
    /// The id of the search's input.
    #[prop(into)]
    field: String,
) -> impl IntoView {
    let alive = alive();
    Effect::new(move || {
        let field = field.clone();
        let handle = window_event_listener(ev::keydown, move |event| {
            if event.key() != "/" || !is_command(&event) {
                return;
            }
            let input = document().get_element_by_id(&field);
            let Some(input) =
                input.and_then(|input| input.dyn_into::<leptos::web_sys::HtmlInputElement>().ok())
            else {
                return;
            };
            event.prevent_default();
            // Fails only for an element that is gone.
            drop(input.focus());
            input.select();
        });
        on_cleanup(move || handle.remove());
    });
    view! {
        <kbd class="search-key" aria-hidden="true" hidden=move || !alive.get()>
            "/"
        </kbd>
    }
}
