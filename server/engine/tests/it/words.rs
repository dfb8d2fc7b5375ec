//! Stored words come back as they went in, with numbers kept exact.

use domain::{money::Money, reconciliation::ProviderAnswer};

#[test]
fn a_providers_answer_survives_the_timeline() {
    let amount = Some(Money { amount_minor: 9_007_199_254_740_993, currency: "EUR".into() });
    for answer in [
        ProviderAnswer::Done { external_reference: "ch_1".into(), amount },
        ProviderAnswer::Rejected,
        ProviderAnswer::Absent,
        ProviderAnswer::NoLookup,
        ProviderAnswer::Unreachable,
    ] {
        let stored = serde_json::to_value(&answer).unwrap();
        assert_eq!(serde_json::from_value::<ProviderAnswer>(stored).unwrap(), answer);
    }
}
