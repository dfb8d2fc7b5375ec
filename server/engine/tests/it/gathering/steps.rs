//! The moves of steps in an incident's story: under the workflow where that was gathered, otherwise under
//! the operation, and never twice.

use domain::{
    access::Role,
    action::Verb,
    record::{RecordName, RecordType},
    view::IncidentDetail,
};
use engine::FinishOutcome;

use super::{act, change, minted, opening, shown};
use crate::workflows::support::{Flow, input, line, stage};

/// The moves of steps: under which kind of record, and in which words.
fn steps(detail: &IncidentDetail) -> Vec<(RecordType, String)> {
    let of_a_step = |rule: &str| rule.starts_with('S');
    let moves = detail.story.iter().filter(|step| of_a_step(&step.step.rule));
    moves.map(|step| (step.record, step.sentence.clone().unwrap_or_default())).collect()
}

#[tokio::test]
async fn a_steps_moves_stand_in_the_story_once_whichever_of_its_records_were_gathered() {
    let fixture = stage(vec![line()]).await;
    let operator = fixture.person("operator", Role::Operator).await;
    let flow = Flow::start(&fixture, "line", "doc-1", &input()).await;
    flow.turn().await;
    let work = flow.claim().await.remove(0);
    flow.carry_out(&work, FinishOutcome::Done).await;
    flow.turn().await;

    let id = minted(&fixture, &operator).await;
    act(&fixture, &operator, opening(id, &[work.id.into()])).await;
    let told = |record, words: &str| (record, words.to_owned());
    let own = shown(&fixture, &operator, id).await;
    assert_eq!(
        steps(&own),
        [
            told(RecordType::Operation, "Step mail: started."),
            told(RecordType::Operation, "Step mail: succeeded."),
        ],
        "not those of the workflow's other steps"
    );

    let workflow = RecordName::new(RecordType::Workflow, flow.id.uuid());
    act(&fixture, &operator, change(id, Verb::Add, own.row.version, &[workflow])).await;
    let all = shown(&fixture, &operator, id).await;
    assert_eq!(
        steps(&all),
        [
            told(RecordType::Workflow, "Step mail: started."),
            told(RecordType::Workflow, "Step mail: succeeded."),
            told(RecordType::Workflow, "Step charge: started."),
        ]
    );
    let step = all.story.iter().find(|step| step.step.rule == "S2").unwrap();
    assert_eq!(step.detail("step"), Some("mail"));
    let anchors: std::collections::BTreeSet<_> =
        all.story.iter().map(|step| &step.anchor).collect();
    assert_eq!(anchors.len(), all.story.len());
    assert!(all.story.is_sorted_by(|a, b| a.step.at <= b.step.at));
}
