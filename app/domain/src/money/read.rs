//! An amount as people write it, read exactly or not at all.
//!
//! Guards against a look-up of another sum than was meant: `12,50` is twelve and a half, never twelve
//! hundred and fifty, and what could be read in two ways is not read.

use super::{Money, exponent, parse_currency};

/// Reads `12.50 EUR`, `EUR 12.50`, `12,50 EUR`, `1,234.50 EUR`, `1.234,50 EUR`, `1 234,50 EUR`,
/// `1250 JPY`, `€12.50`: an amount with its currency, in minor units of that currency.
///
/// A comma or a full stop is a decimal sign where it can be no separator of thousands. A single comma
/// before three digits separates thousands, as everywhere in the console; a single full stop before
/// three digits is a decimal sign where the currency has three, and otherwise nothing.
#[must_use]
pub fn parse_amount(text: &str) -> Option<Money> {
    let (number, currency) = apart(text.trim())?;
    let digits = usize::try_from(exponent(&currency)).ok()?;
    let (sign, unsigned) = match number.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => ("-", rest.trim_start()),
        None => ("", number),
    };
    let (whole, fraction) = halves(unsigned, digits)?;
    if fraction.len() > digits {
        return None;
    }
    let amount_minor = format!("{sign}{whole}{fraction:0<digits$}").parse().ok()?;
    Some(Money { amount_minor, currency })
}

/// What somebody typed beside a currency, in its minor units: a whole number is in minor units already, as
/// in the JSON API; one with all its decimals, `129.00`, is an amount as a statement has it. Anything
/// between the two, such as `1,234` or `12.9` euros, is not read: it could be meant either way.
#[must_use]
pub fn parse_typed_amount(text: &str, currency: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(amount_minor) = text.parse() {
        return Some(amount_minor);
    }
    let amount_minor = parse_amount(&format!("{text} {currency}"))?.amount_minor;
    // With all its decimals, an amount has the digits of its minor units and no others.
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    (digits.parse() == Ok(amount_minor.unsigned_abs())).then_some(amount_minor)
}

/// The number and the currency beside it, in either order: a code with a space between, for a key may
/// begin with three letters too, or the sign of one currency alone.
fn apart(text: &str) -> Option<(&str, String)> {
    for (sign, code) in [('€', "EUR"), ('£', "GBP")] {
        if let Some(number) = text.strip_prefix(sign).or_else(|| text.strip_suffix(sign)) {
            return Some((number.trim(), code.to_owned()));
        }
    }
    let code = |text: &str| parse_currency(&text.to_ascii_uppercase()).ok();
    let first = text.split_once(char::is_whitespace)?;
    let last = text.rsplit_once(char::is_whitespace)?;
    match (code(first.0), code(last.1)) {
        (Some(currency), _) => Some((first.1.trim(), currency)),
        (None, Some(currency)) => Some((last.0.trim(), currency)),
        (None, None) => None,
    }
}

/// Digits before and after the decimal sign, without what separates thousands.
fn halves(number: &str, digits: usize) -> Option<(String, &str)> {
    let Some(at) = number.rfind([',', '.']) else { return Some((grouped(number, None)?, "")) };
    let (before, after) = (&number[..at], &number[at + 1..]);
    let sign = number[at..].chars().next()?;
    let alone = !before.contains([',', '.']);
    let again = before.contains(sign);
    let decimal = match (after.len(), sign) {
        // The same sign twice separates thousands; the other one before it shows that it does not.
        _ if again => false,
        _ if !alone => true,
        (3, ',') => false,
        (3, _) => digits == 3,
        _ => true,
    };
    if !decimal {
        // `1.234` of a currency with two digits could be either.
        return if alone && sign == '.' { None } else { Some((grouped(number, Some(sign))?, "")) };
    }
    if after.is_empty() || !after.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let separator = if sign == ',' { '.' } else { ',' };
    Some((grouped(before, Some(separator))?, after))
}

