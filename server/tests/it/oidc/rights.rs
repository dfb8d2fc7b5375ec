//! Whose account it is, and what the provider gives and takes.

use axum::http::StatusCode;
use domain::{access::Role, problem::Code};
use serde_json::json;

use super::scene::{Scene, refused};
use crate::{
    command_line::{onceover, refuses},
    support::{PASSWORD, WEBHOOK_SECRET},
};

fn pairs(roles: &[(&str, &str)]) -> Vec<(String, String)> {
    roles.iter().map(|(tenant, role)| ((*tenant).to_owned(), (*role).to_owned())).collect()
}

#[tokio::test]
async fn what_the_provider_no_longer_grants_is_taken_away() {
    let scene = Scene::open().await;
    let grants = |groups: &[&str]| scene.provider.plan().claims = json!({ "groups": groups });
    grants(&["payments", "audit", "something else"]);
    let first = scene.signed_in().await;
    let email = "ann@corp.com";
    assert_eq!(scene.roles(email).await, pairs(&[("acme", "operator"), ("globex", "auditor")]));

    // What somebody gave here by hand does not outlive what the provider says.
    scene.stage.admin().await.set_role(email, "acme", Role::TenantAdmin).await.unwrap();
    grants(&["payments", "audit"]);
    scene.signed_in().await;
    assert_eq!(scene.roles(email).await, pairs(&[("acme", "operator"), ("globex", "auditor")]));

    grants(&["audit"]);
    let second = scene.signed_in().await;
    assert_eq!(scene.roles(email).await, pairs(&[("globex", "auditor")]));
    scene.get("/", &first).await.expect(StatusCode::SEE_OTHER);
    scene.get("/", &second).await.expect(StatusCode::OK);

    // Both rules fit; the first of a tenant counts. Being given more is written down as well.
    grants(&["payments", "leads", "audit"]);
    scene.signed_in().await;
    assert_eq!(scene.roles(email).await, pairs(&[("acme", "approver"), ("globex", "auditor")]));

    grants(&[]);
    refused(&scene.sign_in("/").await, Code::SsoRefused, "nothing granted");
    assert_eq!(scene.roles(email).await, []);
    scene.get("/", &second).await.expect(StatusCode::SEE_OTHER);
    let told: Vec<(String, String)> = sqlx::query_as(
        "select t.slug, a.action from audit a join tenants t on t.id = a.tenant_id
         where a.actor_kind = 'identity provider' and a.target_id = $1 order by a.at",
    )
    .bind(email)
    .fetch_all(scene.stage.database.owner_pool())
    .await
    .unwrap();
    let expected = [
        ("acme", "staff.add"),
        ("globex", "staff.add"),
        ("acme", "staff.role"),
        ("acme", "staff.remove"),
        ("acme", "staff.add"),
        ("acme", "staff.remove"),
        ("globex", "staff.remove"),
    ];
    assert_eq!(told, pairs(&expected));
    scene.provider.plan().claims = json!({ "groups": null });
    scene.provider.plan().userinfo = json!({ "groups": null });
    scene.is_refused(Code::SsoRefused, "nothing said is nothing granted").await;
}

#[tokio::test]
async fn an_account_is_a_subject_of_an_issuer_and_never_an_email() {
    let scene = Scene::open().await;
    // A local account of that e-mail is not taken over.
    scene.provider.plan().claims = json!({ "email": "operator@acme.test" });
    scene.is_refused(Code::SsoRefused, "a local account's e-mail").await;

    scene.provider.plan().claims = json!({});
    scene.signed_in().await;
    // The same subject under another e-mail is the same person; another subject under hers is not.
    scene.provider.plan().claims = json!({ "email": "ann.new@corp.com", "name": "Ann New" });
    let cookie = scene.signed_in().await;
    assert!(scene.get("/me", &cookie).await.text().contains("ann@corp.com"));
    scene.provider.plan().claims = json!({ "sub": "bob-2" });
    scene.is_refused(Code::SsoRefused, "another subject with her e-mail").await;
    scene.provider.plan().claims = json!({ "sub": "ANN-1" });
    scene.is_refused(Code::SsoRefused, "a subject that only looks like hers").await;
    let subjects: Vec<(String, String)> = sqlx::query_as(
        "select i.issuer || ' ' || i.subject, s.email from staff_identities i
         join staff s on s.id = i.staff_id",
    )
    .fetch_all(scene.stage.database.owner_pool())
    .await
    .unwrap();
    let whose = format!("{} ann-1", scene.provider.issuer());
    assert_eq!(subjects, [(whose, "ann@corp.com".to_owned())]);
}

