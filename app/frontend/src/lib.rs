//! The browser's side: a panic that can be read, and the islands brought to life. Nothing else.

// Islands are found in the module by their names: linking them is all that it takes.
use app as _;
use wasm_bindgen::prelude::wasm_bindgen;

/// Called by the page's script once the module is loaded; the script then hands each island of the
/// page to its own function.
#[wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_islands();
}
