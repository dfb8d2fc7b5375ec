//! Amounts in minor units with their currency; never a float.

mod read;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use read::{parse_amount, parse_typed_amount};

/// An amount of money: an integer number of the currency's smallest unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Money {
    /// Minor units (cents for EUR, yen for JPY).
    pub amount_minor: i64,
    /// ISO 4217 code.
    pub currency: String,
}

/// A text that is no ISO 4217 code: three capital letters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a currency is three capital letters, such as EUR")]
pub struct InvalidCurrency;

/// Checks the form of a currency code.
///
/// # Errors
/// [`InvalidCurrency`] for anything but three capital ASCII letters.
pub fn parse_currency(text: &str) -> Result<String, InvalidCurrency> {
    if text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase()) {
        Ok(text.to_owned())
    } else {
        Err(InvalidCurrency)
    }
}

/// Digits after the decimal point (ISO 4217); two where the table knows no better.
#[must_use]
pub fn exponent(currency: &str) -> u32 {
    match currency {
        "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF" | "UGX"
        | "UYI" | "VND" | "VUV" | "XAF" | "XOF" | "XPF" => 0,
        "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
        "CLF" | "UYW" => 4,
        _ => 2,
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = exponent(&self.currency);
        let scale = 10_u64.pow(digits);
        let absolute = self.amount_minor.unsigned_abs();
        let sign = if self.amount_minor < 0 { "\u{2212}" } else { "" };
        let whole = group(absolute / scale);
        if digits == 0 {
            write!(f, "{sign}{whole} {}", self.currency)
        } else {
            let width = digits as usize;
            write!(f, "{sign}{whole}.{:0width$} {}", absolute % scale, self.currency)
        }
    }
}

fn group(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(amount_minor: i64, currency: &str) -> Money {
        Money { amount_minor, currency: currency.into() }
    }

    #[test]
    fn amounts_follow_their_currencys_exponent() {
        assert_eq!(money(12_900, "EUR").to_string(), "129.00 EUR");
        assert_eq!(money(123_456_705, "USD").to_string(), "1,234,567.05 USD");
        assert_eq!(money(4_200, "JPY").to_string(), "4,200 JPY");
        assert_eq!(money(1, "KWD").to_string(), "0.001 KWD");
        assert_eq!(money(-5, "EUR").to_string(), "\u{2212}0.05 EUR");
        assert_eq!(money(i64::MAX, "EUR").to_string(), "92,233,720,368,547,758.07 EUR");
    }
}