/// Digits in groups of three, by one separator: the one given, a space or an apostrophe.
fn grouped(number: &str, separator: Option<char>) -> Option<String> {
    let separates =
        |c: char| Some(c) == separator || c.is_whitespace() || matches!(c, '\'' | '\u{2019}');
    let signs: Vec<char> = number.chars().filter(|c| separates(*c)).collect();
    let groups: Vec<&str> = number.split(separates).collect();
    let fits = groups.iter().enumerate().all(|(index, group)| {
        let long = if index == 0 { (1..=3).contains(&group.len()) } else { group.len() == 3 };
        (long || groups.len() == 1 && !group.is_empty())
            && group.bytes().all(|b| b.is_ascii_digit())
    });
    // Nobody writes `0,129` for a hundred and twenty-nine.
    let fits = fits && (groups.len() == 1 || !number.starts_with('0'));
    (fits && signs.iter().all(|sign| *sign == signs[0])).then(|| groups.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(amount_minor: i64, currency: &str) -> Money {
        Money { amount_minor, currency: currency.into() }
    }

    #[test]
    fn an_amount_is_read_as_people_write_it() {
        for (text, amount) in [
            ("129.00 EUR", money(12_900, "EUR")),
            ("eur 129", money(12_900, "EUR")),
            ("12,50 EUR", money(1_250, "EUR")),
            ("EUR 12.5", money(1_250, "EUR")),
            ("1250 JPY", money(1_250, "JPY")),
            ("1,250 JPY", money(1_250, "JPY")),
            ("1,234.5 USD", money(123_450, "USD")),
            ("1.234,50 EUR", money(123_450, "EUR")),
            ("1 234,50 EUR", money(123_450, "EUR")),
            ("1\u{202f}234\u{202f}567,50 EUR", money(123_456_750, "EUR")),
            ("1'234.50 CHF", money(123_450, "CHF")),
            ("1.234.567 EUR", money(123_456_700, "EUR")),
            ("€ 12.50", money(1_250, "EUR")),
            ("12,50€", money(1_250, "EUR")),
            ("£3", money(300, "GBP")),
            ("0.001 KWD", money(1, "KWD")),
            ("1.234 KWD", money(1_234, "KWD")),
            ("-5 EUR", money(-500, "EUR")),
            ("\u{2212}0.05 EUR", money(-5, "EUR")),
        ] {
            assert_eq!(parse_amount(text), Some(amount), "{text}");
        }
    }

    #[test]
    fn what_is_typed_beside_a_currency_is_an_amount_with_its_decimals_or_minor_units() {
        for (text, currency, minor) in [
            ("12900", "EUR", Some(12_900)),
            (" 129.00 ", "EUR", Some(12_900)),
            ("129,00", "EUR", Some(12_900)),
            ("1,234.50", "USD", Some(123_450)),
            ("-0.05", "EUR", Some(-5)),
            ("4,200", "JPY", Some(4_200)),
            ("1.234", "KWD", Some(1_234)),
            ("129", "EUR", Some(129)),
            ("129.0", "EUR", None),
            ("129.", "EUR", None),
            ("1,234", "EUR", None),
            ("1,234", "KWD", None),
            ("129.00", "", None),
            ("129.00 USD", "EUR", None),
            ("", "EUR", None),
            ("much", "EUR", None),
        ] {
            assert_eq!(parse_typed_amount(text, currency), minor, "{text} {currency}");
        }
    }

    #[test]
    fn what_is_no_amount_or_could_be_two_is_not_read() {
        for text in [
            "129",
            "EUR",
            "INV123",
            "INV-123",
            "12EUR",
            "1.234 EUR",
            "1.5 JPY",
            "x EUR",
            "1 2 EUR",
            "- EUR",
            "12.345,6.7 EUR",
            "1,23,4 EUR",
            "12. EUR",
            ".5 EUR",
            "1,234'567 EUR",
            "$ 12",
            "129 EURO",
            "é12",
            "12 €€",
            "99999999999999999999 EUR",
            "",
            "--5 EUR",
            "1,2345.00 EUR",
            "0,129 JPY",
        ] {
            assert_eq!(parse_amount(text), None, "{text}");
        }
    }

    #[test]
    fn what_the_console_shows_can_be_searched_for() {
        for currency in ["EUR", "JPY", "KWD", "CLF"] {
            for minor in [0, 1, -5, 12_900, 123_456_705, i64::MAX, i64::MIN + 1] {
                let shown = money(minor, currency);
                assert_eq!(parse_amount(&shown.to_string()), Some(shown.clone()), "{shown}");
            }
        }
    }
}
