//! What a list's rows are in a file of cells: the same facts as on the page, masked alike, each in a
//! column of its own.
//!
//! Guards against a number that a spreadsheet rounds and an instant without a zone: amounts stand as they
//! were sent beside their decimal form, instants are RFC 3339 in UTC. Formulas are for [`crate::csv`].

use std::fmt::Display;

use chrono::{DateTime, SecondsFormat, Utc};

use crate::{
    lease::LeaseState,
    machine::Machine as _,
    money::{Money, exponent},
    view::{
        ApprovalView, AuditRow, ConflictRow, EventRow, IncidentRow, LeaseRow, MessageRow,
        OperationRow, WorkflowRow,
    },
};

/// A row that can leave as cells.
pub trait Exported {
    /// The names of the columns, in order.
    const COLUMNS: &'static [&'static str];

    /// The cells, one per column.
    fn cells(&self) -> Vec<String>;
}

/// A text, or an empty cell.
fn text<T: Display>(value: Option<&T>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

/// An instant with its zone.
fn at(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

fn maybe_at(instant: Option<DateTime<Utc>>) -> String {
    instant.map(at).unwrap_or_default()
}

/// The amount in the currency's greater unit, without grouping: `129.00`.
fn decimal(money: Option<&Money>) -> String {
    let Some(money) = money else { return String::new() };
    let digits = exponent(&money.currency);
    let scale = 10_u64.pow(digits);
    let absolute = money.amount_minor.unsigned_abs();
    let sign = if money.amount_minor < 0 { "-" } else { "" };
    if digits == 0 {
        return format!("{sign}{absolute}");
    }
    let width = digits as usize;
    format!("{sign}{}.{:0width$}", absolute / scale, absolute % scale)
}

fn minor(money: Option<&Money>) -> String {
    text(money.map(|money| &money.amount_minor))
}

fn currency(money: Option<&Money>) -> String {
    text(money.map(|money| &money.currency))
}

const fn lease(state: LeaseState) -> &'static str {
    match state {
        LeaseState::None => "none",
        LeaseState::Live => "live",
        LeaseState::Stale => "stale",
    }
}

macro_rules! exported {
    ($($row:ty, $r:ident { $($name:literal = $cell:expr;)* })*) => {$(
        impl Exported for $row {
            const COLUMNS: &'static [&'static str] = &[$($name,)*];

            fn cells(&self) -> Vec<String> {
                let $r = self;
                vec![$($cell.to_string(),)*]
            }
        }
    )*};
}

