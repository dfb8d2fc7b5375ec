//! Tokens are made once, by whoever may; their text is nowhere; what they are used for is noted cheaply;
//! and taken back they are worth nothing at the next request (T13).

use std::time::Duration;

use domain::{
    access::Role,
    action::{Subject, TargetType, Verb},
    ids::TokenId,
    problem::Code,
    token::{TokenState, TokenVerb},
};
use engine::{ActionRequest, AskToken, Caller, EngineError, Issued, RequestOrigin, StaffCaller};
use sqlx::Executor as _;

use crate::fixture::{Fixture, add_tenant, code, done};

const TOKENS: &str = "select count(*) from tokens";
const ISSUED: &str = "select count(*) from audit where action = 'issue' and result = 'done'";
const DENIED: &str = "select count(*) from audit where result = 'denied'";
const LOOKED: &str = "select count(*) from audit where action = 'read_tokens' and result = 'denied'
    and actor = 'viewer@acme.test' and code = 'permission_missing'";

fn service_token(id: TokenId) -> AskToken {
    AskToken {
        id: id.to_string(),
        name: "billing worker".into(),
        own: false,
        kinds: vec!["invoice.charge".into()],
        verbs: vec![TokenVerb::Reserve, TokenVerb::Report],
        days: 30,
        reason: "the new billing worker".into(),
    }
}

fn own_token(id: TokenId, name: &str) -> AskToken {
    AskToken {
        name: name.into(),
        own: true,
        kinds: Vec::new(),
        verbs: vec![TokenVerb::Read],
        ..service_token(id)
    }
}

async fn made(fixture: &Fixture, by: &StaffCaller, ask: AskToken) -> Result<Issued, EngineError> {
    fixture.engine.issue_token(by, ask).await
}

fn revocation(id: TokenId, version: i64) -> ActionRequest {
    let target = Subject::new(TargetType::Token, id.to_string());
    ActionRequest::new(target, Verb::Revoke, version, "it was on a lost laptop")
}

#[track_caller]
fn field(result: Result<Issued, EngineError>) -> String {
    let refusal = result.unwrap_err().refusal();
    assert_eq!(refusal.code, Code::Unprocessable);
    refusal.field.unwrap()
}

#[tokio::test]
async fn a_form_makes_one_token_and_shows_its_text_once() {
    let fixture = Fixture::new().await;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    let id = fixture.engine.new_token_id(&admin).await.unwrap();
    let before = fixture.count(TOKENS).await;

    let first = made(&fixture, &admin, service_token(id)).await.unwrap();
    let secret = first.secret.unwrap();
    assert!(secret.starts_with("onceover_service_"), "scanners know it by its beginning");
    let Some(Caller::Service(service)) =
        fixture.engine.caller_by_bearer(&secret, RequestOrigin::here("r")).await.unwrap()
    else {
        panic!("the token opens nothing");
    };
    assert!(service.covers("invoice.charge") && !service.covers("campaign.send"));
    let caller = Caller::Service(service);
    assert!(caller.covers_verb(TokenVerb::Report) && !caller.covers_verb(TokenVerb::Claim));

    let again = made(&fixture, &admin, service_token(id)).await.unwrap();
    assert!(again.secret.is_none(), "the text is not shown again");
    assert_eq!(again.receipt, first.receipt);
    let other = AskToken { days: 90, ..service_token(id) };
    assert_eq!(code(made(&fixture, &admin, other).await), Code::DecidedOtherwise);
    assert_eq!(fixture.count(TOKENS).await, before + 1);
    assert_eq!(fixture.count(ISSUED).await, 1);

    for table in ["tokens", "operations", "operation_events", "audit", "outbox"] {
        let kept: Vec<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(format!("select t::text from {table} t")))
                .fetch_all(fixture.pool())
                .await
                .unwrap();
        let payloads: Vec<Vec<u8>> = if table == "operations" {
            sqlx::query_scalar("select payload from operations where payload is not null")
                .fetch_all(fixture.pool())
                .await
                .unwrap()
        } else {
            Vec::new()
        };
        let holds = |text: &str| text.contains(&secret);
        assert!(!kept.iter().any(|row| holds(row)), "{table} holds the text");
        assert!(!payloads.iter().any(|bytes| holds(&String::from_utf8_lossy(bytes))), "{table}");
    }
}

