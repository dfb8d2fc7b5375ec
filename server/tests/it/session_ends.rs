//! T10: what ends a session ends it for the next request, however many come at once and whatever was under
//! way, and for the streams that it holds open.

use axum::http::StatusCode;
use domain::access::Role;
use engine::identity::NewStaff;
use futures_util::future::join_all;

use crate::{
    forms::leads_to,
    live::Stream,
    support::{Browser, Stage},
};

const AT_ONCE: usize = 100;

/// Of so many requests at once, pages and forms in turn, those that were let in.
async fn let_in(browser: &Browser<'_>) -> usize {
    let asked = (0..AT_ONCE).map(|n| async move {
        let answer = if n % 2 == 0 {
            browser.get("/help").await
        } else {
            browser.post("/act/operations/take", &[]).await
        };
        let turned_away = answer.status == StatusCode::UNAUTHORIZED
            || answer.header("location").starts_with("/sign-in");
        usize::from(!turned_away)
    });
    join_all(asked).await.into_iter().sum()
}

/// Has something happen in the middle of many requests; of as many after it, those that were let in.
async fn through(browser: &Browser<'_>, event: impl Future<Output = ()>) -> usize {
    browser.get("/help").await.expect(StatusCode::OK);
    let mut stream = Stream::open(browser, "").await;
    // Those that came before it may be answered.
    let (_, ()) = tokio::join!(let_in(browser), event);
    let after = let_in(browser).await;
    browser.get("/live").await.expect(StatusCode::UNAUTHORIZED);
    stream.end().await;
    after
}

/// A person's id and the version of their place in the tenant.
async fn member(stage: &Stage, email: &str) -> (String, i64) {
    sqlx::query_as(
        "select s.id::text, m.version from staff s join memberships m on m.staff_id = s.id
         join tenants t on t.id = m.tenant_id where s.email = $1 and t.slug = 'acme'",
    )
    .bind(email)
    .fetch_one(stage.database.owner_pool())
    .await
    .unwrap()
}

async fn role(stage: &Stage, email: &str) -> String {
    sqlx::query_scalar(
        "select m.role from memberships m join staff s on s.id = m.staff_id where s.email = $1",
    )
    .bind(email)
    .fetch_one(stage.database.owner_pool())
    .await
    .unwrap()
}

/// An administrator gives a colleague another role, by the console's own form.
async fn grant(admin: &Browser<'_>, email: &str, role: &str) {
    let (id, version) = member(admin.stage, email).await;
    let version = version.to_string();
    let fields = [
        ("target_type", "staff"),
        ("id", id.as_str()),
        ("verb", "grant"),
        ("version", &version),
        ("role", role),
        ("reason", "leaves the desk"),
    ];
    leads_to(&admin.post("/act/records/decide", &fields).await, "/receipts/");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_requests_after_each_event_none_is_let_in() {
    let stage = Stage::open_with(&[
        ("ONCEOVER_MAX_ADDRESS_CALLS", "10000000"),
        ("ONCEOVER_MAX_ACCOUNT_CALLS", "10000000"),
    ])
    .await;
    for name in ["granted", "demoted", "own"] {
        let new = NewStaff {
            email: &format!("{name}@acme.test"),
            name,
            password_hash: "kept",
            tenant_slug: "acme",
            role: Role::Operator,
        };
        stage.admin().await.add_staff(&new).await.unwrap();
    }
    let hash = server::auth::password::Passwords::new().hash("another long password").await;
    let admin = stage.browser("admin@acme.test").await;
    let mut after = Vec::new();

    let out = stage.browser("viewer@acme.test").await;
    let signs_out = async { out.post("/sign-out", &[]).await.expect(StatusCode::SEE_OTHER) };
    after.push(("signing out", through(&out, signs_out).await));

    let reset = stage.browser("approver@acme.test").await;
    let resets = async {
        stage.admin().await.reset_password("approver@acme.test", &hash).await.unwrap();
    };
    after.push(("a new password", through(&reset, resets).await));

    let disabled = stage.browser("auditor@acme.test").await;
    let disables = async {
        stage.admin().await.disable_staff("auditor@acme.test").await.unwrap();
    };
    after.push(("a closed account", through(&disabled, disables).await));

    let demoted = stage.browser("demoted@acme.test").await;
    let demotes = async {
        stage.admin().await.set_role("demoted@acme.test", "acme", Role::Viewer).await.unwrap();
    };
    after.push(("another role by the command line", through(&demoted, demotes).await));

    let granted = stage.browser("granted@acme.test").await;
    let grants = grant(&admin, "granted@acme.test", "viewer");
    after.push(("another role by the console", through(&granted, grants).await));

    let (here, ended) =
        (stage.browser("own@acme.test").await, stage.browser("own@acme.test").await);
    let ends = async {
        let others = here.post("/me/sessions/end", &[("session", "others")]).await;
        leads_to(&others, "/me?done=sessions");
    };
    after.push(("ending all other sessions", through(&ended, ends).await));
    here.get("/help").await.expect(StatusCode::OK);

    let entered: usize = after.iter().map(|(_, entered)| entered).sum();
    assert_eq!(entered, 0, "{after:?}");
    // Whoever had the role changed comes in again, with the new one.
    let again = stage.browser("granted@acme.test").await;
    again.get("/help").await.expect(StatusCode::OK);
    let mut roles = Vec::new();
    for email in ["granted@acme.test", "demoted@acme.test"] {
        roles.push(role(&stage, email).await);
    }
    assert_eq!(roles, ["viewer", "viewer"]);
    testkit::threat("T10", AT_ONCE * after.len(), entered);
}
