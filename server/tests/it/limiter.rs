//! How much each may ask (R29, T40), and what guessing costs (T14): by token, by person, by address.

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use domain::problem::Code;
use server::{commands::serve, security::client::Peer};

use crate::{
    headers::carries_the_headers,
    support::{Answer, HOST, PASSWORD, Program, Stage, form, from_our_page},
    wire::Served,
};

/// A request that comes over a connection from an address.
fn from(peer: &str, mut request: Request<Body>) -> Request<Body> {
    let address: std::net::IpAddr = peer.parse().unwrap();
    request.extensions_mut().insert(Peer((address, 4711).into()));
    request
}

async fn ask_as(stage: &Stage, peer: &str, forwarded: &str) -> Answer {
    let request = Request::builder()
        .uri("/api/v1/operations")
        .header(header::HOST, HOST)
        .header(header::AUTHORIZATION, "Bearer guessed")
        .header("x-forwarded-for", forwarded)
        .body(Body::empty())
        .unwrap();
    stage.send(from(peer, request)).await
}

async fn sign_in_from(stage: &Stage, peer: &str, email: &str, password: &str) -> Answer {
    let request = from_our_page(Method::POST, "/sign-in")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form(&[("email", email), ("password", password)]).into())
        .unwrap();
    stage.send(from(peer, request)).await
}

#[tokio::test]
async fn a_token_beyond_its_limit_is_told_when_to_come_back_and_the_others_go_on() {
    let stage = Stage::open_with(&[("ONCEOVER_MAX_TOKEN_CALLS", "60")]).await;
    let (loud, quiet) = (stage.service("acme").await, stage.service("globex").await);
    let mut refused = None;
    for _ in 0..200 {
        let answer = loud.get("/openapi.json").await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            refused = Some(answer);
            break;
        }
        answer.expect(StatusCode::OK);
    }
    let refused = refused.expect("200 calls are more than 60 a minute");
    refused.refused(Code::RateLimited);
    carries_the_headers(&refused, "a token's limit");
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    quiet.reserve("INV-1", 100).await.expect(StatusCode::CREATED);
    stage.browser("operator@acme.test").await.get("/me").await.expect(StatusCode::OK);
}

#[tokio::test]
async fn a_person_beyond_the_limit_reads_a_page_that_says_so() {
    let stage = Stage::open_with(&[("ONCEOVER_MAX_ACCOUNT_CALLS", "60")]).await;
    let browser = stage.browser("viewer@acme.test").await;
    let mut last = browser.get("/help").await;
    for _ in 0..200 {
        if last.status != StatusCode::OK {
            break;
        }
        last = browser.get("/help").await;
    }
    last.expect(StatusCode::TOO_MANY_REQUESTS);
    assert!(last.text().contains("data-code=\"rate_limited\""), "{}", last.text());
    carries_the_headers(&last, "a person's limit");
    // Another session of the same person is the same person.
    let second = stage.browser("viewer@acme.test").await;
    second.get("/help").await.expect(StatusCode::TOO_MANY_REQUESTS);
    stage.browser("auditor@acme.test").await.get("/help").await.expect(StatusCode::OK);
    testkit::threat("T08", 1, 0);
}

/// T40: a hundred made-up senders are one.
#[tokio::test]
async fn who_makes_up_where_a_request_came_from_is_limited_as_one() {
    let stage = Stage::open_with(&[("ONCEOVER_MAX_ADDRESS_CALLS", "60")]).await;
    let mut limited = 0;
    for number in 0..100 {
        let made_up = format!("10.{}.{number}.1, 172.16.0.{number}", number % 7);
        if ask_as(&stage, "203.0.113.7", &made_up).await.status == StatusCode::TOO_MANY_REQUESTS {
            limited += 1;
        }
    }
    assert!(limited > 0, "none of 100 was limited: they were counted apart");
    ask_as(&stage, "203.0.113.8", "").await.refused(Code::Unauthenticated);
    // A token that is known is not counted by where it comes from.
    let service = stage.service("acme").await;
    service.reserve("INV-1", 100).await.expect(StatusCode::CREATED);
    testkit::threat("T40", 100, 0);
}

/// Asks as a person for what takes another's right, by page and by program: both leave an audit row.
async fn ask_for_the_log(stage: &Stage, peer: &str, forwarded: &str) {
    let browser = stage.browser("viewer@acme.test").await;
    let page = from_our_page(Method::GET, "/audit")
        .header(header::COOKIE, browser.cookie.unwrap())
        .header("x-forwarded-for", forwarded)
        .body(Body::empty())
        .unwrap();
    stage.send(from(peer, page)).await.expect(StatusCode::FORBIDDEN);
    let program = stage.staff("viewer@acme.test").await;
    let call = Request::builder()
        .uri("/api/v1/audit")
        .header(header::HOST, HOST)
        .header(header::AUTHORIZATION, format!("Bearer {}", program.token.unwrap()))
        .header("x-forwarded-for", forwarded)
        .body(Body::empty())
        .unwrap();
    stage.send(from(peer, call)).await.refused(Code::PermissionMissing);
}

/// The addresses that the log names for one kind of actor, and in how many rows each. The stage signs its
/// people in without a request, so those rows name no client.
async fn clients_in_the_log(stage: &Stage, of: &str) -> Vec<(Option<String>, i64)> {
    sqlx::query_as(
        "select client, count(*) from audit where actor_kind = $1 and action <> 'sign_in'
         group by client order by client",
    )
    .bind(of)
    .fetch_all(stage.database.owner_pool())
    .await
    .unwrap()
}

