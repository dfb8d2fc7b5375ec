//! What no page may grow into, whatever was written: under 300 KB and under a second on the server, with
//! the rest one click away and said to be left out. The rows are made by the database's owner; the
//! machines would need years for them.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::{
    figures::say,
    support::{Answer, Browser, Stage},
};

/// The most that a page may weigh.
const BOUND: usize = 300_000;
/// The longest that a page may take on the server, as a reader waits: of its tries the best counts, for
/// what else runs on the machine is not the page's.
const LONGEST: Duration = Duration::from_secs(1);
/// How often a page is asked for; beyond that only while none was in time.
const TRIES: usize = 3;
const MOST_TRIES: usize = 10;
/// Signs that take five bytes each in a page.
pub const HEAVY: char = '&';

pub async fn sql(stage: &Stage, statement: &'static str, id: &str) {
    sqlx::query(statement)
        .bind(id)
        .execute(stage.database.owner_pool())
        .await
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// A page that stays within its bounds.
pub async fn bounded(browser: &Browser<'_>, path: &str) -> String {
    let (mut best, mut text, mut size) = (Duration::MAX, String::new(), 0);
    for tried in 0..MOST_TRIES {
        if tried >= TRIES && best < LONGEST {
            break;
        }
        let asked = Instant::now();
        let page = browser.get(path).await;
        best = best.min(asked.elapsed());
        page.expect(StatusCode::OK);
        size = page.body.len();
        assert!(size < BOUND, "{path}: {size} bytes");
        text = page.text();
    }
    say(&format!("size: {path}: {size} bytes, {} ms", best.as_millis()));
    assert!(best < LONGEST, "{path}: {best:?} on the server");
    text
}

/// The first address on a page that begins so and holds `part`, as a browser reads it.
fn href_of(page: &str, begins: &str, part: &str) -> String {
    let hrefs = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut hrefs = hrefs.map(|href| href.replace("&amp;", "&"));
    let found = hrefs.find(|href| href.starts_with(begins) && href.contains(part));
    found.unwrap_or_else(|| panic!("no {begins}…{part}"))
}

fn is_download(answer: &Answer) {
    answer.expect(StatusCode::OK);
    assert_eq!(answer.header("content-type"), "application/octet-stream");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert!(answer.header("content-disposition").starts_with("attachment; "));
}

/// A payload near its limit of 256 KiB, of many fields.
fn large(sign: &str) -> Value {
    of_fields(sign, 1_000)
}

/// One of as many fields that is short enough to be compared field by field.
fn comparable(sign: &str) -> Value {
    of_fields(sign, 200)
}

fn of_fields(sign: &str, each: usize) -> Value {
    let fields: serde_json::Map<_, _> = (0..240)
        .map(|n| (format!("field-{n:03}"), json!(sign.repeat(each / sign.len()))))
        .collect();
    json!({ "invoice_id": "INV-1", "amount_minor": 12_900, "currency": "EUR", "fields": fields })
}

/// An operation with the largest payload and answer, and the same key with other large ones.
pub async fn heavy_operation(stage: &Stage) -> String {
    let service = stage.service("acme").await;
    let ask = |payload: Value| json!({ "operation": "invoice.charge", "key": "large", "payload": payload });
    let first = service.post("/operations", &ask(large("&"))).await;
    first.expect(StatusCode::CREATED);
    for sign in ["<", ">", "x", "é", "&<", "<>", "&x"] {
        let other = service.post("/operations", &ask(comparable(sign))).await;
        other.refused(domain::problem::Code::KeyReused);
    }
    let (id, fence) =
        (first.json()["id"].as_str().unwrap().to_owned(), first.json()["fence"].clone());
    service
        .post(&format!("/operations/{id}/start"), &json!({ "fence": fence }))
        .await
        .expect(StatusCode::OK);
    let response =
        json!({ "content_type": "text/plain", "body": HEAVY.to_string().repeat(1_000_000) });
    let finish = json!({
        "fence": fence, "outcome": "done", "external_reference": "ch_1", "response": response,
    });
    service.post(&format!("/operations/{id}/finish"), &finish).await.expect(StatusCode::OK);
    id
}

#[tokio::test]
async fn an_operation_with_all_at_its_limit_stays_within_its_bound_and_each_of_it_is_a_click_away()
{
    let stage = Stage::open().await;
    let id = heavy_operation(&stage).await;
    for statement in [
        "insert into operation_events (tenant_id, operation_id, at, move, from_status, to_status, version, fence,
           attempt, actor_kind, actor, detail)
         select o.tenant_id, o.id, o.created_at + n * interval '1 second', 'O32', 'unknown', 'unknown', 10 + n, 1, 1,
           'staff', 'olga', jsonb_build_object('reason', 'event ' || n || repeat('&', 1900))
         from operations o, generate_series(1, 5000) n where o.id = $1::uuid",
        "insert into evidence (tenant_id, id, operation_id, at, source, says, text, actor_kind, actor)
         select o.tenant_id, ('01937000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, o.id,
           o.created_at + interval '4000 seconds', 'staff', 'statement', 'evidence ' || n || repeat('&', 3900), 'staff', 'olga'
         from operations o, generate_series(1, 150) n where o.id = $1::uuid",
        "insert into notes (tenant_id, id, operation_id, at, staff_id, author, form_key, text)
         select o.tenant_id, ('01937000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, o.id,
           o.created_at + interval '4000 seconds', s.id, 'olga', 'k-' || n, 'note ' || n || repeat('&', 3900)
         from operations o, (select id from staff limit 1) s, generate_series(1, 150) n where o.id = $1::uuid",
        "insert into incidents (tenant_id, operation_id, cause, summary)
         select o.tenant_id, o.id, 'cause_' || n, repeat('&', 300)
         from operations o, generate_series(1, 60) n where o.id = $1::uuid",
        "insert into audit (tenant_id, seq, at, actor_kind, actor, action, target_type, target_id, result, reason,
           request_id, hash)
         select o.tenant_id, 1000 + n, o.created_at, 'staff', 'olga', 'confirm', 'operation', o.id::text, 'done',
           repeat('&', 1900), 'r', ''
         from operations o, generate_series(1, 100) n where o.id = $1::uuid",
    ] {
        sql(&stage, statement, &id).await;
    }
    let viewer = stage.browser("operator@acme.test").await;
    let path = format!("/operations/{id}");
    let page = bounded(&viewer, &path).await;
    assert!(
        page.contains("event 5000&") && !page.contains("event 1&"),
        "the last events stand there"
    );
    for (part, first, last) in [
        ("timeline", "event 1&amp;", "event 5000&amp;"),
        ("evidence", "evidence 1&amp;", "evidence 150&amp;"),
        ("notes", "note 1&amp;", "note 150&amp;"),
    ] {
        for (number, words) in [("1", first), ("999999", last)] {
            let piece = bounded(&viewer, &format!("{path}?{part}={number}")).await;
            assert!(piece.contains(words), "{part} {number}: {words}");
            assert!(piece.contains(&format!("#{part}\"")), "{part}: the way to the others");
        }
    }
    let piece =
        bounded(&viewer, &format!("{path}?timeline=2500&notes=70&evidence=70&audit=70")).await;
    assert!(piece.contains("event 2500&amp;"), "a piece in the middle");

    let whole = viewer.get(&format!("{path}/payload")).await;
    is_download(&whole);
    assert!(whole.body.len() > 240_000 && page.contains(&format!("{path}/payload")));
    let answer = viewer.get(&format!("{path}/answer")).await;
    is_download(&answer);
    assert_eq!(answer.body.len(), 1_000_000);
    let stranger = stage.browser("operator@globex.test").await;
    for part in ["payload", "answer"] {
        stranger.get(&format!("{path}/{part}")).await.expect(StatusCode::NOT_FOUND);
        stage.stranger().get(&format!("{path}/{part}")).await.expect(StatusCode::SEE_OTHER);
    }

    let conflicts = viewer.get("/conflicts").await.text();
    for href in
        conflicts.split("href=\"/conflicts/").skip(1).map(|rest| rest.split('"').next().unwrap())
    {
        let page = bounded(&viewer, &format!("/conflicts/{href}")).await;
        assert!(page.contains("more fields differ"), "what is left out is said to be");
        is_download(&viewer.get(&format!("/conflicts/{href}/payload")).await);
    }
}

#[tokio::test]
async fn a_message_and_an_event_of_the_largest_bodies_stay_within_their_bound() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let now: chrono::DateTime<chrono::Utc> = sqlx::query_scalar("select onceover_now()")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    let message = |payload: Value| {
        json!({
            "consumer": "billing", "source": "orders", "message_id": "m-1", "produced_at": now, "payload": payload,
        })
    };
    assert!(service.post("/inbox", &message(large("&"))).await.status.is_success());
    for sign in ["<", ">", "x", "&<", "&>", "&x", "<>", "xy"] {
        let other = service.post("/inbox", &message(large(sign))).await;
        other.refused(domain::problem::Code::MessageReused);
    }
    let viewer = stage.browser("viewer@acme.test").await;
    let list = viewer.get("/inbox").await.text();
    let id = list.split("href=\"/inbox/").nth(1).unwrap().split('"').next().unwrap();
    let page = bounded(&viewer, &format!("/inbox/{id}")).await;
    bounded(&viewer, &format!("/inbox/{id}?conflicts=8")).await;
    is_download(&viewer.get(&format!("/inbox/{id}/payload")).await);
    let other = page.split(&format!("/inbox/{id}/other")).nth(1).unwrap();
    let other = format!("/inbox/{id}/other{}", other.split('"').next().unwrap());
    is_download(&viewer.get(&other).await);
    viewer.get(&format!("/inbox/{id}/other")).await.expect(StatusCode::NOT_FOUND);

    let target = stage.unknown("acme", "INV-2").await;
    sql(
        &stage,
        "with a as (insert into aggregates (tenant_id, aggregate, next_seq, head_seq)
           select tenant_id, 'large', 2, 1 from operations where id = $1::uuid returning tenant_id)
         insert into outbox (tenant_id, aggregate, seq, topic, payload, status)
           select tenant_id, 'large', 1, 'large', convert_to(to_jsonb(repeat('&', 250000))::text, 'UTF8'), 'pending'
           from a",
        &target.id,
    )
    .await;
    let list = viewer.get("/outbox?topic=large").await.text();
    let id = list.split("href=\"/outbox/").nth(1).unwrap().split('"').next().unwrap();
    bounded(&viewer, &format!("/outbox/{id}")).await;
    is_download(&viewer.get(&format!("/outbox/{id}/payload")).await);
}