#[tokio::test]
async fn a_token_that_is_taken_back_is_worth_nothing_at_once_and_for_good() {
    let fixture = Fixture::new().await;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    let id = fixture.engine.new_token_id(&admin).await.unwrap();
    let secret = made(&fixture, &admin, service_token(id)).await.unwrap().secret.unwrap();
    assert!(
        fixture.engine.caller_by_bearer(&secret, RequestOrigin::here("r")).await.unwrap().is_some()
    );

    let acted = done(fixture.engine.act(&admin, revocation(id, 1)).await);
    assert_eq!(acted.receipt.after.status.as_str(), "revoked");
    assert!(
        fixture.engine.caller_by_bearer(&secret, RequestOrigin::here("r")).await.unwrap().is_none()
    );
    let again = done(fixture.engine.act(&admin, revocation(id, 1)).await);
    assert!(again.replayed);
    assert_eq!(code(fixture.engine.act(&admin, revocation(id, 2)).await), Code::NotAllowedInState);
    let token = fixture.engine.token(&admin, id).await.unwrap();
    assert_eq!((token.state, token.version), (TokenState::Revoked, 2));
    assert_eq!(token.revoked_by.as_deref(), Some(admin.email()));
    assert!(token.actions.is_empty());

    let reused = AskToken {
        id: fixture.engine.new_token_id(&admin).await.unwrap().to_string(),
        ..service_token(id)
    };
    assert_eq!(field(made(&fixture, &admin, reused).await), "token_name");
}

#[tokio::test]
async fn everybody_makes_their_own_and_nobody_anothers() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    let id = fixture.engine.new_token_id(&viewer).await.unwrap();
    let (before, denied) = (fixture.count(TOKENS).await, fixture.count(DENIED).await);

    assert_eq!(code(made(&fixture, &viewer, service_token(id)).await), Code::PermissionMissing);
    assert_eq!(fixture.count(TOKENS).await, before);
    assert_eq!(fixture.count(DENIED).await, denied + 1);

    let secret = made(&fixture, &viewer, own_token(id, "laptop")).await.unwrap().secret.unwrap();
    let Some(Caller::Staff(own)) =
        fixture.engine.caller_by_bearer(&secret, RequestOrigin::here("r")).await.unwrap()
    else {
        panic!("not a person's");
    };
    assert_eq!(own.staff_id(), viewer.staff_id());
    let shown = fixture.engine.own_tokens(&viewer).await.unwrap();
    assert_eq!(shown[0].id, id);
    assert_eq!(shown[0].actions.len(), 1, "it can be taken back by its person");
    assert_eq!(code(fixture.engine.tokens(&viewer).await), Code::PermissionMissing);
    assert_eq!(fixture.count(LOOKED).await, 1);

    let service = fixture.engine.new_token_id(&admin).await.unwrap();
    made(&fixture, &admin, service_token(service)).await.unwrap();
    let made_up = fixture.engine.new_token_id(&admin).await.unwrap();
    for foreign in [service, made_up] {
        let tried = fixture.engine.act(&viewer, revocation(foreign, 1)).await;
        assert_eq!(code(tried), Code::PermissionMissing, "whether it is there or not");
        assert_eq!(code(fixture.engine.token(&viewer, foreign).await), Code::PermissionMissing);
    }
    fixture.engine.token(&viewer, id).await.unwrap();
    assert_eq!(fixture.count(LOOKED).await, 3, "a row for each that was refused");
    assert_eq!(code(fixture.engine.act(&admin, revocation(made_up, 1)).await), Code::NotFound);
    // Whoever looks after tokens takes anybody's back.
    done(fixture.engine.act(&admin, revocation(id, 1)).await);
    assert!(
        fixture.engine.caller_by_bearer(&secret, RequestOrigin::here("r")).await.unwrap().is_none()
    );
}

#[tokio::test]
async fn what_a_token_cannot_be_is_refused_beside_its_field() {
    let fixture = Fixture::new().await;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    let id = fixture.engine.new_token_id(&admin).await.unwrap();
    let asked = async |ask: AskToken| field(made(&fixture, &admin, ask).await);
    let usual = service_token(id);
    assert_eq!(asked(AskToken { name: " ".into(), ..usual.clone() }).await, "token_name");
    assert_eq!(asked(AskToken { days: 400, ..usual.clone() }).await, "days");
    assert_eq!(asked(AskToken { verbs: vec![TokenVerb::Decide], ..usual.clone() }).await, "verbs");
    assert_eq!(asked(AskToken { kinds: vec!["no.such".into()], ..usual.clone() }).await, "kinds");
    assert_eq!(asked(AskToken { reason: String::new(), ..usual.clone() }).await, "reason");
    let old = "01937000-0000-7000-8000-00000000dead";
    assert_eq!(asked(AskToken { id: old.into(), ..usual }).await, "id");
    // The path of all other decisions makes none: it has no text to hash.
    let bare = ActionRequest::new(
        Subject::new(TargetType::Token, id.to_string()),
        Verb::Issue,
        0,
        "by another door",
    );
    assert_eq!(code(fixture.engine.act(&admin, bare).await), Code::Unprocessable);
}

