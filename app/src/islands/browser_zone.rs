//! The zone that the browser is in: told to the server by a cookie, for *local* times are the server's
//! to write. And the switch to them, which has no use before that is known.
//!
//! It shows and changes nothing itself: the switch is a button of a plain form, and without scripts a
//! zone is chosen by its name on the person's page.

use js_sys::{Array, Intl::DateTimeFormat, Object, Reflect};
use leptos::{prelude::*, wasm_bindgen::JsCast as _, web_sys::HtmlDocument};

/// Names by which a browser says that it is in UTC, or that it does not know: its times are UTC's then.
const UTC: [&str; 5] = ["UTC", "Etc/UTC", "GMT", "Etc/GMT", "Etc/Unknown"];

/// The switch.
#[island]
pub fn BrowserZone(
    /// What the server knows already.
    known: Option<String>,
    /// Whether the switch has a use here.
    offered: bool,
    /// What the switch says.
    children: Children,
) -> impl IntoView {
    let (differs, set_differs) = signal(known.is_some());
    Effect::new(move || {
        let zone = zone();
        set_differs.set(zone.as_ref().is_some_and(|zone| !UTC.contains(&zone.as_str())));
        let Some(zone) = zone.filter(|zone| known.as_ref() != Some(zone)) else { return };
        let Ok(document) = document().dyn_into::<HtmlDocument>() else { return };
        // Fails only where cookies are forbidden: then there is no local time, and nobody signed in.
        let cookie = format!("browser_zone={zone}; Max-Age=31536000; Secure; SameSite=Lax; Path=/");
        drop(document.set_cookie(&cookie));
    });
    view! {
        <button
            class="rail-link"
            name="zone"
            value="local"
            title="Times of this browser"
            hidden=move || !(offered && differs.get())
        >
            {children()}
        </button>
    }
}

/// The browser's zone by its name, such as `Europe/Berlin`.
fn zone() -> Option<String> {
    let options = DateTimeFormat::new(&Array::new(), &Object::new()).resolved_options();
    Reflect::get(&options, &"timeZone".into()).ok()?.as_string()
}