exported! {
    OperationRow, row {
        "id" = row.id;
        "kind" = row.operation;
        "key" = row.key;
        "status" = row.status;
        "tombstoned" = row.tombstoned;
        "version" = row.version;
        "calls" = row.attempt;
        "lease" = lease(row.lease.state);
        "holder" = text(row.lease.owner.as_ref());
        "lease_until" = maybe_at(row.lease.lease_until);
        "amount" = decimal(row.amount.as_ref());
        "amount_minor" = minor(row.amount.as_ref());
        "currency" = currency(row.amount.as_ref());
        "external_reference" = text(row.external_reference.as_ref());
        "needs_person" = row.needs_manual;
        "conflict" = row.conflict;
        "open_incident" = row.open_incident;
        "taken_by" = text(row.taken_by.as_ref());
        "reserved_at" = at(row.created_at);
        "updated_at" = at(row.updated_at);
    }
    WorkflowRow, row {
        "id" = row.id;
        "workflow" = row.kind;
        "key" = row.key;
        "definition_version" = row.definition_version;
        "status" = row.status.as_str();
        "version" = row.version;
        "cause" = text(row.cause.as_ref());
        "steps_over" = row.steps_over;
        "steps" = row.steps;
        "started_at" = at(row.created_at);
        "updated_at" = at(row.updated_at);
        "completed_at" = maybe_at(row.completed_at);
    }
    EventRow, row {
        "id" = row.id;
        "topic" = row.topic;
        "aggregate" = row.aggregate;
        "seq" = row.seq;
        "status" = row.status.as_str();
        "version" = row.version;
        "refusals" = row.attempts;
        "destination" = text(row.destination.as_ref());
        "operation_id" = text(row.operation_id.as_ref());
        "next_of_its_aggregate" = row.at_head;
        "behind_a_dead_one" = row.behind_dead;
        "next_at" = maybe_at(row.next_at);
        "last_error" = text(row.last_error.as_ref());
        "written_at" = at(row.created_at);
        "settled_at" = maybe_at(row.settled_at);
    }
    MessageRow, row {
        "id" = row.id;
        "consumer" = row.consumer;
        "source" = row.source;
        "message_id" = row.message_id;
        "status" = row.status.as_str();
        "version" = row.version;
        "deliveries" = row.deliveries;
        "failures" = row.failures;
        "other_content" = row.conflict;
        "operation_id" = text(row.operation_id.as_ref());
        "workflow_id" = text(row.workflow_id.as_ref());
        "produced_at" = at(row.produced_at);
        "received_at" = at(row.received_at);
        "last_delivery_at" = at(row.last_delivery_at);
        "settled_at" = maybe_at(row.settled_at);
    }
    ConflictRow, row {
        "id" = row.id;
        "operation_id" = row.operation_id;
        "kind" = row.operation;
        "key" = row.key;
        "status_of_the_first" = row.status;
        "amount" = decimal(row.amount.as_ref());
        "amount_minor" = minor(row.amount.as_ref());
        "currency" = currency(row.amount.as_ref());
        "other_amount" = decimal(row.other_amount.as_ref());
        "other_amount_minor" = minor(row.other_amount.as_ref());
        "other_currency" = currency(row.other_amount.as_ref());
        "times" = row.count;
        "sent_by" = row.callers.join(", ");
        "stands_for_more" = row.counted_only;
        "first_at" = at(row.first_at);
        "last_at" = at(row.last_at);
    }
    LeaseRow, row {
        "operation_id" = row.id;
        "kind" = row.operation;
        "key" = row.key;
        "status" = row.status;
        "version" = row.version;
        "lease" = lease(row.lease.state);
        "holder" = text(row.lease.owner.as_ref());
        "fence" = row.lease.fence;
        "granted_at" = maybe_at(row.lease.granted_at);
        "beat_at" = maybe_at(row.lease.beat_at);
        "lease_until" = maybe_at(row.lease.lease_until);
        "calls" = row.attempt;
        "claims" = row.claims;
        "takeovers" = row.takeovers;
        "amount" = decimal(row.amount.as_ref());
        "amount_minor" = minor(row.amount.as_ref());
        "currency" = currency(row.amount.as_ref());
        "taken_by" = text(row.taken_by.as_ref());
    }
    ApprovalView, row {
        "id" = row.id;
        "status" = row.status.as_str();
        "verb" = row.verb;
        "record" = row.target_type;
        "record_id" = row.target;
        "record_version" = row.target_version;
        "kind" = row.target_operation;
        "key" = row.target_key;
        "outcome" = row.outcome.map(|outcome| outcome.as_str()).unwrap_or_default();
        "amount" = decimal(row.amount.as_ref());
        "amount_minor" = minor(row.amount.as_ref());
        "currency" = currency(row.amount.as_ref());
        "why_two" = row.why;
        "reason" = row.reason;
        "requester" = row.requester_email;
        "requested_at" = at(row.requested_at);
        "expires_at" = at(row.expires_at);
        "decided_by" = text(row.decided_by.as_ref());
        "decided_at" = maybe_at(row.decided_at);
        "decision_reason" = text(row.decision_reason.as_ref());
        "receipt" = text(row.receipt.as_ref());
    }
    IncidentRow, row {
        "id" = row.id;
        "status" = row.status.as_str();
        "version" = row.version;
        "cause" = row.cause;
        "summary" = row.summary;
        "record" = row.about.as_ref().map(|about| about.record.label()).unwrap_or_default();
        "record_id" = text(row.about.as_ref().map(|about| &about.id));
        "key" = text(row.about.as_ref().map(|about| &about.key));
        "amount" = decimal(row.about.as_ref().and_then(|about| about.amount.as_ref()));
        "amount_minor" = minor(row.about.as_ref().and_then(|about| about.amount.as_ref()));
        "currency" = currency(row.about.as_ref().and_then(|about| about.amount.as_ref()));
        "opened_at" = at(row.opened_at);
        "closed_at" = maybe_at(row.closed_at);
        "closed_by" = text(row.closed_by.as_ref());
    }
    AuditRow, row {
        "number" = row.id;
        "at" = at(row.at);
        "actor_kind" = row.actor_kind;
        "actor" = row.actor;
        "verb" = row.verb;
        "record" = row.target_type;
        "record_id" = row.target;
        "refused" = row.denied;
        "code" = text(row.code.as_ref());
        "reason" = text(row.reason.as_ref());
        "before" = text(row.before.as_ref());
        "after" = text(row.after.as_ref());
        "receipt" = text(row.receipt.as_ref());
        "bulk" = text(row.bulk.as_ref());
        "request_id" = row.request_id;
        "client" = text(row.client.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_keeps_its_digits() {
        let money =
            |amount_minor, currency: &str| Money { amount_minor, currency: currency.into() };
        for (amount, currency, text) in [
            (12_900, "EUR", "129.00"),
            (-5, "EUR", "-0.05"),
            (129, "JPY", "129"),
            (9_007_199_254_740_993, "USD", "90071992547409.93"),
            (i64::MIN, "EUR", "-92233720368547758.08"),
        ] {
            assert_eq!(decimal(Some(&money(amount, currency))), text);
        }
        assert_eq!(decimal(None), "");
    }

    #[test]
    fn every_row_has_a_cell_for_each_column() {
        let entry = AuditRow {
            id: 7,
            at: DateTime::from_timestamp(1_795_975_200, 0).unwrap(),
            actor_kind: "staff".into(),
            actor: "ann@acme.test".into(),
            verb: "confirm".into(),
            target_type: "operation".into(),
            target: "t".into(),
            denied: false,
            code: None,
            reason: Some("seen".into()),
            before: None,
            after: None,
            receipt: None,
            bulk: None,
            request_id: "r".into(),
            client: Some("203.0.113.7".into()),
        };
        let cells = entry.cells();
        assert_eq!(cells.len(), AuditRow::COLUMNS.len());
        assert_eq!(&cells[..3], ["7", "2026-11-29T18:00:00.000000Z", "staff"]);
    }
}
