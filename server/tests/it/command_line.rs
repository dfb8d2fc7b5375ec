//! The program as it is started: what it refuses to start on, and what an administrator can do.

use std::{
    io::Write as _,
    net::TcpListener,
    process::{Command, Output, Stdio},
};

use testkit::TestDatabase;

use crate::support::{PASSWORD, WEBHOOK_SECRET};

pub fn onceover(arguments: &[&str], environment: &[(&str, &str)], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_onceover"))
        .args(arguments)
        .env_clear()
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may have ended without reading.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[track_caller]
pub fn refuses(output: &Output, words: &str) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains(words), "{told}");
}

#[track_caller]
fn does(output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_start_refuses_what_it_cannot_trust() {
    let url = ("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
    refuses(&onceover(&["serve"], &[("ONCEOVER_ADRR", "x")], ""), "ONCEOVER_ADRR is no setting");
    refuses(
        &onceover(&["serve"], &[("ONCEOVER_ADDR", "0.0.0.0:3000")], ""),
        "ONCEOVER_TRUSTED_PROXY",
    );
    refuses(
        &onceover(&["serve"], &[("ONCEOVER_MAX_KEY_CHARS", "513")], ""),
        "ONCEOVER_MAX_KEY_CHARS must be a whole number between 64 and 512",
    );
    refuses(&onceover(&["serve"], &[], ""), "DATABASE_URL is not set");
    refuses(&onceover(&["serve"], &[url], ""), "ONCEOVER_SEARCH_SECRET is not set");
    let weak = onceover(
        &["serve"],
        &[url, ("ONCEOVER_SEARCH_SECRET", "CHANGE_ME_NOW_PLEASE_CHANGE_ME_NOW")],
        "",
    );
    refuses(&weak, "ONCEOVER_SEARCH_SECRET holds a value from an example");
    assert!(!String::from_utf8_lossy(&weak.stderr).contains("PLEASE"));
    testkit::threat("T43", 1, 0);
}

#[test]
fn a_demo_on_a_taken_port_costs_one_sentence() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let data = std::env::temp_dir().join(format!("onceover-taken-{}", std::process::id()));
    let data_text = data.to_str().unwrap();
    let output = onceover(&["demo"], &[("ONCEOVER_ADDR", &addr), ("ONCEOVER_DATA", data_text)], "");
    refuses(&output, "is taken by another program");
    assert!(!data.join("postgres").exists());
    std::fs::remove_dir_all(data).unwrap();
}

#[tokio::test]
async fn nothing_is_served_on_a_database_that_loses_what_it_acknowledged() {
    let database = TestDatabase::create().await;
    let off = format!("alter database \"{}\" set synchronous_commit = off", database.name());
    sqlx::query(sqlx::AssertSqlSafe(off)).execute(database.owner_pool()).await.unwrap();
    let url = database.url();
    tokio::task::spawn_blocking(move || {
        let environment =
            [("DATABASE_URL", url.as_str()), ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET)];
        for command in ["serve", "work", "doctor"] {
            refuses(&onceover(&[command], &environment, ""), "synchronous_commit off");
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn an_administrator_brings_people_and_tokens_in_and_the_doctor_looks() {
    let database = TestDatabase::create().await;
    let url = database.url();
    tokio::task::spawn_blocking(move || {
        let environment =
            [("DATABASE_URL", url.as_str()), ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET)];
        let run = |arguments: &[&str], input: &str| onceover(arguments, &environment, input);
        does(&run(&["migrate"], ""));
        let add = [
            "staff",
            "add",
            "pat@acme.test",
            "--name",
            "Pat",
            "--tenant",
            "acme",
            "--role",
            "operator",
        ];
        refuses(&run(&add, "short\n"), "too short");
        does(&run(&add, &format!("{PASSWORD}\n")));
        does(&run(&["staff", "role", "pat@acme.test", "--tenant", "acme", "--role", "viewer"], ""));
        does(&run(&["staff", "reset", "pat@acme.test"], &format!("{PASSWORD} too\n")));
        does(&run(&["staff", "disable", "pat@acme.test"], ""));
        refuses(&run(&["staff", "disable", "nobody@acme.test"], ""), "no such record");
        let token = does(&run(&["token", "add", "--tenant", "acme", "--name", "billing"], ""));
        assert!(token.trim().len() >= 43, "{token}");
        refuses(&run(&["token", "add", "--tenant", "acme", "--name", "billing"], ""), "exists");
        let narrow = ["--name", "reader", "--verbs", "read,claim", "--expires-in", "30"];
        does(&run(&[&["token", "add", "--tenant", "acme"][..], &narrow].concat(), ""));
        let wrong = ["token", "add", "--tenant", "acme", "--name", "wrong", "--verbs", "decide"];
        refuses(&run(&wrong, ""), "cannot have the verb decide");
        does(&run(&["token", "revoke", "--tenant", "acme", "--name", "billing"], ""));
        let list = does(&run(&["token", "list", "--tenant", "acme"], ""));
        assert!(list.contains("active\treader\tservice\tread,claim\tall\texpires 20"), "{list}");
        assert!(list.contains("revoked\tbilling\tservice\tall\tall\texpires never"), "{list}");
        assert!(!list.contains(token.trim()), "{list}");
        assert!(does(&run(&["doctor"], "")).contains("no fault found"));
        let mut sick = environment.to_vec();
        sick.push(("ONCEOVER_PROVIDERS", "payments.charges=http://127.0.0.1:1/x"));
        refuses(&onceover(&["doctor"], &sick, ""), "the provider payments.charges does not answer");
    })
    .await
    .unwrap();
    let known: i64 = sqlx::query_scalar("select count(*) from staff")
        .fetch_one(database.owner_pool())
        .await
        .unwrap();
    assert_eq!(known, 1);
}
