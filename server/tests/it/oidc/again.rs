//! Proving again who one is, and how old a proof may be.

use axum::http::{StatusCode, header};
use domain::problem::Code;
use serde_json::json;

use super::{
    provider::now,
    scene::{Scene, cookie_of, refused},
};

#[tokio::test]
async fn a_session_proves_itself_again_and_goes_on_under_a_new_token() {
    let scene = Scene::open().await;
    let old = scene.signed_in().await;
    let leaving = scene.leave("/sign-in/oidc/again?next=%2Foutbox%3Fq%3D1", &old).await;
    assert_eq!((leaving.part("prompt").as_str(), leaving.part("max_age").as_str()), ("login", "0"));
    let back = scene.visit(&leaving.place).await;
    let answer = scene.get(&back, &format!("{}; {old}", leaving.cookie)).await;
    answer.expect(StatusCode::SEE_OTHER);
    assert_eq!(answer.header("location"), "/outbox?q=1");
    let new = cookie_of(&answer, "__Host-sid").unwrap();
    assert_ne!(new, old);
    scene.get("/", &old).await.expect(StatusCode::SEE_OTHER);
    scene.get("/", &new).await.expect(StatusCode::OK);
    let open: i64 = sqlx::query_scalar("select count(*) from sessions where ended_at is null")
        .fetch_one(scene.stage.database.owner_pool())
        .await
        .unwrap();
    assert_eq!(open, 1, "the same session");
}

#[tokio::test]
async fn a_proof_of_before_or_of_somebody_else_is_none() {
    let scene = Scene::open().await;
    let mine = scene.signed_in().await;
    let local = scene.stage.browser("operator@acme.test").await.cookie.unwrap();
    for (case, claims, session) in [
        ("an old proof", json!({ "auth_time": now() - 600 }), &mine),
        ("no word on when", json!({ "auth_time": null }), &mine),
        ("a word that is no number", json!({ "auth_time": "now" }), &mine),
        ("a proof from the future", json!({ "auth_time": now() + 600 }), &mine),
        ("somebody else", json!({ "sub": "bob-2" }), &mine),
        ("a session of a local account", json!({}), &local),
    ] {
        scene.provider.plan().claims = claims;
        let leaving = scene.leave("/sign-in/oidc/again", session).await;
        let back = scene.visit(&leaving.place).await;
        let before = scene.written().await;
        let answer = scene.get(&back, &format!("{}; {session}", leaving.cookie)).await;
        refused(&answer, Code::SsoFailed, case);
        assert_eq!(scene.written().await, before, "{case}");
        scene.get("/", session).await.expect(StatusCode::OK);
    }
    // Begun in one session, it is worth nothing in another, nor once the session has ended.
    scene.provider.plan().claims = json!({});
    let other = scene.signed_in().await;
    let leaving = scene.leave("/sign-in/oidc/again", &mine).await;
    let back = scene.visit(&leaving.place).await;
    let answer = scene.get(&back, &format!("{}; {other}", leaving.cookie)).await;
    refused(&answer, Code::SsoFailed, "another session of the same person");
    let leaving = scene.leave("/sign-in/oidc/again", &mine).await;
    let back = scene.visit(&leaving.place).await;
    scene.execute("update sessions set ended_at = onceover_now()").await;
    let answer = scene.get(&back, &format!("{}; {mine}", leaving.cookie)).await;
    refused(&answer, Code::SsoFailed, "a session that has ended");
}

#[tokio::test]
async fn a_sign_in_may_ask_for_a_recent_proof() {
    let mut scene = Scene::open_with(&[("ONCEOVER_OIDC_MAX_AGE_MINUTES", "60")]).await;
    assert_eq!(scene.leave("/sign-in/oidc", "").await.part("max_age"), "3600");
    for (case, auth_time) in [
        ("too old", json!(now() - 3_600 - 120)),
        ("not said", json!(null)),
        ("from the future", json!(now() + 3_600)),
    ] {
        scene.again(|plan| plan.claims = json!({ "auth_time": auth_time }));
        scene.is_refused(Code::SsoFailed, case).await;
    }
    scene.again(|plan| plan.claims = json!({ "auth_time": now() - 3_500 }));
    scene.signed_in().await;
}

#[tokio::test]
async fn a_sign_in_ends_the_session_that_the_browser_came_with() {
    let scene = Scene::open().await;
    let former = scene.signed_in().await;
    let leaving = scene.leave("/sign-in/oidc", &former).await;
    let back = scene.visit(&leaving.place).await;
    let answer = scene.get(&back, &format!("{}; {former}", leaving.cookie)).await;
    answer.expect(StatusCode::SEE_OTHER);
    assert!(answer.headers.get(header::SET_COOKIE).is_some());
    scene.get("/", &former).await.expect(StatusCode::SEE_OTHER);
}
