//! The rules in `domain` and those in the database are one table: each machine's are compared whole.

use domain::machine::Machine;

use crate::fixture::Fixture;

/// Compares one machine's rules with the database's, both ways.
pub async fn same_rules<M: Machine>(fixture: &Fixture) {
    let stored: Vec<(String, String, String)> = sqlx::query_as(
        "select rule, from_status, to_status from machine_moves where machine = $1 order by 1, 2, 3",
    )
    .bind(M::NAME)
    .fetch_all(fixture.pool())
    .await
    .unwrap();
    let mut known: Vec<_> = M::RULES
        .iter()
        .map(|rule| {
            let from = rule.from.map_or("", M::as_str);
            (rule.rule.to_owned(), from.to_owned(), rule.to.as_str().to_owned())
        })
        .collect();
    known.sort();
    assert_eq!(known, stored, "{}", M::NAME);
}

#[tokio::test]
async fn workflows_and_their_steps_move_by_the_same_table_here_and_in_the_database() {
    let fixture = Fixture::new().await;
    same_rules::<domain::workflow::WorkflowState>(&fixture).await;
    same_rules::<domain::workflow::StepState>(&fixture).await;
}

#[tokio::test]
async fn compensation_links_move_by_the_same_table_here_and_in_the_database() {
    same_rules::<domain::compensation::CompensationState>(&Fixture::new().await).await;
}
