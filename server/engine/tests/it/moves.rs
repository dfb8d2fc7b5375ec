//! The table of moves: the pure function and the database's trigger say the same about every event
//! from every state, and the database refuses the rest whoever writes.

use domain::operation::{Event, MOVES, ManualFlag, Status, next};
use sqlx::{Executor as _, Row as _};

use crate::fixture::{Fixture, won};

/// Plants an operation in a state with the trigger off: the only place that may.
async fn plant(fixture: &Fixture, status: Status) -> uuid::Uuid {
    let (id, _) =
        won(fixture.reserve(&format!("planted-{status}-{}", rand::random::<u64>())).await);
    let mut db = fixture.pool().acquire().await.unwrap();
    db.execute("alter table operations disable trigger operations_check_move").await.unwrap();
    sqlx::query(
        "update operations set status = $2, completed_at = case when $3 then onceover_now() end,
           next_at = onceover_now(), next_reconcile_at = onceover_now(),
           attempt = case when $2 = 'reserved' then 0 else 1 end
         where id = $1",
    )
    .bind(id.uuid())
    .bind(status.as_str())
    .bind(status.is_final())
    .execute(&mut *db)
    .await
    .unwrap();
    db.execute("alter table operations enable trigger operations_check_move").await.unwrap();
    id.uuid()
}

/// Tries a move by psql's means: one update that names the rule.
async fn try_move(
    fixture: &Fixture,
    id: uuid::Uuid,
    event: Event,
    to: Status,
    grow: (i64, i64),
) -> Result<(), String> {
    let manual =
        MOVES.iter().find(|rule| rule.event == event).map_or(ManualFlag::Keep, |rule| rule.manual);
    let mut tx = fixture.pool().begin().await.unwrap();
    let done = sqlx::query(
        "update operations set status = $2, version = version + $3, fence = fence + $4, move = $5,
           attempt = attempt + $6, takeovers = takeovers + $7, max_attempts = max_attempts + $8,
           needs_manual = case when $9 = 'set' then true when $9 = 'clear' then false else needs_manual end,
           payload = case when $5 = 'O27' then null else payload end,
           tombstoned_at = case when $5 = 'O27' then onceover_now() else tombstoned_at end
         where id = $1",
    )
    .bind(id)
    .bind(to.as_str())
    .bind(grow.0)
    .bind(grow.1)
    .bind(event.rule())
    .bind(i32::from(event == Event::Start))
    .bind(i32::from(event == Event::LeaseLost))
    .bind(i32::from(matches!(event, Event::ConfirmRetry | Event::StaffRetry)))
    .bind(match manual {
        ManualFlag::Keep => "keep",
        ManualFlag::Set => "set",
        ManualFlag::Clear => "clear",
    })
    .execute(&mut *tx)
    .await
    .map(|_| ())
    .map_err(|error| error.to_string());
    tx.rollback().await.unwrap();
    done
}