#[tokio::test]
async fn two_thousand_kinds_are_a_field_to_type_into_and_pages_of_a_hundred() {
    let stage = Stage::open().await;
    let viewer = stage.browser("viewer@acme.test").await;
    for list in ["/operations", "/conflicts", "/leases"] {
        let few = bounded(&viewer, list).await;
        assert!(few.contains("<option value=\"invoice.charge\""), "{list}: few are a choice");
    }
    let target = stage.unknown("acme", "INV-1").await;
    sql(
        &stage,
        "insert into operation_kinds
         select (jsonb_populate_record(k, jsonb_build_object('name', 'kind.number.' || lpad(n::text, 4, '0')))).*
         from operation_kinds k join operations o on o.tenant_id = k.tenant_id and o.operation = k.name,
           generate_series(1, 2000) n where o.id = $1::uuid",
        &target.id,
    )
    .await;
    for list in ["/operations", "/conflicts", "/leases"] {
        let many = bounded(&viewer, &format!("{list}?operation=invoice.charge")).await;
        assert!(!many.contains("kind.number.0002"), "{list}: 2,000 are no choice");
        assert!(
            many.contains("value=\"invoice.charge\"") && many.contains("href=\"/admin/kinds\"")
        );
    }
    let page = bounded(&viewer, "/admin/kinds").await;
    assert!(page.contains("kind.number.0099") && !page.contains("kind.number.0101"));
    let next = page.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let page = bounded(&viewer, &next.replace("&amp;", "&")).await;
    assert!(page.contains("kind.number.0101") && page.contains("From the first"));
    let found = bounded(&viewer, "/admin/kinds?q=kind.number.19").await;
    assert!(found.contains("kind.number.1999") && !found.contains("kind.number.1899"));
}

