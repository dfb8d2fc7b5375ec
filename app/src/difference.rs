//! How two amounts of money differ, in words and never through a float: the same on the server and
//! in the island that follows what is typed.

use domain::money::{Money, parse_typed_amount};

/// Where there is no difference.
pub(crate) const NONE: &str = "none";
/// Where no amount is typed that could differ.
pub(crate) const NOTHING: &str = "\u{2013}";

/// What `other` is above `first`; `None` where the currencies differ or the sum has no room.
#[must_use]
pub(crate) fn difference(first: &Money, other: &Money) -> Option<Money> {
    (first.currency == other.currency).then_some(())?;
    let amount_minor = other.amount_minor.checked_sub(first.amount_minor)?;
    Some(Money { amount_minor, currency: first.currency.clone() })
}

/// A difference with its sign, also where it is positive.
#[must_use]
pub(crate) fn signed(difference: &Money) -> String {
    if difference.amount_minor > 0 { format!("+{difference}") } else { difference.to_string() }
}

/// The difference in words: `none`, `+63.00 EUR`, `another currency`.
#[must_use]
pub(crate) fn in_words(record: &Money, stated: &Money) -> String {
    if record.currency != stated.currency {
        return "another currency".to_owned();
    }
    match difference(record, stated) {
        Some(difference) if difference.amount_minor == 0 => NONE.to_owned(),
        Some(difference) => signed(&difference),
        None => "too large to name".to_owned(),
    }
}

/// The same for what somebody typed: an amount, and a currency that may be left out.
#[must_use]
pub(crate) fn typed(record: &Money, amount: &str, currency: &str) -> String {
    let currency = match currency.trim() {
        "" => record.currency.clone(),
        currency => currency.to_ascii_uppercase(),
    };
    let Some(amount_minor) = parse_typed_amount(amount, &currency) else {
        return NOTHING.to_owned();
    };
    in_words(record, &Money { amount_minor, currency })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(amount_minor: i64, currency: &str) -> Money {
        Money { amount_minor, currency: currency.into() }
    }

    #[test]
    fn a_difference_has_a_sign_and_no_float() {
        let more = difference(&money(12_900, "EUR"), &money(19_200, "EUR")).unwrap();
        assert_eq!(signed(&more), "+63.00 EUR");
        let less = difference(&money(19_200, "EUR"), &money(12_900, "EUR")).unwrap();
        assert_eq!(signed(&less), "\u{2212}63.00 EUR");
    }

    #[test]
    fn currencies_are_never_subtracted_from_each_other() {
        assert_eq!(difference(&money(1, "EUR"), &money(1, "USD")), None);
        assert_eq!(difference(&money(i64::MIN, "EUR"), &money(1, "EUR")), None);
    }

    #[test]
    fn a_difference_is_named_and_currencies_are_told_apart() {
        let record = money(12_900, "EUR");
        assert_eq!(in_words(&record, &money(12_900, "EUR")), "none");
        assert_eq!(in_words(&record, &money(19_200, "EUR")), "+63.00 EUR");
        assert_eq!(in_words(&record, &money(12_900, "USD")), "another currency");
        assert_eq!(in_words(&money(i64::MIN, "EUR"), &money(1, "EUR")), "too large to name");
    }

    #[test]
    fn what_is_typed_says_nothing_until_it_is_a_number() {
        let record = money(12_900, "EUR");
        for (amount, currency, words) in [
            ("", "EUR", "\u{2013}"),
            ("129.", "EUR", "\u{2013}"),
            ("129.0", "EUR", "\u{2013}"),
            ("129.00", "EUR", "none"),
            ("129,01", "", "+0.01 EUR"),
            (" 12900 ", "", "none"),
            ("12901", "eur", "+0.01 EUR"),
            ("12900", "usd", "another currency"),
        ] {
            assert_eq!(typed(&record, amount, currency), words, "{amount} {currency}");
        }
    }
}
