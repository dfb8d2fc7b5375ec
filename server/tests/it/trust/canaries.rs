//! T33: what stands in a masked field alone is on no page, in no answer, no file, no error, no stream and
//! no row that is kept for people; nor are passwords, tokens and secrets of the configuration.

use std::collections::BTreeSet;

use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};
use serde_json::json;

use super::{
    matrix::{Shown, ask, body_for, request},
    paths::routes,
    world::{CANARIES, World, payload},
};
use crate::{
    command_line::onceover,
    live::{Stream, listens},
    support::{PASSWORD, WEBHOOK_SECRET},
};

const ROLES: [&str; 5] = ["viewer", "operator", "approver", "admin", "auditor"];
const LISTS: [&str; 9] = [
    "operations",
    "workflows",
    "outbox",
    "inbox",
    "conflicts",
    "leases",
    "approvals",
    "incidents",
    "audit",
];

#[track_caller]
fn shows_none(text: &str, what: &str) {
    for canary in CANARIES {
        assert!(!text.contains(canary), "{what} shows {canary}: {text}");
    }
}

/// Every address that there is, with the files and filters that a list and a report have.
fn addresses(world: &World) -> BTreeSet<String> {
    let incident = &world.ids["incidents"];
    let mut all: BTreeSet<String> = routes(&world.stage.router)
        .into_iter()
        .filter(|(method, path)| *method == "GET" && path != "/live")
        // What a person asked to see unmasked, with a reason, for five minutes; its own tests guard it.
        .filter(|(_, path)| !path.starts_with("/reveals/"))
        .map(|(_, path)| world.path(&path))
        .collect();
    for list in LISTS {
        for format in ["csv", "json"] {
            all.insert(format!("/export/{list}?format={format}"));
            all.insert(format!("/api/v1/export/{list}?format={format}"));
        }
    }
    for format in ["md", "json", "csv"] {
        all.insert(format!("/incidents/{incident}/report?format={format}"));
        all.insert(format!("/api/v1/incidents/{incident}/report?format={format}"));
    }
    for canary in CANARIES {
        // The word that was typed is in the address; half of it must not bring the rest.
        all.insert(format!("/search?q={}", &canary[..canary.len() - 2]));
        all.insert(format!("/operations?q={}", &canary[..canary.len() - 2]));
    }
    all
}

