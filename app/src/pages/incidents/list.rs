//! `/incidents`: the list of incidents.

use chrono::{DateTime, Utc};
use domain::{listing::IncidentState, money::Money, record::RecordType, view::IncidentRow};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::records::incidents,
    components::{
        amount::Amount,
        data_table::Column,
        empty_state::EmptyState,
        filter_form::FilterField,
        key::Key,
        list::{ListSpec, list_page},
        mark::MarkBadge,
        pager::Ways,
        record_state::{CAUSES, cause},
        row::Row,
        state_badge::PersonDot,
        timestamp::Ago,
    },
    pages::address::asked,
};

const COLUMNS: &[Column] = &[
    ("State", "col-status"),
    ("Cause", "col-topic"),
    ("What is the matter", "col-words"),
    ("About", "col-name"),
    ("Amount", "col-amount num"),
    ("Opened", "col-updated num"),
    ("Closed by", "col-taken"),
];

const SPEC: ListSpec = ListSpec {
    title: "Incidents",
    caption: "Incidents, newest first",
    columns: COLUMNS,
    ways: Ways::BY_AGE,
    views: &[],
};

/// The list of incidents.
#[component]
pub fn ListPage() -> impl IntoView {
    let load = |asked| async move { incidents(&asked).await };
    view! {
        <Title text="Incidents · Onceover"/>
        {list_page(&SPEC, asked("/incidents"), async { fields() }, load, row, empty)}
    }
}

fn fields() -> Vec<FilterField> {
    let states = [IncidentState::Open, IncidentState::Closed];
    vec![
        FilterField::choice(
            "status",
            "State",
            "any state",
            states.map(|state| (state.as_str().to_owned(), state.as_str().to_owned())),
        ),
        FilterField::choice(
            "cause",
            "Cause",
            "any cause",
            CAUSES.map(|(word, words)| (word.to_owned(), words.to_owned())),
        ),
        FilterField::text("q", "Search", "key, invoice, reference, id"),
        FilterField::day("from", "Opened from"),
        FilterField::day("to", "Opened before"),
    ]
}

fn row(row: IncidentRow, as_of: DateTime<Utc>) -> AnyView {
    let (many, amounts) = (many(&row), amounts(&row));
    let about = row.about.map(|about| about.key);
    view! {
        <Row record=RecordType::Incident id=row.id.to_string()>
            <td role="cell" class="col-status">
                {(row.status == IncidentState::Open).then(|| view! { <PersonDot/> })}
                <MarkBadge mark=row.status/>
            </td>
            <td role="cell" class="col-topic cell-sub">{cause(&row.cause)}</td>
            <td role="cell" class="col-words">
                <a class="row-link" href=format!("/incidents/{}", row.id)>{row.summary}</a>
            </td>
            <td role="cell" class="col-name cell-sub">{many} " " {about.map(|about| view! { <Key text=about/> })}</td>
            <td role="cell" class="col-amount num">{amounts}</td>
            <td role="cell" class="col-updated num cell-sub"><Ago at=row.opened_at as_of/></td>
            <td role="cell" class="col-taken cell-sub" data-label="closed by">{row.closed_by}</td>
        </Row>
    }
    .into_any()
}

/// What is said before the key of the first record where an incident is about several: before it, for a
/// narrow column cuts off what comes last.
fn many(row: &IncidentRow) -> Option<String> {
    match row.record_count? {
        0 | 1 => None,
        all if all > IncidentRow::SUMMED => {
            Some(format!("more than {} records \u{b7}", IncidentRow::SUMMED))
        }
        all => Some(format!("{all} records \u{b7}")),
    }
}

/// What is at stake in all records, in words that fit a column: a sum, or why there is none.
fn at_stake(row: &IncidentRow) -> Option<String> {
    if row.record_count.is_some_and(|all| all > IncidentRow::SUMMED) {
        return Some("not summed here".to_owned());
    }
    match row.stake.as_slice() {
        [] => None,
        [sum] => {
            let (amount_minor, currency) = (sum.amount_minor, sum.currency.clone());
            Some(Money { amount_minor, currency }.to_string())
        }
        several => Some(format!("{} currencies", several.len())),
    }
}

fn amounts(row: &IncidentRow) -> AnyView {
    if let Some(words) = at_stake(row) {
        return view! { <span class="amount">{words}</span> }.into_any();
    }
    // A refused payload alone moves no operation's money, and still shows its own.
    let alone = row.record_count.is_none_or(|all| all < 2);
    let own = row.about.as_ref().filter(|_| alone).and_then(|about| about.amount.clone());
    view! { <Amount amount=own/> }.into_any()
}

fn empty(narrowed: bool) -> AnyView {
    if narrowed {
        return view! {
            <EmptyState title="No incident matches.">
                <p>
                    "The search finds what finds the operation. Closed ones are looked for in the last 90 "
                    "days, unless a day is given."
                </p>
                <p><a href="/incidents">"Show all incidents"</a></p>
            </EmptyState>
        }
        .into_any();
    }
    view! {
        <EmptyState title="No incident has been opened.">
            <p>
                "The engine opens one where it may have happened twice, where evidence contradicts what a "
                "person confirmed, or where a provider did something else than was asked. People open one "
                "from the page of any record."
            </p>
        </EmptyState>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use domain::view::ReportStake;

    use super::*;

    fn about(records: usize, sums: &[(i64, &str)]) -> IncidentRow {
        let stake = sums.iter().map(|(amount_minor, currency)| ReportStake {
            currency: (*currency).to_owned(),
            amount_minor: *amount_minor,
            unknown_minor: 0,
            operations: 1,
        });
        IncidentRow {
            id: "00000000-0000-0000-0000-000000000001".parse().unwrap(),
            status: IncidentState::Open,
            version: 1,
            cause: "opened_by_person".into(),
            summary: "Charges without an answer".into(),
            about: None,
            record_count: Some(records),
            stake: stake.collect(),
            opened_at: DateTime::UNIX_EPOCH,
            opened_by: None,
            closed_at: None,
            closed_by: None,
        }
    }

    #[test]
    fn the_amount_of_one_record_never_stands_for_several() {
        let two = about(2, &[(25_800, "EUR")]);
        assert_eq!(many(&two).as_deref(), Some("2 records \u{b7}"));
        assert_eq!(at_stake(&two).as_deref(), Some("258.00 EUR"));
        let mixed = about(3, &[(12_900, "EUR"), (4_200, "JPY")]);
        assert_eq!(at_stake(&mixed).as_deref(), Some("2 currencies"));
        let one = about(1, &[(12_900, "EUR")]);
        assert_eq!((many(&one), at_stake(&one)), (None, Some("129.00 EUR".to_owned())));
        let crowd = about(IncidentRow::SUMMED + 1, &[]);
        assert_eq!(many(&crowd).as_deref(), Some("more than 20 records \u{b7}"));
        assert_eq!(at_stake(&crowd).as_deref(), Some("not summed here"));
    }
}
