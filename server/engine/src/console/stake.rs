//! Money at stake in the records of an incident.

use std::collections::BTreeMap;

use domain::{
    record::RecordType,
    view::{RecordRef, ReportStake},
};

/// The amounts of the operations among the records, and of those whose undos are: each operation once.
pub(super) fn stake<'a>(records: impl IntoIterator<Item = &'a RecordRef>) -> Vec<ReportStake> {
    let mut operations = BTreeMap::new();
    for now in records {
        let Some(amount) = &now.amount else { continue };
        let unknown = now.record == RecordType::Operation && now.status == "unknown";
        match now.record {
            RecordType::Operation => {
                operations.insert(now.id.as_str(), (amount, unknown));
            }
            RecordType::Compensation => {
                operations.entry(now.page_id.as_str()).or_insert((amount, unknown));
            }
            _ => {}
        }
    }
    let mut sums: BTreeMap<&str, ReportStake> = BTreeMap::new();
    for (amount, unknown) in operations.into_values() {
        let sum = sums.entry(amount.currency.as_str()).or_insert_with(|| ReportStake {
            currency: amount.currency.clone(),
            amount_minor: 0,
            unknown_minor: 0,
            operations: 0,
        });
        sum.amount_minor = sum.amount_minor.saturating_add(amount.amount_minor);
        sum.operations += 1;
        if unknown {
            sum.unknown_minor = sum.unknown_minor.saturating_add(amount.amount_minor);
        }
    }
    sums.into_values().collect()
}
