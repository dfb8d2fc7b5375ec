//! The invariants (docs/invariants.md), read from the provider's ledger and from the tables of a
//! scene that is quiet.

use std::collections::HashMap;

use domain::problem::Code;
use engine::{Admission, EngineError};
use serde_json::{Map, Value};

use crate::{
    closing,
    scene::{Asked, Scene},
    undone,
};

/// Something that must not be. `double` and `loss` are what the figures count.
#[derive(Debug)]
pub struct Violation {
    pub invariant: &'static str,
    pub what: String,
}

/// What can be read from the tables alone: each statement names rows that must not be there.
const TABLES: &[(&str, &str)] = &[
    (
        "I5 every row ends final or with a person",
        "select id::text from operations
         where status not in ('succeeded', 'failed_terminal') and not needs_manual",
    ),
    (
        "I4 no more is given back than was taken, undos in doubt counted",
        "select o.id::text from operations o join compensations c
           on (c.tenant_id, c.operation_id) = (o.tenant_id, o.id)
         where c.status not in ('not_needed', 'failed', 'accepted_undone_not')
         group by o.tenant_id, o.id, o.amount_minor having sum(c.amount_minor) > o.amount_minor",
    ),
    (
        "I5 every workflow and undo ends final or with a person",
        "select id::text || ' ' || status from workflows
           where completed_at is null and status not in ('blocked', 'compensation_stuck')
         union all select c.id::text || ' ' || c.status from compensations c
           left join operations u on u.tenant_id = c.tenant_id and u.id = c.undo_id
           left join operations f on f.tenant_id = c.tenant_id and f.id = c.operation_id
           where c.status in ('requested', 'waiting_forward', 'running')
             and not coalesce(u.needs_manual, f.needs_manual)",
    ),
    (
        "I9 a call is ended under its own fence",
        "select operation_id::text || ' ' || move from operation_events
         where move in ('O6', 'O7', 'O8', 'O9', 'O10') and (detail->>'fence')::bigint <> fence",
    ),
    (
        "I10 unknown is left with proof",
        "select operation_id::text || ' ' || move from operation_events
         where from_status = 'unknown' and to_status <> 'unknown' and not coalesce(case
           when move in ('O16', 'O17', 'O18') then detail ? 'answer' or detail ? 'source'
           when move in ('O21', 'O22', 'O23') then actor_kind = 'staff' and detail->>'reason' <> ''
           when move = 'O34' then detail->>'harmless' <> ''
         end, false)",
    ),
    (
        "I11 every final move and every doubt is told",
        "select e.operation_id::text from operation_events e
         where e.move in ('O3','O4b','O6','O7','O9','O10','O11','O12','O14','O16','O17','O20','O21','O23',
                          'O26','O30','OE')
         group by e.tenant_id, e.operation_id
         having count(*) <> (select count(*) from outbox b
           where b.tenant_id = e.tenant_id and b.aggregate = e.operation_id::text
             and b.topic like 'operation.%')",
    ),
    (
        "I11 no gap within an aggregate",
        "select a.aggregate from aggregates a
         where a.next_seq - 1 <> (select count(*) from outbox b
           where b.tenant_id = a.tenant_id and b.aggregate = a.aggregate)",
    ),
    (
        "I14 what did not happen is not undone",
        "select c.operation_id::text from compensations c join operations o
           on (o.tenant_id, o.id) = (c.tenant_id, c.operation_id)
         where c.status in ('running', 'compensated', 'failed') and o.status = 'failed_terminal'
           and not exists (select from corrections x
             where x.tenant_id = o.tenant_id and x.operation_id = o.id)",
    ),
    (
        "I15 one decision, one audit row",
        "select o.id::text from operations o where o.console and 1 <> (select count(*) from audit a
           where a.tenant_id = o.tenant_id and a.receipt = o.id and a.result = 'done')",
    ),
    (
        "I15 no audit row without its decision",
        "select a.seq::text from audit a where a.receipt is not null and not exists (
           select from operations o where o.tenant_id = a.tenant_id and o.id = a.receipt and o.console)",
    ),
    (
        "I17 final is final",
        "select l.operation_id::text || ' ' || l.move from operation_events f join operation_events l
           on (l.tenant_id, l.operation_id) = (f.tenant_id, f.operation_id) and l.id > f.id
         where f.to_status in ('succeeded', 'failed_terminal')
           and (l.to_status <> f.to_status or l.move not in ('O25', 'O26', 'O27', 'O28'))",
    ),
    (
        "I18 tries are bounded",
        "select o.id::text from operations o
         join operation_kinds k on k.tenant_id = o.tenant_id and k.name = o.operation
         where o.attempt > o.max_attempts or o.claims > k.max_claims
           or o.reconcile_tries > k.max_reconcile_tries",
    ),
    (
        "I18 nobody holds what is over",
        "select l.operation_id::text from leases l join operations o
           on (o.tenant_id, o.id) = (l.tenant_id, l.operation_id)
         where o.status in ('succeeded', 'failed_terminal')",
    ),
];

