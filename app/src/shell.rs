//! The document around the console: what a browser reads before anything of it runs.

use leptos::prelude::*;
use leptos_meta::{HashedStylesheet, MetaTags};

use crate::app::App;

/// The whole document, on the server.
#[must_use]
pub fn shell(options: LeptosOptions) -> impl IntoView {
    view! {
        <!DOCTYPE html>
        <html lang="en" data-theme=theme()>
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

/// The theme that the cookie names; `None` leaves it to the system.
fn theme() -> Option<&'static str> {
    let parts = use_context::<http::request::Parts>()?;
    let cookies = parts.headers.get_all(http::header::COOKIE);
    cookies.iter().filter_map(|header| header.to_str().ok()).find_map(theme_of)
}

fn theme_of(cookies: &str) -> Option<&'static str> {
    let value = cookies.split(';').find_map(|cookie| cookie.trim().strip_prefix("theme="))?;
    match value {
        "light" => Some("light"),
        "dark" => Some("dark"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_can_only_name_a_theme() {
        assert_eq!(theme_of("a=b; theme=dark"), Some("dark"));
        assert_eq!(theme_of("theme=light;x=y"), Some("light"));
        assert_eq!(theme_of("theme=\"><script>"), None);
        assert_eq!(theme_of("xtheme=dark"), None);
    }
}
