//! What is at stake in an incident: the money of all that was gathered into it, on every page alike.

use domain::{
    access::Role,
    action::Verb,
    listing::{IncidentFilter, IncidentState},
    money::Money,
    record::{RecordName, RecordType},
    view::Cause,
};
use uuid::Uuid;

use super::{act, change, many, minted, opening, shown};
use crate::fixture::{self, Fixture};

#[tokio::test]
async fn the_first_page_counts_the_money_of_what_people_gathered() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (one, _) = fixture.needs_person("one").await;
    let (two, _) = fixture.needs_person("two").await;
    let dollars = fixture::PAYLOAD.replace("12900", "500").replace("EUR", "USD");
    let (three, _) = fixture::won(fixture.reserve_as("three", &dollars).await.unwrap());
    let id = minted(&fixture, &operator).await;
    act(&fixture, &operator, opening(id, &[one.into(), two.into(), three.into()])).await;
    let event: Uuid = sqlx::query_scalar("select id from outbox limit 1")
        .fetch_one(fixture.pool())
        .await
        .unwrap();
    let moneyless = minted(&fixture, &operator).await;
    let event = RecordName::new(RecordType::Event, event);
    act(&fixture, &operator, opening(moneyless, &[event])).await;

    let shown = fixture.engine.overview(&operator, Some(Cause::OpenIncident)).await.unwrap();
    let queue = shown.queues.iter().find(|queue| queue.cause == Cause::OpenIncident).unwrap();
    assert_eq!(queue.count, 2);
    let sums = |sums: &[Money]| sums.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(sums(&queue.at_stake), ["258.00 EUR", "5.00 USD"]);
    let rows: Vec<_> = shown.merged.iter().map(|row| row.record.id.as_str()).collect();
    assert_eq!(rows, [id.to_string(), moneyless.to_string()]);
    assert_eq!(sums(&shown.merged[0].at_stake), ["258.00 EUR", "5.00 USD"]);
    assert!(shown.merged[1].at_stake.is_empty());
    // Gathered, the outcomes still wait for a person, each in its own row.
    let all = fixture.engine.overview(&operator, None).await.unwrap().merged;
    assert_eq!(all.iter().filter(|row| row.cause == Cause::UnknownOutcome).count(), 2);
}

#[tokio::test]
async fn the_money_at_stake_is_that_of_all_records() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (one, _) = fixture.needs_person("one").await;
    let (two, _) = fixture.needs_person("two").await;
    let id = minted(&fixture, &operator).await;
    act(&fixture, &operator, opening(id, &[one.into(), two.into()])).await;
    let list = async || {
        let open = IncidentFilter { status: Some(IncidentState::Open), ..Default::default() };
        fixture.engine.list_incidents(&operator, &open).await.unwrap().items.remove(0)
    };
    let row = list().await;
    assert_eq!(row.record_count, Some(2));
    assert_eq!((row.stake[0].amount_minor, row.stake[0].operations), (25_800, 2));
    assert_eq!(shown(&fixture, &operator, id).await.stake, row.stake);

    // So many that a list does not sum them: then it says no sum, rather than that of some.
    let more = many(&fixture, 30).await;
    act(&fixture, &operator, change(id, Verb::Add, 1, &more)).await;
    let row = list().await;
    assert_eq!((row.record_count, row.stake.len()), (Some(21), 0));
    assert_eq!(row.about.map(|about| about.key).as_deref(), Some("one"));
    assert_eq!(shown(&fixture, &operator, id).await.stake[0].operations, 32);
}
