//! The browser's side: a panic that can be read, and the page brought to life. Nothing else.

use wasm_bindgen::prelude::wasm_bindgen;

/// Called by the page's script once the module is loaded.
#[wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(app::App);
}
