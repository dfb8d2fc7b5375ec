//! Shapes that several tables share.

use domain::money::Money;

/// Two columns as one amount; a check in the table keeps them together.
pub(crate) fn money(amount_minor: Option<i64>, currency: Option<String>) -> Option<Money> {
    Some(Money { amount_minor: amount_minor?, currency: currency? })
}