#[tokio::test]
async fn two_first_sign_ins_at_once_are_one_person() {
    let scene = Scene::open().await;
    let ways = (0..8).map(|_| scene.sign_in("/"));
    for answer in futures_util::future::join_all(ways).await {
        answer.expect(StatusCode::SEE_OTHER);
        assert_eq!(answer.header("location"), "/");
    }
    let known: (i64, i64) = sqlx::query_as(
        "select (select count(*) from staff where email = 'ann@corp.com'),
           (select count(*) from staff_identities)",
    )
    .fetch_one(scene.stage.database.owner_pool())
    .await
    .unwrap();
    assert_eq!(known, (1, 1));
}

#[tokio::test]
async fn a_domain_is_ours_to_the_letter_and_its_address_verified() {
    let scene = Scene::open_with(&[("ONCEOVER_OIDC_DOMAINS", "corp.com,corp.example")]).await;
    let mut tried = 0;
    for claims in [
        json!({ "email": "a@corp.com.evil.com" }),
        json!({ "email": "a@evil.com" }),
        json!({ "email": "a@notcorp.com" }),
        json!({ "email": "a@sub.corp.com" }),
        json!({ "email": "a@corp.com", "email_verified": false }),
        json!({ "email": "a@corp.com", "email_verified": "true" }),
        json!({ "email": "corp.com" }),
    ] {
        scene.provider.plan().claims = claims.clone();
        scene.is_refused(Code::SsoRefused, &claims.to_string()).await;
        tried += 1;
    }
    scene.provider.plan().claims = json!({});
    scene.signed_in().await;
    testkit::threat("T16", tried, 0);
}

#[tokio::test]
async fn claims_that_the_token_lacks_are_asked_for_of_the_same_person() {
    let scene = Scene::open_with(&[("ONCEOVER_OIDC_DOMAINS", "corp.com")]).await;
    scene.signed_in().await;
    assert_eq!(scene.provider.asked().userinfo, 0, "nothing is missing");
    scene.provider.plan().claims = json!({ "email": null, "email_verified": null, "groups": null });
    scene.signed_in().await;
    assert_eq!(scene.provider.asked().userinfo, 1);
    assert_eq!(scene.roles("ann@corp.com").await, pairs(&[("acme", "operator")]));
    scene.provider.plan().userinfo = json!({ "email_verified": false });
    scene.is_refused(Code::SsoRefused, "not verified there").await;
    // Verified is another address than the one that the token names.
    scene.provider.plan().claims = json!({ "email": "boss@corp.com", "email_verified": null });
    scene.provider.plan().userinfo = json!({});
    scene.is_refused(Code::SsoRefused, "a word on another address").await;
}

#[tokio::test]
async fn a_closed_account_stays_out_and_a_password_opens_none_of_the_providers() {
    let scene = Scene::open().await;
    let cookie = scene.signed_in().await;
    let stranger = scene.stage.stranger();
    for email in ["ann@corp.com", "nobody@corp.com"] {
        let fields = [("email", email), ("password", PASSWORD), ("next", "/")];
        let answer = stranger.post("/sign-in", &fields).await;
        assert_eq!(answer.header("location"), "/sign-in?refused=sign_in_failed", "{email}");
    }
    scene.stage.admin().await.disable_staff("ann@corp.com").await.unwrap();
    scene.get("/", &cookie).await.expect(StatusCode::SEE_OTHER);
    scene.is_refused(Code::SsoRefused, "disabled").await;
    // The local accounts are what is left when the provider fails.
    let fields = [("email", "operator@acme.test"), ("password", PASSWORD), ("next", "/outbox")];
    let answer = stranger.post("/sign-in", &fields).await;
    assert_eq!(answer.header("location"), "/outbox");
}

#[tokio::test]
async fn an_administrator_ties_an_account_to_a_subject() {
    let scene = Scene::open().await;
    let (url, issuer) = (scene.stage.database.url(), scene.provider.issuer().to_owned());
    tokio::task::spawn_blocking(move || {
        let base = [("DATABASE_URL", url.as_str()), ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET)];
        let oidc = [
            ("ONCEOVER_OIDC_ISSUER", issuer.as_str()),
            ("ONCEOVER_OIDC_CLIENT_ID", "onceover"),
            ("ONCEOVER_OIDC_CLIENT_SECRET", WEBHOOK_SECRET),
            ("ONCEOVER_OIDC_ROLES", "payments=acme:operator"),
        ];
        let whole = [&base[..], &oidc].concat();
        let link = ["staff", "link", "viewer@acme.test", "--subject", "ann-1"];
        refuses(&onceover(&link, &base, ""), "ONCEOVER_OIDC_ISSUER is not set");
        assert!(onceover(&link, &whole, "").status.success());
        refuses(&onceover(&link, &whole, ""), "it is tied to an account already");
    })
    .await
    .unwrap();
    scene.signed_in().await;
    assert_eq!(scene.roles("ann@corp.com").await, []);
    assert_eq!(scene.roles("viewer@acme.test").await, pairs(&[("acme", "operator")]));
}