#[tokio::test]
async fn the_database_and_the_pure_function_allow_the_same_moves() {
    let fixture = Fixture::new().await;
    let mut tried = 0;
    for from in Status::ALL {
        let id = plant(&fixture, from).await;
        for event in Event::ALL.iter().copied() {
            for to in Status::ALL {
                let rule = next(Some(from), event).ok();
                let grow =
                    rule.map_or((1, 0), |rule| (i64::from(rule.version), i64::from(rule.fence)));
                let allowed = rule.is_some_and(|rule| rule.to == to);
                let done = try_move(&fixture, id, event, to, grow).await;
                assert_eq!(done.is_ok(), allowed, "{event} from {from} to {to}: {done:?}");
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 6 * 6 * Event::ALL.len());
}

#[tokio::test]
async fn both_tables_of_moves_are_the_same_rows() {
    let fixture = Fixture::new().await;
    let rows = sqlx::query("select move, from_status, to_status, version_step, fence_step, manual from operation_moves")
        .fetch_all(fixture.pool())
        .await
        .unwrap();
    let mut stored: Vec<_> = rows
        .iter()
        .map(|row| {
            let text = |name: &str| row.get::<String, _>(name);
            let step = |name: &str| row.get::<i16, _>(name) == 1;
            (
                text("move"),
                text("from_status"),
                text("to_status"),
                step("version_step"),
                step("fence_step"),
                text("manual"),
            )
        })
        .collect();
    let mut pure: Vec<_> = MOVES
        .iter()
        .map(|rule| {
            let manual = match rule.manual {
                ManualFlag::Keep => "keep",
                ManualFlag::Set => "set",
                ManualFlag::Clear => "clear",
            };
            (
                rule.event.rule().to_owned(),
                rule.from.map_or(String::new(), |from| from.to_string()),
                rule.to.to_string(),
                rule.version,
                rule.fence,
                manual.to_owned(),
            )
        })
        .collect();
    stored.sort();
    pure.sort();
    assert_eq!(stored, pure);
}

#[tokio::test]
async fn a_version_or_fence_that_grows_otherwise_is_refused() {
    let fixture = Fixture::new().await;
    for rule in MOVES {
        let Some(from) = rule.from else { continue };
        let id = plant(&fixture, from).await;
        let right = (i64::from(rule.version), i64::from(rule.fence));
        for version in 0..=2 {
            for fence in 0..=2 {
                let done = try_move(&fixture, id, rule.event, rule.to, (version, fence)).await;
                assert_eq!(
                    done.is_ok(),
                    (version, fence) == right,
                    "{} {version} {fence}: {done:?}",
                    rule.event
                );
            }
        }
    }
}

#[tokio::test]
async fn what_names_no_move_is_refused_to_everybody() {
    let fixture = Fixture::new().await;
    let (id, _) = won(fixture.reserve("k").await);
    for sql in [
        "update operations set status = 'succeeded', completed_at = now()",
        "update operations set status = 'executing', version = version + 1, attempt = 1",
        "update operations set payload = '{}'",
        "update operations set amount_minor = 1, version = version + 1, move = 'O24'",
        "update operations set key = 'other', version = version + 1, move = 'O24'",
        "update operations set fence = fence + 1",
        "delete from operations",
        "truncate operations cascade",
        "update operation_events set actor = 'nobody'",
        "delete from operation_events",
        "truncate operation_events",
        "insert into operations (tenant_id, operation, key, hash, hash_version, status, max_attempts,
           created_by_kind, created_by, completed_at)
         select tenant_id, operation, 'new', hash, 1, 'succeeded', 1, 'x', 'x', now() from operations limit 1",
    ] {
        let error = fixture.pool().execute(sql).await.expect_err(sql).to_string();
        assert!(error.contains("move") || error.contains("not allowed") || error.contains("begins"), "{sql}: {error}");
    }
    assert_eq!(fixture.status(id).await, "reserved");
}

#[tokio::test]
async fn the_timeline_is_written_by_the_database_with_its_actor() {
    let fixture = Fixture::new().await;
    let (id, _) = fixture.executing("k").await;
    let by_hand = "update operations set status = 'unknown', version = version + 1,
      next_reconcile_at = onceover_now(), move = 'O10'";
    fixture.pool().execute(by_hand).await.unwrap();
    let told: Vec<(String, String)> = sqlx::query_as(
        "select move, actor_kind from operation_events where operation_id = $1 order by id",
    )
    .bind(id.uuid())
    .fetch_all(fixture.pool())
    .await
    .unwrap();
    let told: Vec<_> = told.iter().map(|(rule, kind)| (rule.as_str(), kind.as_str())).collect();
    assert_eq!(told, [("O1", "service"), ("O2", "service"), ("O10", "database")]);
}

#[tokio::test]
async fn nobody_rewrites_an_answer_or_writes_the_timeline_by_hand() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, engine::FinishOutcome::Done, Some("ch_1")).await.unwrap();
    for sql in [
        "update operations set move = 'O25', response_body = 'forged', response_status = 500",
        "update operations set move = 'O25', ended_by = 'O7'",
        "update operations set move = 'O26', version = version + 1, completed_at = now()",
    ] {
        assert!(fixture.pool().execute(sql).await.is_err(), "{sql}");
    }
    for role in ["onceover_app", "onceover_engine"] {
        let mut tx = fixture.pool().begin().await.unwrap();
        tx.execute(sqlx::AssertSqlSafe(format!("set local role {role}"))).await.unwrap();
        let forged = "insert into operation_events
            (tenant_id, operation_id, move, to_status, version, fence, attempt, actor_kind, actor)
            values (gen_random_uuid(), gen_random_uuid(), 'O21', 'succeeded', 1, 1, 1, 'staff', 'x')";
        assert!(tx.execute(forged).await.is_err(), "{role}");
        tx.rollback().await.unwrap();
    }
}
