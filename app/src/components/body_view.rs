//! A payload or an answer: bounded on the server, exact in what it shows, never through a float.

use domain::view::BodyView;
use leptos::prelude::*;

use crate::text;

/// The most of a body that a page shows, in bytes of the page.
const MAX_SHOWN: usize = 24 * 1024;

/// A body with its size as sent and what is not shown of it.
#[component]
pub fn Body(
    /// The body, bounded and masked.
    body: BodyView,
    /// What it is, such as `Payload`.
    label: &'static str,
    /// Where all of it can be had, where it can.
    #[prop(optional, into)]
    whole: Option<String>,
) -> impl IntoView {
    let mut caption = match body.bytes {
        1 => "1 byte as sent".to_owned(),
        bytes => format!("{bytes} bytes as sent"),
    };
    match body.masked {
        0 => {}
        1 => caption.push_str(" · 1 field masked"),
        masked => caption.push_str(&format!(" · {masked} fields masked")),
    }
    let (shown, over) = text::beginning(&body.text, MAX_SHOWN);
    let length = shown.len();
    let mut shown = body.text;
    shown.truncate(length);
    let cut = (body.cut || over).then(|| {
        view! {
            <p class="body-view-cut">
                "Only the beginning is shown. "
                {whole.map(|whole| view! { <a href=whole download="">"Download all of it"</a> })}
            </p>
        }
    });
    view! {
        <figure class="body-view">
            <figcaption class="body-view-caption">{caption}</figcaption>
            <pre class="body-view-text" tabindex="0" role="region" aria-label=label>
                <code>{shown}</code>
            </pre>
            {cut}
        </figure>
    }
    .into_any()
}
