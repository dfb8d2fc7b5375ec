//! How the reader of a page wants it: what is kept with the account, or, before sign-in and where nothing
//! is kept, what the browser's cookies say.

use domain::preferences::{Preferences, ZoneChoice};
use leptos::prelude::use_context;

use crate::zone::Zone;

/// The preferences in force for one response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// What was chosen.
    pub chosen: Preferences,
    /// The zone that the browser said it is in; `None` where it has not yet, as without scripts.
    pub browser: Option<Zone>,
}

impl Look {
    /// That of the reader for whom the page is rendered.
    #[must_use]
    pub fn in_force() -> Self {
        use_context::<Self>().unwrap_or_default()
    }

    /// In which zone instants are shown. What cannot be known is UTC, which every instant then says.
    #[must_use]
    pub fn zone(&self) -> Zone {
        match &self.chosen.zone {
            ZoneChoice::Utc => Zone::UTC,
            ZoneChoice::Local => self.browser.unwrap_or_default(),
            ZoneChoice::Named(name) => Zone::named(name).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(zone: &str, browser: Option<&str>) -> &'static str {
        let chosen = Preferences { zone: zone.parse().unwrap(), ..Preferences::default() };
        Look { chosen, browser: browser.and_then(Zone::named) }.zone().name()
    }

    #[test]
    fn local_is_the_browsers_zone_and_what_cannot_be_known_is_utc() {
        assert_eq!(zone("utc", Some("Asia/Tokyo")), "UTC");
        assert_eq!(zone("local", Some("Asia/Tokyo")), "Asia/Tokyo");
        assert_eq!(zone("local", None), "UTC");
        assert_eq!(zone("Europe/Berlin", Some("Asia/Tokyo")), "Europe/Berlin");
        assert_eq!(zone("Mars/Olympus", None), "UTC");
    }
}
