//! The document around the console: what a browser reads before anything of it runs.

use domain::preferences::{Density, Theme};
use leptos::prelude::*;
use leptos_meta::{HashedStylesheet, MetaTags};

use crate::{app::App, look::Look};

/// The whole document, on the server.
#[must_use]
pub fn shell(options: LeptosOptions) -> impl IntoView {
    let chosen = Look::in_force().chosen;
    // What the style sheet does by itself is not said.
    let theme = (chosen.theme != Theme::System).then(|| chosen.theme.as_str());
    let density = (chosen.density != Density::Dense).then(|| chosen.density.as_str());
    view! {
        <!DOCTYPE html>
        <html lang="en" data-theme=theme data-density=density>
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <link rel="icon" href="/favicon.svg" type="image/svg+xml"/>
                <link
                    rel="preload"
                    href="/fonts/inter-latin.woff2"
                    r#as="font"
                    r#type="font/woff2"
                    crossorigin="anonymous"
                />
                <HashedStylesheet options=options.clone()/>
                <AutoReload options=options.clone()/>
                <HydrationScripts options islands=true/>
                <MetaTags/>
            </head>
            <body>
                <App/>
            </body>
        </html>
    }
}
