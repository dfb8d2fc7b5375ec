//! Money back and undos (I4, I14), read from the provider's ledger: what was undone, how often, and
//! in which order.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value};

use crate::{invariants::Violation, scene::Scene};

type Ledger = [Map<String, Value>];

/// What each ledger line that undoes names as undone.
fn undoes(line: &Map<String, Value>) -> Option<&str> {
    ["charge_reference", "publication_reference"]
        .into_iter()
        .find_map(|name| line.get(name).and_then(Value::as_str))
}

/// A step of a workflow that was undone.
#[derive(sqlx::FromRow)]
struct Step {
    workflow: String,
    status: String,
    step_key: String,
    operation: String,
    can_be_undone: bool,
}

/// I4 and I14.
pub async fn judge(scene: &Scene, ledger: &Ledger, found: &mut Vec<Violation>) {
    money_back(scene, ledger, found).await;
    // In the order of completion, the last first: so they must be undone.
    let steps: Vec<Step> = sqlx::query_as(
        "select w.id::text as workflow, w.status, s.step_key, s.operation_id::text as operation,
           k.undo_kind is not null as can_be_undone
         from workflows w
         join workflow_steps s on s.tenant_id = w.tenant_id and s.workflow_id = w.id
         join operations o on o.tenant_id = s.tenant_id and o.id = s.operation_id
         join operation_kinds k on k.tenant_id = o.tenant_id and k.name = o.operation
         where w.status in ('compensated', 'closed_partial')
         order by w.id, s.completed_seq desc",
    )
    .fetch_all(scene.database.owner_pool())
    .await
    .unwrap();
    let mut flows: BTreeMap<&str, Vec<&Step>> = BTreeMap::new();
    for step in &steps {
        flows.entry(&step.workflow).or_default().push(step);
    }
    for steps in flows.values() {
        let mut before = 0;
        for step in steps {
            undone_once(step, ledger, &mut before, found);
        }
    }
}

/// `before`: where in the ledger the undo of the step that completed later stands.
fn undone_once(step: &Step, ledger: &Ledger, before: &mut usize, found: &mut Vec<Violation>) {
    let what = |text: &str| format!("{} of {}: {text}", step.step_key, step.workflow);
    let done = ledger.iter().position(|line| line["key"] == *step.operation);
    let Some((done, reference)) = done.and_then(|at| Some((at, ledger.get(at)?["id"].as_str()?)))
    else {
        return;
    };
    let undone: Vec<usize> =
        (0..ledger.len()).filter(|at| undoes(&ledger[*at]) == Some(reference)).collect();
    match undone.as_slice() {
        [] if step.status == "compensated" && step.can_be_undone => found.push(Violation {
            invariant: "I14 undo matches do",
            what: what("it stands, and its workflow is compensated"),
        }),
        [] => {}
        [at] => {
            if *at < done || *at < *before {
                found.push(Violation {
                    invariant: "I14 undo matches do",
                    what: what("undone before its do, or before a step that completed later"),
                });
            }
            *before = *at;
        }
        more => found.push(Violation {
            invariant: "double",
            what: what(&format!("undone {} times", more.len())),
        }),
    }
}

/// I4: what went back never exceeds what was taken, and each undo of the engine's was paid once.
async fn money_back(scene: &Scene, ledger: &Ledger, found: &mut Vec<Violation>) {
    let promised: Vec<String> = sqlx::query_scalar("select undo_id::text from compensation_undos")
        .fetch_all(scene.database.owner_pool())
        .await
        .unwrap();
    let promised: HashSet<String> = promised.into_iter().collect();
    let amount = |line: &Map<String, Value>| line["amount_minor"].as_i64().unwrap_or_default();
    let mut back: HashMap<&str, i64> = HashMap::new();
    let mut keys = HashSet::new();
    for line in ledger {
        let Some(reference) = undoes(line) else { continue };
        *back.entry(reference).or_default() += amount(line);
        let key = line["key"].as_str().unwrap_or_default();
        if !keys.insert(key) {
            found.push(Violation { invariant: "double", what: format!("{key} was undone twice") });
        }
        if !promised.contains(key) {
            let what = format!("{key} undid {reference}, and nobody had asked for it");
            found.push(Violation { invariant: "I4 money back", what });
        }
    }
    for (reference, back) in back {
        let taken = ledger.iter().find(|line| line["id"] == reference).map_or(0, amount);
        if back > taken {
            let what = format!("{reference}: {back} of {taken} went back");
            found.push(Violation { invariant: "I4 money back", what });
        }
    }
}