#[tokio::test]
async fn no_page_call_file_or_error_shows_what_is_masked() {
    let world = World::open().await;
    let stage = &world.stage;
    let mut read = 0;
    for role in ROLES {
        let cookie = Shown::Cookie(world.browser(role).await.cookie.unwrap());
        let bearer = Shown::Bearer(world.staff(role).await.token.unwrap());
        for place in addresses(&world) {
            let shown = if place.starts_with("/api/") { &bearer } else { &cookie };
            let answer = ask(stage, request("GET", &place, shown, None)).await;
            shows_none(&answer.text(), &format!("{place} as {role}"));
            for (name, value) in &answer.headers {
                shows_none(
                    &String::from_utf8_lossy(value.as_bytes()),
                    &format!("{name} of {place}"),
                );
            }
            read += 1;
        }
        for (method, pattern) in routes(&stage.router) {
            if method == "GET" || pattern.ends_with("reveal") || pattern == "/sign-out" {
                continue;
            }
            let shown = if pattern.starts_with("/api/") { &bearer } else { &cookie };
            let body = Some(body_for(&world, &pattern));
            let answer = ask(stage, request(method, &world.path(&pattern), shown, body)).await;
            shows_none(&answer.text(), &format!("{pattern} as {role}"));
            shows_none(answer.header("location"), &pattern);
            read += 1;
        }
    }
    // Refusals that speak of the body speak of its place, never of its words.
    let service = stage.service("acme").await;
    let [card, ..] = CANARIES;
    for body in [
        json!({ "operation": card, "key": "k", "payload": payload("k", 1) }),
        json!({ "operation": "invoice.charge", "key": "INV-OF-ACME", "payload": payload("other", 7) }),
        json!({ "operation": "invoice.charge", "key": "k2", "payload": { "amount_minor": card } }),
        json!({ "operation": "invoice.charge", "key": "k3", "payload": payload("k3", 1), "amount_minor": card }),
    ] {
        let answer = service.post("/operations", &body).await;
        assert!(!answer.status.is_success(), "{}", answer.text());
        shows_none(&answer.text(), &body.to_string());
    }
    let broken = format!("{{\"operation\":\"invoice.charge\",\"key\":\"{card}\",");
    shows_none(&service.post_text("/operations", &[], broken).await.text(), "a broken body");
    testkit::threat("T33", read, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_stream_of_changes_shows_what_is_masked() {
    const KEY: &str = "INV-STREAMED";
    let world = World::open().await;
    let stage = &world.stage;
    let reader = world.browser("approver").await;
    let mut stream = Stream::open(&reader, "").await;
    listens(stage).await;
    let service = stage.service("acme").await;
    let reserve =
        json!({ "operation": "invoice.charge", "key": KEY, "payload": payload(KEY, 12_900) });
    let won = service.post("/operations", &reserve).await;
    won.expect(StatusCode::CREATED);
    stream.until(won.json()["id"].as_str().unwrap()).await;
    // Whoever comes late is told what happened before.
    let mut late = Stream::open(&reader, "?since=1").await;
    late.until("data:").await;
    for told in [stream.text(), late.text()] {
        shows_none(told, "the stream");
        assert!(!told.contains(KEY) && !told.contains("12900"), "ids alone: {told}");
    }
    let told = [&stream, &late].map(|stream| stream.text().matches("data:").count());
    testkit::threat("T33", told.iter().sum(), 0);
}

#[tokio::test]
async fn what_people_are_kept_for_and_what_streams_say_holds_no_masked_word() {
    let world = World::open().await;
    let pool = world.stage.database.owner_pool();
    // Columns that people read; the bodies themselves are kept to be replayed and revealed.
    for sql in [
        "select coalesce(string_agg(a::text, ' '), '') from audit a",
        "select coalesce(string_agg(n::text, ' '), '') from notes n",
        "select coalesce(string_agg(i::text, ' '), '') from incidents i",
        "select coalesce(string_agg(v::text, ' '), '') from saved_views v",
        "select coalesce(string_agg(e::text, ' '), '') from operation_events e",
        "select coalesce(string_agg(b::text, ' '), '') from bulk_rows b",
    ] {
        let kept: String = sqlx::query_scalar(sql).fetch_one(pool).await.unwrap();
        shows_none(&kept, sql);
    }
}

#[tokio::test]
async fn neither_sessions_nor_tokens_can_be_taken_from_the_database() {
    let world = World::open().await;
    let stage = &world.stage;
    let cookie = world.browser("operator").await.cookie.unwrap();
    let session = cookie.split_once('=').unwrap().1.to_owned();
    let token = world.staff("operator").await.token.unwrap();
    let pool = stage.database.owner_pool();
    let sessions: Vec<Vec<u8>> =
        sqlx::query_scalar("select token_hash from sessions").fetch_all(pool).await.unwrap();
    let everything: String = sqlx::query_scalar(
        "select (select coalesce(string_agg(s::text, ' '), '') from sessions s)
           || (select coalesce(string_agg(t::text, ' '), '') from tokens t)
           || (select coalesce(string_agg(s::text, ' '), '') from staff s)",
    )
    .fetch_one(pool)
    .await
    .unwrap();
    for secret in [&session, &token, PASSWORD] {
        assert!(!everything.contains(secret), "a secret is in the table");
        assert!(!everything.contains(&hex::encode(secret)), "a secret is in the table");
    }
    let mut tried = 0;
    for hash in sessions {
        use base64::Engine as _;
        for stolen in [
            hex::encode(&hash),
            format!("\\x{}", hex::encode(&hash)),
            base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&hash),
            base64::engine::general_purpose::STANDARD.encode(&hash),
        ] {
            let request = Request::builder()
                .uri("/me")
                .header(header::HOST, crate::support::HOST)
                .header(header::COOKIE, format!("__Host-sid={stolen}"))
                .body(Body::empty())
                .unwrap();
            assert_eq!(ask(stage, request).await.status.as_u16(), 303);
            let program = Shown::Bearer(stolen);
            let answer = ask(stage, request_me(&program)).await;
            assert_eq!(answer.status.as_u16(), 401);
            tried += 2;
        }
    }
    assert!(tried > 8);
    testkit::threat("T13", tried, 0);
}

fn request_me(shown: &Shown) -> Request<Body> {
    request("GET", "/api/v1/operations", shown, None)
}

#[test]
fn no_secret_of_the_configuration_is_ever_printed() {
    let secrets = [
        "database-canary-1",
        WEBHOOK_SECRET,
        "k7Xw2pQm9Vt4Rz8Ys1Lc6Nd3Hf5Jb0Ga",
        "migrate-canary-2",
        "demo canary password",
    ];
    let [database, webhook, search, migrate, demo] = secrets;
    let url = format!("postgres://app:{database}@127.0.0.1:1/none");
    let owner = format!("postgres://owner:{migrate}@127.0.0.1:1/none");
    let webhooks = format!("payments={webhook}");
    let environment = [
        ("DATABASE_URL", url.as_str()),
        ("ONCEOVER_MIGRATE_URL", &owner),
        ("ONCEOVER_SEARCH_SECRET", search),
        ("ONCEOVER_WEBHOOK_SECRETS", &webhooks),
        ("ONCEOVER_DEMO_PASSWORD", demo),
        ("ONCEOVER_LOG", "trace"),
    ];
    let settings: Vec<_> =
        environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let config = server::config::Config::read(&settings, None).unwrap();
    let mut told = vec![format!("{config:?}"), format!("{config:#?}")];
    let mut runs = 0;
    for arguments in [
        &["doctor"][..],
        &["serve"],
        &["work"],
        &["migrate"],
        &["token", "revoke", "--tenant", "acme", "--name", "x"],
    ] {
        let output = onceover(arguments, &environment, "");
        assert!(!output.status.success(), "{arguments:?} found a database");
        told.push(String::from_utf8_lossy(&output.stdout).into_owned());
        told.push(String::from_utf8_lossy(&output.stderr).into_owned());
        runs += 1;
    }
    // Each value where it cannot be read: the refusal names the key alone.
    for (name, _) in environment {
        let mut wrong = environment.to_vec();
        for value in secrets {
            wrong.retain(|(known, _)| *known != name);
            wrong.push((name, value));
            let output = onceover(&["doctor"], &wrong, "");
            told.push(String::from_utf8_lossy(&output.stderr).into_owned());
            told.push(String::from_utf8_lossy(&output.stdout).into_owned());
            runs += 1;
        }
    }
    for text in told {
        for secret in secrets {
            assert!(!text.contains(secret), "{secret} is printed: {text}");
        }
    }
    testkit::threat("T33", runs, 0);
}
