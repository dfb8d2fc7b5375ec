//! What the provider says of itself, its keys, and what happens while it says nothing usable.

use axum::http::StatusCode;
use domain::problem::Code;
use serde_json::json;

use super::{
    provider::{Plan, Signing},
    scene::{Log, Scene, cookie_of, refused},
};
use crate::{
    command_line::{onceover, refuses},
    support::{Stage, WEBHOOK_SECRET},
};

type Change = fn(&mut Plan);

const WRONG: [(&str, Change); 10] = [
    ("no JSON", |plan| plan.description = Some(b"<html>".to_vec())),
    ("without end", |plan| plan.description = Some(vec![b' '; 300_000])),
    ("another issuer", |plan| plan.members = json!({ "issuer": "https://evil.example" })),
    ("no issuer", |plan| plan.members = json!({ "issuer": null })),
    ("no token endpoint", |plan| plan.members = json!({ "token_endpoint": null })),
    ("plain http elsewhere", |plan| {
        plan.members = json!({ "token_endpoint": "http://id.example/token" });
    }),
    ("no address", |plan| {
        plan.members = json!({ "authorization_endpoint": "javascript:alert(1)" })
    }),
    ("no S256", |plan| plan.members = json!({ "code_challenge_methods_supported": ["plain"] })),
    ("no secret taken", |plan| {
        plan.members = json!({ "token_endpoint_auth_methods_supported": ["private_key_jwt"] });
    }),
    ("no key", |plan| plan.published = vec![]),
];

#[tokio::test]
async fn a_description_that_cannot_be_used_leads_nowhere() {
    let mut scene = Scene::open().await;
    for (case, change) in WRONG {
        scene.again(change);
        let before = scene.written().await;
        let log = Log::listen();
        for _ in 0..2 {
            let answer = scene.get("/sign-in/oidc?next=%2Foutbox", "").await;
            refused(&answer, Code::SsoUnavailable, case);
            assert!(
                answer.text().contains("value=\"/outbox\""),
                "{case}: the form keeps the place"
            );
            assert_eq!(cookie_of(&answer, "__Host-sso"), None, "{case}");
        }
        assert_eq!(log.refusals(), 2, "{case}: {log:?}");
        assert_eq!(scene.written().await, before, "{case}");
    }
    assert_eq!(scene.provider.asked().description, WRONG.len(), "left alone for a few seconds");
    scene.again(|plan| {
        plan.members = json!({ "token_endpoint_auth_methods_supported": ["client_secret_post"] });
    });
    scene.signed_in().await;
    testkit::threat("T16", WRONG.len(), 0);
}

#[tokio::test]
async fn a_new_key_is_found_and_unknown_ones_are_not_asked_for_again_and_again() {
    let scene = Scene::open().await;
    for _ in 0..3 {
        scene.signed_in().await;
    }
    assert_eq!((scene.provider.asked().description, scene.provider.asked().keys), (1, 1), "kept");
    {
        let mut plan = scene.provider.plan();
        plan.published = vec!["two".into()];
        plan.key_id = Some("two".into());
    }
    scene.signed_in().await;
    assert_eq!(scene.provider.asked().keys, 2, "read anew once");
    scene.provider.plan().key_id = Some("three".into());
    for _ in 0..3 {
        scene.is_refused(Code::SsoFailed, "an unknown key").await;
    }
    assert_eq!(scene.provider.asked().keys, 2, "and not again within the minute");
    // A key that the provider took back is worth nothing once the set was read anew.
    scene.provider.plan().key_id = Some("one".into());
    scene.is_refused(Code::SsoFailed, "the former key").await;
}

#[tokio::test]
async fn a_token_without_a_key_id_needs_a_set_of_one() {
    let mut scene = Scene::open().await;
    for (published, fits) in [(vec!["one"], true), (vec!["one", "two"], false)] {
        scene.again(|plan| {
            plan.key_id = None;
            plan.published = published.into_iter().map(str::to_owned).collect();
        });
        if fits {
            scene.signed_in().await;
        } else {
            scene.is_refused(Code::SsoFailed, "which of the two").await;
        }
    }
    // A key of one kind never checks a signature of another.
    scene.again(|_| {});
    scene.leave("/sign-in/oidc", "").await;
    scene.provider.plan().signing = Signing::Es256;
    scene.provider.plan().published = vec![];
    scene.is_refused(Code::SsoUnavailable, "no key any more").await;
}

#[tokio::test]
async fn without_a_provider_there_is_no_way_to_one() {
    let stage = Stage::open().await;
    let stranger = stage.stranger();
    let page = stranger.get("/sign-in").await;
    assert!(!page.text().contains("/sign-in/oidc"));
    stranger.get("/sign-in/oidc").await.expect(StatusCode::NOT_FOUND);
    stranger.get("/sign-in/oidc/callback?state=x&code=y").await.expect(StatusCode::NOT_FOUND);
    stranger.get("/sign-in/oidc/again").await.expect(StatusCode::SEE_OTHER);
    let operator = stage.browser("operator@acme.test").await;
    operator.get("/sign-in/oidc/again").await.expect(StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_doctor_looks_at_the_provider() {
    let scene = Scene::open().await;
    let url = scene.stage.database.url();
    let doctor = async |issuer: &str| {
        let (url, issuer) = (url.clone(), issuer.to_owned());
        let run = move || {
            let environment = [
                ("DATABASE_URL", url.as_str()),
                ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET),
                ("ONCEOVER_OIDC_ISSUER", &issuer),
                ("ONCEOVER_OIDC_CLIENT_ID", "onceover"),
                ("ONCEOVER_OIDC_CLIENT_SECRET", WEBHOOK_SECRET),
                ("ONCEOVER_OIDC_ROLES", "payments=acme:operator"),
            ];
            onceover(&["doctor"], &environment, "")
        };
        tokio::task::spawn_blocking(run).await.unwrap()
    };
    assert!(doctor(scene.provider.issuer()).await.status.success());
    refuses(
        &doctor("http://127.0.0.1:1").await,
        "the identity provider http://127.0.0.1:1: it cannot be reached",
    );
    scene.provider.plan().published = vec![];
    refuses(&doctor(scene.provider.issuer()).await, "it has no key that can be used");
}
