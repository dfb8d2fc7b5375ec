//! Keys and references in mono: where space is short the middle gives way, in the style sheet alone,
//! so that the text can be searched and copied whole.

use leptos::prelude::*;

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
