//! What a page reads, begun at once: the frame and the page's own parts ask the database side by side,
//! and each is awaited where it is shown.
//!
//! Nothing of it travels to the browser beside the page itself: the browser gets HTML, not data.

use leptos::prelude::AsyncDerived;

/// Something that is being read. It is a copy of a handle: several parts may await the same reading.
pub type Reading<T> = AsyncDerived<T>;
