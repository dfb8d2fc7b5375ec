//! T41: whatever breaks in the database, a page and a call say that it broke and under which number,
//! never what; and nothing was done.

use axum::http::StatusCode;

use super::{
    matrix::{Shown, ask, request},
    world::World,
};
use crate::support::{Answer, Stage, form};

/// What PostgreSQL may say in the middle of a command.
const STATES: [&str; 16] = [
    "23505", "23503", "23514", "23502", "22P02", "22012", "22001", "42P01", "42703", "42501",
    "53100", "53200", "57014", "P0001", "XX000", "XX001",
];

/// Ways in which the schema is no longer there, and back.
const BROKEN: [(&str, &str); 6] = [
    (
        "alter table operations rename to operations_gone",
        "alter table operations_gone rename to operations",
    ),
    (
        "alter table operations rename column status to condition",
        "alter table operations rename column condition to status",
    ),
    ("revoke select on operations from onceover_app", "grant select on operations to onceover_app"),
    (
        "alter table operation_events rename to events_gone",
        "alter table events_gone rename to operation_events",
    ),
    (
        "alter function onceover_now() rename to onceover_gone",
        "alter function onceover_gone() rename to onceover_now",
    ),
    (
        "alter table memberships rename to memberships_gone",
        "alter table memberships_gone rename to memberships",
    ),
];

/// Words that only an inside has.
const INSIDE: [&str; 14] = [
    "relation",
    "does not exist",
    "operations_gone",
    "onceover_now",
    "SQLSTATE",
    "select *",
    "insert into",
    "canary_detail",
    "constraint",
    "panicked",
    ".rs:",
    "sqlx",
    "postgres",
    "/srv/",
];

async fn sql(stage: &Stage, statement: String) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
        .execute(stage.database.owner_pool())
        .await
        .unwrap();
}

#[track_caller]
fn tells_no_inside(answer: &Answer, what: &str) {
    let text = format!("{}{}", answer.header("location"), answer.text());
    // The page's own frame, its help and its address are no news.
    let text = match (text.find("<main"), text.find("</main>")) {
        (Some(start), Some(end)) => text[start..end].to_owned(),
        _ => text,
    };
    for word in INSIDE {
        assert!(!text.to_lowercase().contains(&word.to_lowercase()), "{what} says {word}: {text}");
    }
}

async fn everything(world: &World, what: &str) -> usize {
    let stage = &world.stage;
    let cookie = Shown::Cookie(world.kept_cookie());
    let bearer = Shown::Bearer(world.kept_token());
    let id = &world.open.id;
    let version = world.open.version.to_string();
    let confirm = form(&[
        ("id", id),
        ("version", &version),
        ("outcome", "happened"),
        ("external_reference", "ch_1"),
        ("reason", "seen"),
        ("evidence", "seen"),
    ]);
    let form_key = hex::encode(rand::random::<[u8; 4]>());
    let note = form(&[("id", id), ("form_key", &form_key), ("text", "seen")]);
    let of = format!("/api/v1/operations/{id}");
    let mut answers = Vec::new();
    for (method, path, shown, body) in [
        ("GET", "/operations".to_owned(), &cookie, None),
        ("GET", format!("/operations/{id}"), &cookie, None),
        ("GET", "/search?q=INV-OF".to_owned(), &cookie, None),
        ("GET", "/export/operations?format=csv".to_owned(), &cookie, None),
        ("GET", of.clone(), &bearer, None),
        ("GET", "/api/v1/operations?status=unknown".to_owned(), &bearer, None),
        ("POST", "/act/operations/confirm".to_owned(), &cookie, Some(confirm)),
        ("POST", "/act/records/note".to_owned(), &cookie, Some(note)),
        ("POST", format!("{of}/actions/confirm"), &bearer, Some(world.open.confirm().to_string())),
    ] {
        let before = world.digest().await;
        let answer = ask(stage, request(method, &path, shown, body)).await;
        let refused = answer.header("location").contains("refused=");
        if refused || !(answer.status.is_success() || answer.status.is_redirection()) {
            assert_eq!(world.digest().await, before, "{method} {path} after {what} did something");
        }
        if !answer.status.is_success() {
            tells_no_inside(&answer, &format!("{method} {path} after {what}"));
        }
        answers.push((method, path, answer));
    }
    let failed = answers.iter().filter(|(_, _, answer)| answer.status.is_server_error()).count();
    for (_, path, answer) in &answers {
        if answer.status.is_server_error() {
            assert!(!answer.header("x-request-id").is_empty(), "{path}");
        }
    }
    failed
}

#[tokio::test]
async fn twenty_kinds_of_fault_are_told_by_a_code_alone_and_do_nothing() {
    let world = World::open_with_reader().await;
    let stage = &world.stage;
    let (mut tried, mut failed) = (0, 0);
    for state in STATES {
        sql(stage, format!(
            "create or replace function breaks() returns trigger language plpgsql as $$ begin
               raise exception 'relation \"operations\" violates canary_detail in /srv/x.rs:7: select *'
                 using errcode = '{state}', detail = 'canary_detail', hint = 'canary_detail',
                       table = 'operations', constraint = 'operations_pkey'; end $$;
             create trigger a_breaks before insert on audit for each row execute function breaks();
             create trigger a_breaks before insert on notes for each row execute function breaks();"
        )).await;
        failed += everything(&world, state).await;
        sql(stage, "drop trigger a_breaks on audit; drop trigger a_breaks on notes".to_owned())
            .await;
        tried += 9;
    }
    for (breaks, mends) in BROKEN {
        sql(stage, breaks.to_owned()).await;
        failed += everything(&world, breaks).await;
        sql(stage, mends.to_owned()).await;
        tried += 9;
    }
    assert!(failed > 40, "{failed} of {tried} met the fault");
    let cookie = Shown::Cookie(world.kept_cookie());
    let mended = ask(stage, request("GET", "/operations", &cookie, None)).await;
    assert_eq!(mended.status, StatusCode::OK, "{}", mended.text());
    testkit::threat("T41", tried, 0);
}
