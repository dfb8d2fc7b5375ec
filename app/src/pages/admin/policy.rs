//! A kind's policy in the words of whoever has to live with it, not of its columns.
//!
//! Guards against a rule that reads safer than it is: what is absent is said as what follows from it.

use domain::money::Money;

use crate::{api::admin::KindPolicy, text};

/// The page of a kind; its name is escaped as a part of a path.
#[must_use]
pub fn place(name: &str) -> String {
    let name: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    format!("/admin/kinds/{}", name.replace('+', "%20"))
}

/// What a repeat of its effect would mean, in a sentence.
#[must_use]
pub fn stake(policy: &KindPolicy) -> String {
    let what = if policy.money {
        "It moves money"
    } else if policy.publication {
        "It makes something public"
    } else {
        "It has an effect outside"
    };
    let repeat = if policy.irreversible { "a repeat would harm" } else { "a repeat does no harm" };
    format!("{what}; {repeat}.")
}

/// What a number of smallest units comes to. A policy names no currency: one with decimals and one without
/// say how far it depends on it.
#[must_use]
pub fn in_money(amount_minor: i64) -> String {
    let of = |currency: &str| Money { amount_minor, currency: currency.to_owned() };
    format!("{}, or {}", of("EUR"), of("JPY"))
}

/// What a threshold that was typed comes to, in a sentence; an example before one is.
#[must_use]
pub fn threshold(typed: &str) -> String {
    match typed.trim().parse::<i64>() {
        Ok(minor) if minor > 0 => format!("{minor} is {}.", in_money(minor)),
        _ => format!("For example, 100000 is {}.", in_money(100_000)),
    }
}

/// What follows, a sentence each.
#[must_use]
pub fn grounds(policy: &KindPolicy) -> Vec<String> {
    let provider = match &policy.provider {
        None => "No provider is asked: what is unknown stays with a person.".to_owned(),
        Some(name) if !policy.lookup && policy.honours_keys && policy.key_ttl_ms.is_some() => {
            format!(
                "{name} cannot be asked, but it knows its keys: while it remembers one, the same request is \
                 sent again to find out; after that a person decides."
            )
        }
        Some(name) if !policy.lookup => {
            format!("{name} cannot be asked afterwards: what is unknown stays with a person.")
        }
        Some(name) if policy.absent_is_proof => {
            format!(
                "{name} can be asked; its \u{201c}not found\u{201d} is proof that it did not happen."
            )
        }
        Some(name) => format!("{name} can be asked; its \u{201c}not found\u{201d} proves nothing."),
    };
    let second = match policy.approval_threshold_minor {
        None => "One person alone may confirm any amount.".to_owned(),
        Some(0) => "Every confirmation takes a second person.".to_owned(),
        Some(minor) => format!(
            "From {minor} of the currency\u{2019}s smallest unit on ({}), and where the amount is unknown, a \
             confirmation takes a second person.",
            in_money(minor)
        ),
    };
    let undo = policy.undo_kind.as_ref().map_or_else(
        || "Nothing can undo it.".to_owned(),
        |kind| format!("It is undone by {kind}, an operation of its own."),
    );
    let harmless =
        policy.harmless_reason.clone().map(|why| format!("Why a repeat is harmless: {why}"));
    [Some(provider), Some(second), Some(undo), harmless].into_iter().flatten().collect()
}

/// The numbers, each under its name.
#[must_use]
pub fn figures(policy: &KindPolicy) -> Vec<(&'static str, String)> {
    let kept = |ms: Option<i64>| ms.map_or_else(|| "for ever".to_owned(), text::span);
    let listed = |pointers: &[String]| match pointers {
        [] => "none".to_owned(),
        pointers => pointers.join(", "),
    };
    let keys = match (policy.honours_keys, policy.key_ttl_ms) {
        (false, _) => "no".to_owned(),
        (true, None) => "yes".to_owned(),
        (true, Some(ms)) => format!("yes, for {}", text::length(ms)),
    };
    vec![
        ("A call may take", text::length(policy.call_deadline_ms)),
        ("A lease lasts without a beat", text::length(policy.lease_ms)),
        ("An effect may show as late as", text::length(policy.settle_window_ms)),
        ("Calls before it is given up", policy.max_attempts.to_string()),
        ("Claims without a start", policy.max_claims.to_string()),
        ("Questions before a person decides", policy.max_reconcile_tries.to_string()),
        ("First pause between them", text::length(policy.backoff_ms)),
        ("Repeated key gives the first answer", keys),
        ("A request for a second person stands", text::length(policy.approval_ttl_ms)),
        ("Kept whole after its end", kept(policy.retention_ms)),
        ("The tombstone is kept", kept(policy.purge_after_ms)),
        ("Shown masked", listed(&policy.masked_pointers)),
        ("Found by", listed(&policy.search_pointers)),
        ("Amount is read at", policy.amount_pointer.clone().unwrap_or_else(|| "nowhere".into())),
        (
            "Currency is read at",
            policy.currency_pointer.clone().unwrap_or_else(|| "nowhere".into()),
        ),
        ("Provider\u{2019}s page", policy.reference_url.clone().unwrap_or_else(|| "none".into())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::policy::fresh;

    #[test]
    fn a_threshold_of_smallest_units_is_never_read_as_that_much_money() {
        assert_eq!(threshold("250000"), "250000 is 2,500.00 EUR, or 250,000 JPY.");
        for none in ["", "0", "a lot"] {
            assert_eq!(threshold(none), "For example, 100000 is 1,000.00 EUR, or 100,000 JPY.");
        }
        let policy = KindPolicy { approval_threshold_minor: Some(100_000), ..fresh() };
        let said = grounds(&policy).join(" ");
        assert!(said.contains("(1,000.00 EUR, or 100,000 JPY)"), "{said}");
    }
}