/// T40: the log holds who was seen, and nothing that a sender made up.
#[tokio::test]
async fn the_audit_log_names_the_peer_whatever_its_request_says() {
    let stage = Stage::open().await;
    for number in 0..10 {
        let made_up = format!("10.0.{number}.1, 172.16.0.{number}");
        ask_for_the_log(&stage, "203.0.113.7", &made_up).await;
    }
    let seen = clients_in_the_log(&stage, "staff").await;
    let [(Some(client), rows)] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(client, "203.0.113.7");
    assert!(*rows >= 20, "{rows} rows of 20 refusals");
    let of_no_client = clients_in_the_log(&stage, "command line").await;
    assert!(matches!(of_no_client[..], [(None, 1..)]), "{of_no_client:?}");

    let auditor = stage.staff("auditor@acme.test").await;
    let denied = auditor.get("/audit?denied=true").await;
    denied.expect(StatusCode::OK);
    assert_eq!(denied.json()["items"][0]["client"], "203.0.113.7", "{}", denied.text());
    let page = stage.browser("auditor@acme.test").await.get("/audit").await;
    page.expect(StatusCode::OK);
    assert!(page.text().contains("203.0.113.7"), "{}", page.text());
    let mut chain = engine::audit::Auditor::connect(&stage.database.url()).await.unwrap();
    let acme = chain.tenant("acme").await.unwrap().unwrap();
    assert!(chain.verify(acme).await.unwrap().is_whole());
    testkit::threat("T40", 20, 0);
}

#[tokio::test]
async fn behind_a_trusted_proxy_the_audit_log_names_whom_it_was_asked_by() {
    let stage = Stage::open_with(&[("ONCEOVER_TRUSTED_HOPS", "1")]).await;
    ask_for_the_log(&stage, "10.0.0.1", "1.1.1.1, 198.51.100.3").await;
    let seen = clients_in_the_log(&stage, "staff").await;
    let [(Some(client), _)] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(client, "198.51.100.3");
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_sender_has_a_limit_of_its_own() {
    let more = [("ONCEOVER_MAX_ADDRESS_CALLS", "60"), ("ONCEOVER_TRUSTED_HOPS", "1")];
    let stage = Stage::open_with(&more).await;
    let proxy = "10.0.0.1";
    let mut limited = 0;
    for number in 0..100 {
        // What the sender made up stands before what the proxy wrote.
        let line = format!("1.1.1.{number}, 198.51.100.3");
        if ask_as(&stage, proxy, &line).await.status == StatusCode::TOO_MANY_REQUESTS {
            limited += 1;
        }
    }
    assert!(limited > 0, "none of 100 was limited: they were counted apart");
    ask_as(&stage, proxy, "198.51.100.4").await.refused(Code::Unauthenticated);
}

#[tokio::test]
async fn one_password_tried_on_many_accounts_closes_the_address_and_outlives_a_restart() {
    let stage = Stage::open_with(&[("ONCEOVER_SIGN_IN_TRIES_OF_ADDRESS", "10")]).await;
    let guesser = "203.0.113.7";
    for number in 0..10 {
        let email = format!("nobody-{number}@acme.test");
        let answer = sign_in_from(&stage, guesser, &email, "not the password").await;
        answer.expect(StatusCode::SEE_OTHER);
    }
    let closed = sign_in_from(&stage, guesser, "viewer@acme.test", PASSWORD).await;
    closed.expect(StatusCode::TOO_MANY_REQUESTS);
    assert!(!closed.header("retry-after").is_empty());
    assert!(closed.text().contains("data-code=\"too_many_attempts\""), "{}", closed.text());

    // A new process on the same database remembers it; from elsewhere the account is open.
    let engine = engine::Engine::connect(stage.config.engine().unwrap()).await.unwrap();
    let state = serve::state(&stage.config, engine, HOST.parse().unwrap()).unwrap();
    let router = server::router::router(state.clone());
    let restarted = Stage { state, router, ..stage };
    let again = sign_in_from(&restarted, guesser, "viewer@acme.test", PASSWORD).await;
    again.expect(StatusCode::TOO_MANY_REQUESTS);
    for _ in 0..20 {
        // Whoever knows the password makes no guesses: nothing adds up.
        let in_order = sign_in_from(&restarted, "203.0.113.8", "viewer@acme.test", PASSWORD).await;
        in_order.expect(StatusCode::SEE_OTHER);
        assert!(!in_order.header("set-cookie").is_empty());
    }
    testkit::threat("T40", 1, 0);
}

#[tokio::test]
async fn the_connection_itself_says_where_a_request_comes_from() {
    let stage = Stage::open_with(&[("ONCEOVER_MAX_ADDRESS_CALLS", "60")]).await;
    let served = Served::plain(stage.router.clone());
    let mut limited = 0;
    for number in 0..100 {
        let request = format!(
            "GET /api/v1/operations HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n\
             authorization: Bearer guessed\r\nx-forwarded-for: 10.0.0.{number}\r\n\r\n"
        );
        let answer = exchange(served.addr, &request).await;
        if answer.starts_with("HTTP/1.1 429") {
            limited += 1;
        }
    }
    assert!(limited > 0, "none of 100 was limited: they were counted apart");
    let known = Program { stage: &stage, token: stage.service("acme").await.token };
    known.reserve("INV-1", 100).await.expect(StatusCode::CREATED);
    served.end().await;
}

async fn exchange(addr: std::net::SocketAddr, request: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(addr).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}
