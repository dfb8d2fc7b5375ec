//! What answers in the browser before the server does, one small island per file; all else is the
//! server's (docs/islands.md).
//!
//! Guards against a console that only works with scripts, and against a module that grows with every
//! page: an island shows nothing that the page does not say without it, changes nothing by itself,
//! and gets few plain values, for they stand in the page as JSON. What it renders first is the same
//! on both sides, so it reads no clock, no document and no address before it is [`alive`].
//!
//! Here live: the browser's zone, the keys and the palette, copying, the button and the difference of a
//! decision's form, what has changed since.

mod amount_difference;
mod browser_zone;
mod copy_button;
mod keyboard;
mod keys;
mod live;
mod palette;
mod search_key;
mod submit;

pub use amount_difference::AmountDifference;
pub use browser_zone::BrowserZone;
pub use copy_button::CopyButton;
pub use keys::Keys;
pub use live::Live;
pub use palette::Palette;
pub use search_key::SearchKey;
pub use submit::Submit;

use leptos::prelude::*;

/// Whether the page has come to life: false on the server and in the first render, then true.
fn alive() -> ReadSignal<bool> {
    let (alive, set_alive) = signal(false);
    Effect::new(move || set_alive.set(true));
    alive
}
