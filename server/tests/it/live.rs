//! `GET /live`: whose ids a stream names, what ends it, and what it never does.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use axum::{
    body::{Body, BodyDataStream},
    http::{HeaderMap, Method, StatusCode, header},
};
use domain::problem::Code;
use futures_util::StreamExt as _;
use serde_json::json;
use server::commands::serve;
use testkit::{TestDatabase, eventually, within};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::watch,
};
use tower::ServiceExt as _;

use crate::{
    faults::{postgres::Server, processes::Process},
    figures::say,
    support::{Browser, HOST, Stage, WEBHOOK_SECRET, from_our_page},
};

const LIMIT: Duration = Duration::from_secs(30);
const LISTENERS: &str = "select count(*) from pg_stat_activity
   where datname = current_database() and application_name = 'onceover listener'
     and state = 'idle' and query like '%onceover_now%'";
/// Every connection of the listener's name, whatever it does.
const ALL_LISTENERS: &str = "select count(*) from pg_stat_activity
   where datname = current_database() and application_name = 'onceover listener'";

/// An open stream.
pub struct Stream {
    headers: HeaderMap,
    body: BodyDataStream,
    text: String,
}

impl Stream {
    pub async fn open(browser: &Browser<'_>, query: &str) -> Self {
        let request = from_our_page(Method::GET, &format!("/live{query}"))
            .header(header::COOKIE, browser.cookie.as_deref().unwrap())
            .body(Body::empty())
            .unwrap();
        let response = browser.stage.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let (head, body) = response.into_parts();
        let mut stream =
            Self { headers: head.headers, body: body.into_data_stream(), text: String::new() };
        assert!(stream.more().await, "it says that it is open");
        stream
    }

    /// Reads on; false at its end.
    async fn more(&mut self) -> bool {
        match within("more of the stream", LIMIT, self.body.next()).await {
            Some(piece) => {
                self.text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
                true
            }
            None => false,
        }
    }

    /// What came so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads until something is named.
    pub async fn until(&mut self, what: &str) {
        while !self.text.contains(what) {
            assert!(self.more().await, "{what} is missing: {}", self.text);
        }
    }

    /// Reads to its end.
    pub async fn end(&mut self) {
        while self.more().await {}
    }
}

/// Waits until the process hears what the database tells.
pub async fn listens(stage: &Stage) {
    eventually("the listener stands", LIMIT, async || count(stage, LISTENERS).await == 1).await;
}

async fn count(stage: &Stage, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(stage.database.owner_pool()).await.unwrap()
}