#[tokio::test]
async fn a_token_ends_with_its_time() {
    let fixture = Fixture::new().await;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    let id = fixture.engine.new_token_id(&admin).await.unwrap();
    let secret = made(&fixture, &admin, service_token(id)).await.unwrap().secret.unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    fixture.db.advance_clock(day * 29).await;
    assert!(
        fixture.engine.caller_by_bearer(&secret, RequestOrigin::here("r")).await.unwrap().is_some()
    );
    fixture.db.advance_clock(day + Duration::from_secs(60)).await;
    assert!(
        fixture.engine.caller_by_bearer(&secret, RequestOrigin::here("r")).await.unwrap().is_none()
    );
    let state = fixture.engine.token(&admin, id).await.unwrap().state;
    assert_eq!(state, TokenState::Expired);
}

#[tokio::test]
async fn many_uses_in_a_minute_are_noted_once() {
    let fixture = Fixture::new().await;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    let id = fixture.engine.new_token_id(&admin).await.unwrap();
    let secret = made(&fixture, &admin, service_token(id)).await.unwrap().secret.unwrap();
    let last_use = async || fixture.engine.token(&admin, id).await.unwrap().last_used_at;
    assert_eq!(last_use().await, None);
    for _ in 0..5 {
        fixture.engine.caller_by_bearer(&secret, RequestOrigin::here("r")).await.unwrap().unwrap();
    }
    let noted = last_use().await.unwrap();
    let writes: String = sqlx::query_scalar("select xmin::text from tokens where id = $1")
        .bind(id.uuid())
        .fetch_one(fixture.pool())
        .await
        .unwrap();
    fixture.engine.caller_by_bearer(&secret, RequestOrigin::here("r")).await.unwrap().unwrap();
    let unchanged: bool = sqlx::query_scalar("select xmin::text = $2 from tokens where id = $1")
        .bind(id.uuid())
        .bind(&writes)
        .fetch_one(fixture.pool())
        .await
        .unwrap();
    assert!(unchanged, "no write within the minute");
    fixture.db.advance_clock(Duration::from_secs(61)).await;
    fixture.engine.caller_by_bearer(&secret, RequestOrigin::here("r")).await.unwrap().unwrap();
    assert!(last_use().await.unwrap() > noted);
}

#[tokio::test]
async fn the_console_role_changes_no_token_but_to_take_it_back_in_its_own_tenant() {
    let fixture = Fixture::new().await;
    let globex = add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let own = fixture.service.tenant_id().to_string();
    let mut tx = fixture.pool().begin().await.unwrap();
    tx.execute("set local role onceover_app").await.unwrap();
    sqlx::query("select set_config('app.tenant', $1, true)")
        .bind(&own)
        .execute(&mut *tx)
        .await
        .unwrap();
    let taken = sqlx::query("update tokens set revoked_at = now() where tenant_id = $1")
        .bind(globex.tenant_id().uuid())
        .execute(&mut *tx)
        .await
        .unwrap();
    assert_eq!(taken.rows_affected(), 0, "another tenant's");
    for sql in [
        "update tokens set kinds = '{}'",
        "update tokens set expires_at = null",
        "update tokens set token_hash = token_hash",
        "delete from tokens",
        "truncate tokens",
        "insert into tokens (token_hash, tenant_id, name) select sha256('x'), id, 'x' from tenants where slug = 'globex'",
    ] {
        let mut inner = sqlx::Acquire::begin(&mut tx).await.unwrap();
        assert!(inner.execute(sql).await.is_err(), "{sql}");
        inner.rollback().await.unwrap();
    }
    tx.rollback().await.unwrap();
    // What a token covers does not change, whoever writes.
    for sql in ["update tokens set verbs = '{read}'", "update tokens set expires_at = 'infinity'"] {
        assert!(fixture.pool().execute(sql).await.is_err(), "{sql}");
    }
}