#[tokio::test]
async fn a_workflow_of_three_hundred_steps_with_artifacts_and_undos_stays_within_its_bound() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    for statement in [
        "insert into operations (tenant_id, operation, key, hash, hash_version, status, amount_minor, currency, payload,
           attempt, max_attempts, created_by_kind, created_by, move, move_actor_kind, move_actor)
         select tenant_id, operation, 'step operation ' || n, hash, 1, 'reserved', 12900, 'EUR', payload, 0, 3,
           'service', 'x', 'O1', 'service', 'x'
         from operations, generate_series(1, 300) n where id = $1::uuid",
        "insert into workflows (tenant_id, kind, key, definition_version, input_hash, status, next_at, created_by_kind,
           created_by, move, move_actor_kind, move_actor)
         select tenant_id, 'campaign.agent', 'long', 1, sha256(''), 'running', onceover_now(), 'service', 'x', 'W1',
           'service', 'x'
         from operations where id = $1::uuid",
        "insert into workflow_steps (tenant_id, workflow_id, step_key, position, operation, operation_id, status, move,
           move_actor_kind, move_actor)
         select o.tenant_id, w.id, rpad('step ' || substring(o.key from 16), 100, '-'), row_number() over (order by o.id),
           o.operation, o.id, 'pending', 'S0', 'engine', 'engine'
         from operations o, workflows w where o.key like 'step operation %' and o.id <> $1::uuid",
        "insert into workflow_artifacts (tenant_id, workflow_id, step_key, name, content_type, body, size, sha256)
         select tenant_id, workflow_id, step_key, rpad('artifact ' || n, 100, '+'), 'application/json', '1', 1, sha256('1')
         from workflow_steps, generate_series(1, 3) n where operation_id <> $1::uuid",
        "insert into workflow_artifacts (tenant_id, workflow_id, step_key, name, content_type, body, size, sha256)
         select tenant_id, workflow_id, step_key, 'whole', 'text/html', convert_to(repeat('x', 10485760), 'UTF8'),
           10485760, sha256('1')
         from workflow_steps where operation_id <> $1::uuid order by position limit 1",
        "insert into workflow_artifacts (tenant_id, workflow_id, step_key, name, content_type, body, size, sha256)
         select s.tenant_id, s.workflow_id, s.step_key, 'x ' || lpad(n::text, 2, '0') || repeat('&', 100), 'text/plain',
           '1', 1, sha256('1')
         from (select * from workflow_steps where operation_id <> $1::uuid order by position limit 1) s,
           generate_series(1, 30) n",
        "insert into compensations (tenant_id, operation_id, kind, status, amount_minor, currency, workflow_id, step_key,
           requested_by_kind, requested_by, move, move_actor_kind, move_actor)
         select s.tenant_id, s.operation_id, 'invoice.refund', 'requested', 12900, 'EUR', s.workflow_id, s.step_key,
           'engine', 'engine', 'C1', 'engine', 'engine'
         from workflow_steps s where s.operation_id <> $1::uuid",
        "insert into machine_events (tenant_id, machine, record_id, step_key, rule, to_status, version, actor_kind, actor,
           detail)
         select w.tenant_id, 'workflow', w.id, null, 'W3', 'waiting', n, 'engine', 'engine',
           jsonb_build_object('error', repeat('&', 1900))
         from workflows w, generate_series(1, 900) n, operations o where o.id = $1::uuid",
    ] {
        sql(&stage, statement, &target.id).await;
    }
    let id: String = sqlx::query_scalar("select id::text from workflows")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    let viewer = stage.browser("viewer@acme.test").await;
    let path = format!("/workflows/{id}");
    let page = bounded(&viewer, &path).await;
    assert!(page.contains("of 300") && page.contains("artifact?step="), "{}", &page[..2_000]);
    for piece in ["steps=151", "steps=300", "plan=151", "plan=300", "timeline=700"] {
        bounded(&viewer, &format!("{path}?{piece}")).await;
    }
    bounded(&viewer, &format!("{path}/cancel")).await;
    // One step brought forth 34 artifacts: four stand beside it, all are a click away, in pieces.
    let artifact = |page: &str, n: usize| page.contains(&format!(">x {n:02}&amp;"));
    assert!(!artifact(&page, 1), "the first four by name alone");
    let all = href_of(&page, &format!("{path}?artifacts="), "");
    let first = bounded(&viewer, all.split('#').next().unwrap()).await;
    let next = href_of(&first, &format!("{path}?artifacts="), "artifact=21");
    let last = bounded(&viewer, next.split('#').next().unwrap()).await;
    assert!(first.contains("1 to 20 of 34") && last.contains("21 to 34 of 34"), "{last}");
    for n in 1..=30 {
        let (in_first, in_last) = (artifact(&first, n), artifact(&last, n));
        assert_eq!((in_first, in_last), (n <= 16, n > 16), "artifact {n} stands in one piece");
    }
    is_download(&viewer.get(&href_of(&last, &format!("{path}/artifact?"), "name=x+30")).await);

    let whole = href_of(&page, &format!("{path}/artifact?"), "name=whole");
    let artifact = viewer.get(&whole).await;
    is_download(&artifact);
    assert_eq!(artifact.body.len(), 10_485_760, "an artifact at its limit comes whole");
    assert!(artifact.body.iter().all(|byte| *byte == b'x'));
}

#[tokio::test]
async fn a_page_of_more_than_is_read_says_that_only_the_newest_is_shown() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    for statement in [
        "insert into evidence (tenant_id, id, operation_id, source, says, text, actor_kind, actor)
         select o.tenant_id, ('01937000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, o.id, 'staff',
           'statement', 'evidence number ' || n || '.', 'staff', 'olga'
         from operations o, generate_series(1, 201) n where o.id = $1::uuid",
        "insert into notes (tenant_id, id, operation_id, staff_id, author, form_key, text)
         select o.tenant_id, ('01937000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, o.id, s.id, 'olga',
           'k-' || n, 'note number ' || n || '.'
         from operations o, (select id from staff limit 1) s, generate_series(1, 501) n where o.id = $1::uuid",
    ] {
        sql(&stage, statement, &target.id).await;
    }
    let viewer = stage.browser("viewer@acme.test").await;
    let path = format!("/operations/{}?evidence=999999&notes=999999", target.id);
    let page = bounded(&viewer, &path).await;
    for shown in [
        "The newest 200 are shown; older ones are not.",
        "The newest 500 are shown; older ones are not.",
        "evidence number 201.",
        "note number 501.",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
}