async fn run(stage: &Stage, sql: &'static str) {
    sqlx::query(sql).execute(stage.database.owner_pool()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_names_records_of_its_sessions_tenant_and_of_no_other() {
    let stage = Stage::open().await;
    let viewer = stage.browser("viewer@acme.test").await;
    let mut stream = Stream::open(&viewer, "?tenant=acme").await;
    assert_eq!(stream.headers[header::CONTENT_TYPE], "text/event-stream");
    assert_eq!(stream.headers[header::CACHE_CONTROL], "no-store");
    assert_eq!(stream.headers["x-accel-buffering"], "no");
    listens(&stage).await;
    let foreign = stage.unknown("globex", "INV-1").await;
    let own = stage.unknown("acme", "INV-1").await;
    stream.until(&own.id).await;
    assert!(!stream.text.contains(&foreign.id), "{}", stream.text);
    assert!(!stream.text.contains("INV-1"), "ids alone: {}", stream.text);

    // A page that was read before is told what it missed, and one of another tenant nothing.
    let mut late = Stream::open(&viewer, "?tenant=acme&since=1").await;
    late.until("data:").await;
    let answer = viewer.get("/live?tenant=globex").await;
    answer.expect(StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn without_a_session_there_is_no_stream() {
    let stage = Stage::open().await;
    let stranger = stage.stranger();
    stranger.get("/live").await.expect(StatusCode::UNAUTHORIZED);
    let forged = Browser { stage: &stage, cookie: Some("__Host-sid=forged".into()) };
    forged.get("/live").await.expect(StatusCode::UNAUTHORIZED);
    let request = axum::http::Request::builder().uri("/live").header(header::HOST, HOST);
    stage.send(request.body(Body::empty()).unwrap()).await.refused(Code::Unauthenticated);
    testkit::threat("T42", 3, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_session_and_never_keeps_it_open() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    run(&stage, "update sessions set seen_at = seen_at - interval '20 minutes'").await;
    let mut signed_out = Stream::open(&operator, "").await;
    let noted =
        "select count(*) from sessions where seen_at > onceover_now() - interval '19 minutes'";
    let leaving = "select count(*) from audit a join tenants t on t.id = a.tenant_id
         where t.slug = 'acme' and action = 'sign_out' and result = 'done' and actor = 'operator@acme.test'";
    assert_eq!(count(&stage, leaving).await, 0);
    signed_out.text.clear();
    operator.post("/sign-out", &[]).await.expect(StatusCode::SEE_OTHER);
    signed_out.end().await;
    operator.get("/live").await.expect(StatusCode::UNAUTHORIZED);
    assert_eq!(count(&stage, leaving).await, 1, "who signs out stands in the log, once");

    // Whoever only looks lapses like whoever left.
    let viewer = stage.browser("viewer@acme.test").await;
    run(&stage, "update sessions set seen_at = seen_at - interval '20 minutes'").await;
    let mut lapsed = Stream::open(&viewer, "").await;
    assert_eq!(count(&stage, noted).await, 0, "a stream is no request of its session");
    stage.database.advance_clock(Duration::from_secs(11 * 60)).await;
    lapsed.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_goes_to_another_tenant_leaves_its_streams_behind() {
    let stage = Stage::open().await;
    run(
        &stage,
        "insert into memberships (tenant_id, staff_id, role, granted_by)
         select t.id, s.id, 'operator', 'test' from tenants t, staff s
         where t.slug = 'globex' and s.email = 'operator@acme.test'",
    )
    .await;
    let operator = stage.browser("operator@acme.test").await;
    let mut stream = Stream::open(&operator, "").await;
    let switched =
        operator.post("/session/tenant", &[("tenant", "globex"), ("return_to", "/")]).await;
    switched.expect(StatusCode::SEE_OTHER);
    stream.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_beyond_the_limits_are_refused_and_places_come_back() {
    let stage =
        Stage::open_with(&[("ONCEOVER_MAX_STREAMS", "3"), ("ONCEOVER_MAX_SESSION_STREAMS", "2")])
            .await;
    let viewer = stage.browser("viewer@acme.test").await;
    let operator = stage.browser("operator@acme.test").await;
    let first = Stream::open(&viewer, "").await;
    let _second = Stream::open(&viewer, "").await;
    let refused = viewer.get("/live").await;
    refused.expect(StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.header("retry-after"), "30");
    let _third = Stream::open(&operator, "").await;
    operator.get("/live").await.expect(StatusCode::SERVICE_UNAVAILABLE);
    drop(first);
    let _fourth = Stream::open(&operator, "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_streams_cost_the_database_one_listener() {
    let stage = Stage::open().await;
    let mut streams = Vec::new();
    for _ in 0..50 {
        let viewer = stage.browser("viewer@acme.test").await;
        for _ in 0..4 {
            streams.push(Stream::open(&viewer, "").await);
        }
    }
    listens(&stage).await;
    let own = stage.unknown("acme", "INV-1").await;
    for stream in &mut streams {
        stream.until(&own.id).await;
    }
    assert_eq!(count(&stage, ALL_LISTENERS).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_commits_are_a_handful_of_events_and_the_last_of_them_is_told() {
    const COMMITS: usize = 200;
    let stage = Stage::open().await;
    let (noted, other) =
        (stage.unknown("acme", "INV-1").await, stage.unknown("acme", "INV-2").await);
    let operator = stage.staff("operator@acme.test").await;
    let viewer = stage.browser("viewer@acme.test").await;
    let mut stream = Stream::open(&viewer, "?tenant=acme").await;
    eventually("the listener stands", LIMIT, async || count(&stage, LISTENERS).await == 1).await;
    // Up to here it is told; a record that nothing else names parts that from what follows.
    stream.until(&stage.unknown("acme", "INV-3").await.id).await;
    stream.text.clear();
    let begun = Instant::now();
    let committing = async {
        for n in 0..COMMITS {
            let note = json!({ "form_key": format!("form-{n}"), "text": "I rang them" });
            let path = format!("/operations/{}/notes", noted.id);
            operator.post(&path, &note).await.expect(StatusCode::NO_CONTENT);
        }
        let last = json!({ "form_key": "last", "text": "they rang back" });
        let path = format!("/operations/{}/notes", other.id);
        operator.post(&path, &last).await.expect(StatusCode::NO_CONTENT);
    };
    // The page listens all the while.
    tokio::join!(committing, stream.until(&other.id));
    let took = begun.elapsed();
    let events = stream.text.matches("data:").count();
    // One a second at most, however slow the machine; and never one for each commit.
    let most = usize::try_from(took.as_secs()).unwrap() + 2;
    assert!(events <= most && events < COMMITS / 4, "{events} events within {took:?}");
    assert!(stream.text.contains(&noted.id), "{}", stream.text);
    say(&format!("live: {COMMITS} commits within {} ms are {events} events", took.as_millis()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_survives_its_database_and_says_that_it_may_have_missed_something() {
    let stage = Stage::open().await;
    let viewer = stage.browser("viewer@acme.test").await;
    let mut stream = Stream::open(&viewer, "").await;
    listens(&stage).await;
    // What a restart does to everybody at once.
    count(
        &stage,
        "select count(pg_terminate_backend(pid)) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and application_name <> ''",
    )
    .await;
    stream.until("data: *@").await;
    let own = stage.unknown("acme", "INV-1").await;
    stream.until(&own.id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_from_before_a_restart_of_the_database_names_what_changes_after_it() {
    let mut server = tokio::task::spawn_blocking(Server::start).await.unwrap();
    let stage = Stage::open_on(TestDatabase::create_at(&server.url()).await, &[]).await;
    let viewer = stage.browser("viewer@acme.test").await;
    let mut stream = Stream::open(&viewer, "").await;
    listens(&stage).await;
    server = tokio::task::spawn_blocking(move || {
        server.restart();
        server
    })
    .await
    .unwrap();
    stream.until("data: *@").await;
    let own = stage.unknown("acme", "INV-1").await;
    stream.until(&format!("operation/{}@", own.id)).await;
    // The database's folder goes last.
    drop(stream);
    drop(stage);
    tokio::task::spawn_blocking(move || drop(server)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_page_of_a_bulk_is_told_that_its_rows_moved() {
    let stage = Stage::open().await;
    let (one, two) = (stage.unknown("acme", "INV-1").await, stage.unknown("acme", "INV-2").await);
    let operator = stage.staff("operator@acme.test").await;
    let viewer = stage.browser("viewer@acme.test").await;
    let mut stream = Stream::open(&viewer, "?tenant=acme").await;
    listens(&stage).await;
    let body = json!({ "list": "operations", "verb": "reconcile", "records": [one.id, two.id] });
    let id = operator.post("/bulks", &body).await.json()["id"].as_str().unwrap().to_owned();
    let named = format!("bulk/{id}@");
    stream.until(&named).await;
    let advance = async || {
        while stage.state.engine.advance_bulks().await.unwrap().handled > 0 {}
    };
    advance().await;
    let version = operator.get(&format!("/bulks/{id}")).await.json()["version"].clone();
    let start = json!({ "version": version, "reason": "the provider is back" });
    operator.post(&format!("/bulks/{id}/actions/run"), &start).await.expect(StatusCode::OK);
    // Up to its start it is told; a record that nothing else names parts that from what follows.
    stream.until(&stage.unknown("acme", "INV-3").await.id).await;
    stream.text.clear();
    advance().await;
    stream.until(&named).await;

    let page = viewer.get(&format!("/bulks/{id}")).await;
    assert!(page.text().contains(&format!("bulk/{id}")), "{}", page.text());
    assert!(page.text().contains("data-component=\"Live"), "{}", page.text());
}

/// A stream over a connection of its own, and what it has said by the time that it is open.
async fn connected(addr: SocketAddr, viewer: &Browser<'_>) -> (TcpStream, Vec<u8>) {
    let mut connection = TcpStream::connect(addr).await.unwrap();
    let request = format!(
        "GET /live HTTP/1.1\r\nHost: {addr}\r\nCookie: {}\r\n\r\n",
        viewer.cookie.as_deref().unwrap()
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !String::from_utf8_lossy(&answer).contains(": open") {
        let read = within("the stream", LIMIT, connection.read_buf(&mut answer)).await.unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&answer));
    }
    (connection, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_streams_at_once() {
    let stage = Stage::open().await;
    let viewer = stage.browser("viewer@acme.test").await;
    let listener = serve::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    let (config, engine) = (stage.config.clone(), stage.state.engine.clone());
    let server = tokio::spawn(async move {
        serve::serve_on(&config, engine, (listener, None), false, stopped).await.map_err(|_| ())
    });
    let (mut connection, mut answer) = connected(addr, &viewer).await;
    stop.send_replace(true);
    // Far below the time that requests under way are given.
    let rest = connection.read_to_end(&mut answer);
    within("the end of the stream", Duration::from_secs(5), rest).await.unwrap();
    assert!(answer.ends_with(b"0\r\n\r\n"), "the browser sees an end, not a cut");
    within("the server ends", LIMIT, server).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_told_to_stop_ends_its_open_streams_and_then_itself() {
    let stage = Stage::open().await;
    let viewer = stage.browser("viewer@acme.test").await;
    let url = stage.database.url();
    let environment = [
        ("DATABASE_URL", url.as_str()),
        ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET),
        ("ONCEOVER_ADDR", "127.0.0.1:0"),
        ("ONCEOVER_LOG", "warn"),
    ];
    let (server, ready) = Process::start(&["serve", "--no-workers"], &environment, "ready: ");
    let addr = ready.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
    let (mut connection, mut answer) = connected(addr, &viewer).await;
    server.ask_to_stop();
    // Far below the time that requests under way are given.
    let rest = connection.read_to_end(&mut answer);
    within("the end of the stream", Duration::from_secs(5), rest).await.unwrap();
    assert!(answer.ends_with(b"0\r\n\r\n"), "the browser sees an end, not a cut");
    let ended = tokio::task::spawn_blocking(move || server.end());
    assert_eq!(within("the program ends", LIMIT, ended).await.unwrap(), Some(0));
}
