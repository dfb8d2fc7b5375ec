//! A browser in words, of what it says about itself: enough for a person to know their own again. Nothing
//! is decided by it, for anybody can say anything.

/// Names by what stands in the text; the first that fits counts, for most browsers name others too.
const BROWSERS: [(&str, &str); 8] = [
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
];

/// The same of systems.
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// Such as *Firefox on Linux*.
#[must_use]
pub fn in_words(agent: Option<&str>) -> String {
    let Some(agent) = agent else { return "Unknown browser".to_owned() };
    let named = |names: &[(&str, &'static str)]| {
        names.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name)
    };
    match (named(&BROWSERS), named(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, Some(system)) => format!("A browser on {system}"),
        (None, None) => "Unknown browser".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_called_by_its_own_name() {
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 Safari/537.36";
        assert_eq!(in_words(Some(chrome)), "Chrome on Linux");
        assert_eq!(in_words(Some(&format!("{chrome} Edg/156.0"))), "Edge on Linux");
        let safari =
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1";
        assert_eq!(in_words(Some(safari)), "Safari on iPhone");
        assert_eq!(in_words(Some("<script>")), "Unknown browser");
        assert_eq!(in_words(None), "Unknown browser");
    }
}
