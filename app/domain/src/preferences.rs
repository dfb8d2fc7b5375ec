//! How a person wants the console to look: kept with the account, and in cookies for who has not signed
//! in yet.
//!
//! Guards against a value that only one side knows: the words of forms, cookies and the database are
//! these.

use std::{fmt, str::FromStr};

use crate::operation::UnknownWord;

/// Rows of a page that can be chosen.
pub const PAGE_SIZES: [i64; 4] = [25, 50, 100, 200];
/// The longest name of a time zone, in bytes.
const MAX_ZONE_BYTES: usize = 64;

/// What a person chose, or what holds where nothing is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preferences {
    /// In which zone instants are shown, and days are meant.
    pub zone: ZoneChoice,
    /// Light or dark.
    pub theme: Theme,
    /// How high the rows of lists are.
    pub density: Density,
    /// Rows of a page of a list whose address names no number; one of [`PAGE_SIZES`].
    pub rows: i64,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            zone: ZoneChoice::Utc,
            theme: Theme::System,
            density: Density::Dense,
            rows: crate::listing::DEFAULT_PAGE,
        }
    }
}

/// A number of rows that can be chosen.
#[must_use]
pub fn page_size(text: &str) -> Option<i64> {
    text.parse().ok().filter(|rows| PAGE_SIZES.contains(rows))
}

/// A zone as a person chooses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ZoneChoice {
    /// UTC.
    Utc,
    /// Whatever the browser is in.
    Local,
    /// A zone by its name, such as `Europe/Berlin`. Whether there is such a zone is for those to say who
    /// have the table of zones.
    Named(String),
}

impl ZoneChoice {
    /// The word in forms, cookies and the database.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Utc => "utc",
            Self::Local => "local",
            Self::Named(name) => name,
        }
    }
}

impl fmt::Display for ZoneChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ZoneChoice {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "utc" | "UTC" => Ok(Self::Utc),
            "local" => Ok(Self::Local),
            name if is_zone_name(name) => Ok(Self::Named(name.to_owned())),
            _ => Err(UnknownWord(text.into())),
        }
    }
}

/// Whether a text has the form of a zone's name, so that it can stand in a cookie and in an address.
fn is_zone_name(text: &str) -> bool {
    text.len() <= MAX_ZONE_BYTES
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/_+-".contains(&b))
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $value:ident = $word:literal, $label:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$of])* $value,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$value,)*];

            /// The word in forms, cookies and the database.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$value => $word,)* }
            }

            /// What people read.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$value => $label,)* }
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                Self::ALL
                    .iter()
                    .copied()
                    .find(|value| value.as_str() == text)
                    .ok_or_else(|| UnknownWord(text.into()))
            }
        }
    };
}

words! {
    /// Light or dark.
    Theme {
        /// As the system says.
        System = "auto", "as the system";
        /// Light.
        Light = "light", "light";
        /// Dark.
        Dark = "dark", "dark";
    }
}

words! {
    /// How high the rows of lists are.
    Density {
        /// Many rows on a screen.
        Dense = "dense", "dense";
        /// Higher rows.
        Comfortable = "comfortable", "comfortable";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_a_word_that_can_stand_in_a_cookie() {
        for (text, zone) in [
            ("utc", ZoneChoice::Utc),
            ("UTC", ZoneChoice::Utc),
            ("local", ZoneChoice::Local),
            ("Europe/Berlin", ZoneChoice::Named("Europe/Berlin".into())),
            ("Etc/GMT+12", ZoneChoice::Named("Etc/GMT+12".into())),
        ] {
            assert_eq!(text.parse(), Ok(zone), "{text}");
        }
        let long = "A".repeat(65);
        for text in ["", "europe/berlin", "Europe/Berlin; Path=/", "A\r\nB", "É", long.as_str()] {
            assert!(text.parse::<ZoneChoice>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_word_comes_back_and_no_other_is_taken() {
        for theme in Theme::ALL {
            assert_eq!(theme.as_str().parse(), Ok(*theme));
        }
        for density in Density::ALL {
            assert_eq!(density.as_str().parse(), Ok(*density));
        }
        assert!("x; Domain=evil".parse::<Theme>().is_err());
        assert_eq!(page_size("100"), Some(100));
        for text in ["0", "51", "1000", "-25", "many"] {
            assert_eq!(page_size(text), None, "{text}");
        }
        assert!(PAGE_SIZES.contains(&Preferences::default().rows));
    }
}