/// Everything that must not be, of a scene that was driven to quiet.
pub async fn invariants(scene: &Scene) -> Vec<Violation> {
    let mut found = Vec::new();
    tables(scene, TABLES, &mut found).await;
    let ledger = scene.providers.ledger(&[]).await.unwrap();
    effects(scene, &ledger, &mut found).await;
    undone::judge(scene, &ledger, &mut found).await;
    for asked in scene.all_asked().iter().rev().take(10) {
        answers(scene, asked, &mut found).await;
    }
    closing::try_all(scene, &mut found).await;
    tables(scene, closing::EXPIRED, &mut found).await;
    found
}

async fn tables(
    scene: &Scene,
    tables: &[(&'static str, &'static str)],
    found: &mut Vec<Violation>,
) {
    for (invariant, sql) in tables {
        let rows: Vec<String> =
            sqlx::query_scalar(*sql).fetch_all(scene.database.owner_pool()).await.unwrap();
        found.extend(rows.into_iter().map(|what| Violation { invariant, what }));
    }
}

/// The state of each operation, and whether an incident about it is open.
async fn states(scene: &Scene) -> HashMap<String, (String, bool)> {
    let rows: Vec<(String, String, bool)> = sqlx::query_as(
        "select o.id::text, o.status, exists (select from incidents i
           where i.tenant_id = o.tenant_id and i.operation_id = o.id and i.closed_at is null)
         from operations o",
    )
    .fetch_all(scene.database.owner_pool())
    .await
    .unwrap();
    rows.into_iter().map(|(id, status, incident)| (id, (status, incident))).collect()
}

/// I1 to I3, I5, I6: what the ledger holds against what we say.
async fn effects(scene: &Scene, ledger: &[Map<String, Value>], found: &mut Vec<Violation>) {
    let states = states(scene).await;
    let mut seen = std::collections::HashSet::new();
    for asked in scene.all_asked() {
        let what = |text: &str| format!("{asked:?}: {text}");
        if seen.insert(asked.subject.clone()) && times(ledger, &asked) > 1 {
            found.push(Violation {
                invariant: "double",
                what: what(&format!("{} times", times(ledger, &asked))),
            });
        }
        let by_key = ledger.iter().filter(|line| line["key"] == asked.id.to_string()).count();
        let Some((status, incident)) = states.get(&asked.id.to_string()) else {
            found.push(Violation { invariant: "loss", what: what("accepted, and gone") });
            continue;
        };
        match (status.as_str(), by_key) {
            ("succeeded", 0) => found
                .push(Violation { invariant: "loss", what: what("succeeded, not in the ledger") }),
            ("failed_terminal", 1..) if !incident => found.push(Violation {
                invariant: "I6 no invented outcome",
                what: what("failed, but it happened"),
            }),
            _ => {}
        }
    }
}

/// How often the business subject met the effect, under whatever operation.
pub fn times(ledger: &[Map<String, Value>], asked: &Asked) -> usize {
    ledger.iter().filter(|line| asked.effect.is_in(line, &asked.subject)).count()
}

/// I7 and I8, for one operation.
async fn answers(scene: &Scene, asked: &Asked, found: &mut Vec<Violation>) {
    let ask =
        |other| scene.engine.reserve(&scene.service, asked.effect.request(&asked.subject, other));
    let (first, second) = (ask(false).await, ask(false).await);
    let same = match (&first, &second) {
        (
            Ok(Admission::Replayed { id: a, answer: first }),
            Ok(Admission::Replayed { id: b, answer: second }),
        ) => a == b && first == second,
        (
            Ok(Admission::FailedTerminal { id: a, answer: first, .. }),
            Ok(Admission::FailedTerminal { id: b, answer: second, .. }),
        ) => a == b && first == second,
        (
            Ok(Admission::OutcomeUnknown { id: a, .. }),
            Ok(Admission::OutcomeUnknown { id: b, .. }),
        ) => a == b,
        _ => false,
    };
    if !same {
        let what = format!("{asked:?}: {first:?}, then {second:?}");
        found.push(Violation { invariant: "I7 same question, same answer", what });
    }
    let other = ask(true).await;
    if !matches!(&other, Err(EngineError::Refused(refusal)) if refusal.code == Code::KeyReused) {
        let what = format!("{asked:?}: another payload gets {other:?}");
        found.push(Violation { invariant: "I7 same question, same answer", what });
    }
    let seen = scene.engine.operation_for_service(&scene.stranger, asked.id).await;
    if seen.is_ok() {
        found.push(Violation { invariant: "I8 tenants apart", what: format!("{asked:?}") });
    }
}
