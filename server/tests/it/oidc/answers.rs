//! The good way, and every wrong answer of a provider.

use std::time::Duration;

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use domain::problem::Code;
use serde_json::{Value, json};

use super::{
    provider::{CLIENT_ID, Plan, Signing, now},
    scene::{Log, Scene, cookie_of, refused},
};
use crate::{clients::send, support::HOST};

#[tokio::test]
async fn whom_the_provider_names_has_a_session_with_the_role_it_grants() {
    let mut scene = Scene::open().await;
    let page = scene.get("/sign-in?next=%2Foperations%3Fq%3Da%252Fb", "").await.text();
    let link = page.find("href=\"/sign-in/oidc?next=%2Foperations%3Fq%3Da%252Fb\"").unwrap();
    assert!(page.contains("Sign in with Corp"));
    assert!(link < page.find("name=\"password\"").unwrap(), "the provider comes first");

    for (signing, key_id) in [
        (Signing::Rs256, Some("one")),
        (Signing::Ps256, Some("one")),
        (Signing::Es256, Some("one")),
        (Signing::Rs256, None),
    ] {
        scene.again(|plan| {
            plan.signing = signing;
            plan.key_id = key_id.map(str::to_owned);
        });
        let answer = scene.sign_in("/operations?q=a%2Fb").await;
        answer.expect(StatusCode::SEE_OTHER);
        assert_eq!(answer.header("location"), "/operations?q=a%2Fb");
        let cookies: Vec<_> = answer.headers.get_all(header::SET_COOKIE).iter().collect();
        let session = cookies[0].to_str().unwrap();
        assert!(session.starts_with("__Host-sid="), "{session}");
        assert!(session.ends_with("; Secure; HttpOnly; SameSite=Lax; Path=/"), "{session}");
        let spent = "__Host-sso=; Max-Age=0; Secure; HttpOnly; SameSite=Lax; Path=/";
        assert_eq!(cookies[1], spent);
        let me = scene.get("/me", &cookie_of(&answer, "__Host-sid").unwrap()).await;
        me.expect(StatusCode::OK);
        assert!(me.text().contains("ann@corp.com"), "{signing:?}");
        assert_eq!(scene.roles("ann@corp.com").await, [("acme".to_owned(), "operator".to_owned())]);
    }
    let (added, by): (i64, String) = sqlx::query_as(
        "select count(*), min(actor_kind || ' ' || actor) from audit
         where action = 'staff.add' and target_id = 'ann@corp.com'",
    )
    .fetch_one(scene.stage.database.owner_pool())
    .await
    .unwrap();
    assert_eq!(added, 1, "four sign-ins, one account");
    assert_eq!(by, format!("identity provider {}", scene.provider.issuer()));
    let signed_in: (i64, String) = sqlx::query_as(
        "select count(*), min(after ->> 'by') from audit
         where action = 'sign_in' and result = 'done' and actor = 'ann@corp.com'",
    )
    .fetch_one(scene.stage.database.owner_pool())
    .await
    .unwrap();
    assert_eq!(signed_in, (4, scene.provider.issuer().to_string()), "each has its row");
}

#[tokio::test]
async fn the_question_holds_what_ties_the_answer_to_it() {
    let scene = Scene::open().await;
    let (one, other) =
        (scene.leave("/sign-in/oidc", "").await, scene.leave("/sign-in/oidc", "").await);
    for part in ["state", "nonce", "code_challenge"] {
        assert_eq!(one.part(part).len(), 43, "256 bits");
        assert_ne!(one.part(part), other.part(part), "{part}");
    }
    assert_eq!(one.part("code_challenge_method"), "S256");
    assert_eq!(one.part("response_type"), "code");
    assert_eq!(one.part("redirect_uri"), format!("http://{HOST}/sign-in/oidc/callback"));
    assert_eq!(one.part("scope"), "openid email profile");
    let stored: String =
        sqlx::query_scalar("select string_agg(p::text, '') from pending_sign_ins p")
            .fetch_one(scene.stage.database.owner_pool())
            .await
            .unwrap();
    let verifier = one.cookie.trim_start_matches("__Host-sso=");
    assert!(!stored.contains(&one.part("state")) && !stored.contains(verifier));
}

type Change = fn(&mut Plan);

/// What the token says wrongly, and what comes of it.
const WRONG_TOKENS: [(&str, Change, Code); 33] = {
    use Code::{SsoFailed as F, SsoRefused as R, SsoUnavailable as U};
    [
        ("nonce of another question", |plan| plan.claims = json!({ "nonce": "x".repeat(43) }), F),
        ("no nonce", |plan| plan.claims = json!({ "nonce": null }), F),
        ("another client", |plan| plan.claims = json!({ "aud": "another" }), F),
        ("no client", |plan| plan.claims = json!({ "aud": null }), F),
        (
            "two clients, none named",
            |plan| plan.claims = json!({ "aud": [CLIENT_ID, "another"] }),
            F,
        ),
        (
            "two clients, the other asked",
            |plan| plan.claims = json!({ "aud": [CLIENT_ID, "another"], "azp": "another" }),
            F,
        ),
        ("the other asked", |plan| plan.claims = json!({ "azp": "another" }), F),
        ("another issuer", |plan| plan.claims = json!({ "iss": "https://evil.example" }), F),
        (
            "an issuer that only begins so",
            |plan| plan.claims = json!({ "iss": "http://127.0.0.1" }),
            F,
        ),
        ("no issuer", |plan| plan.claims = json!({ "iss": null }), F),
        ("expired", |plan| plan.claims = json!({ "exp": now() - 120 }), F),
        ("no end", |plan| plan.claims = json!({ "exp": null }), F),
        ("an end that is no number", |plan| plan.claims = json!({ "exp": "tomorrow" }), F),
        ("no beginning", |plan| plan.claims = json!({ "iat": null }), F),
        ("older than the question", |plan| plan.claims = json!({ "iat": now() - 3_600 }), F),
        ("from the future", |plan| plan.claims = json!({ "iat": now() + 3_600 }), F),
        ("not yet", |plan| plan.claims = json!({ "nbf": now() + 3_600 }), F),
        ("nobody", |plan| plan.claims = json!({ "sub": null }), F),
        ("an empty name", |plan| plan.claims = json!({ "sub": "" }), F),
        ("a name without end", |plan| plan.claims = json!({ "sub": "s".repeat(256) }), F),
        ("alg none", |plan| plan.signing = Signing::None, F),
        ("HS256 by the public key", |plan| plan.signing = Signing::Hs256, F),
        ("a stranger's key under the known id", |plan| plan.signing = Signing::Stranger, F),
        ("a signature over other claims", |plan| plan.signing = Signing::OtherClaims, F),
        ("an unknown key", |plan| plan.key_id = Some("nobody's".into()), F),
        ("a critical extension", |plan| plan.header = json!({ "crit": ["exp"] }), F),
        ("RS512", |plan| plan.header = json!({ "kid": null, "alg": "RS512" }), F),
        ("no role", |plan| plan.claims = json!({ "groups": ["guests"] }), R),
        (
            "no e-mail anywhere",
            |plan| {
                plan.claims = json!({ "email": null });
                plan.userinfo = json!({ "email": null });
            },
            R,
        ),
        (
            "claims of somebody else beside it",
            |plan| {
                plan.claims = json!({ "groups": null });
                plan.userinfo = json!({ "sub": "bob-2" });
            },
            F,
        ),
        ("no token", |plan| plan.token_answer = Some((StatusCode::OK, "{}".into())), F),
        (
            "a token that is none",
            |plan| {
                plan.token_answer = Some((StatusCode::OK, r#"{"id_token":"a.b"}"#.into()));
            },
            F,
        ),
        (
            "an answer without end",
            |plan| {
                plan.token_answer = Some((StatusCode::OK, "x".repeat(300_000)));
            },
            U,
        ),
    ]
};

#[tokio::test]
async fn a_wrong_token_opens_no_session_and_makes_no_account() {
    let mut scene = Scene::open().await;
    for (case, change, code) in WRONG_TOKENS {
        scene.again(change);
        scene.is_refused(code, case).await;
    }
    scene.again(|_| {});
    scene.signed_in().await;
    testkit::threat("T16", WRONG_TOKENS.len(), 0);
}

#[tokio::test]
async fn a_wrong_answer_in_the_address_opens_no_session() {
    let mut scene = Scene::open().await;
    let cases: [(&str, Vec<(&'static str, String)>); 7] = [
        ("another state", vec![("state", "x".repeat(43))]),
        ("no state", vec![("state", String::new())]),
        ("no code", vec![("code", String::new())]),
        ("a code of nobody", vec![("code", "0123456789abcdef".into())]),
        ("another issuer", vec![("iss", "https://evil.example".into())]),
        ("no issuer, which was promised", vec![("iss", String::new())]),
        ("an error", vec![("error", "access_denied".into()), ("code", String::new())]),
    ];
    for (case, answer) in cases {
        scene.again(|plan| plan.answer = answer);
        let asked = scene.provider.asked().token;
        scene.is_refused(Code::SsoFailed, case).await;
        if case != "a code of nobody" {
            assert_eq!(scene.provider.asked().token, asked, "{case}: no code was spent");
        }
    }
    // Doubled parts are read as none.
    scene.again(|_| {});
    let leaving = scene.leave("/sign-in/oidc", "").await;
    let back = scene.visit(&leaving.place).await;
    let doubled = scene.get(&format!("{back}&state=y"), &leaving.cookie).await;
    refused(&doubled, Code::SsoFailed, "two states");
    testkit::threat("T16", 8, 0);
}

#[tokio::test]
async fn an_error_of_the_provider_is_logged_as_a_plain_word_or_not_at_all() {
    let mut scene = Scene::open().await;
    for (word, plain) in [("access_denied", true), ("x\n{\"level\":\"ERROR\"}\u{1b}[2J", false)] {
        scene.again(|plan| plan.answer = vec![("error", word.into())]);
        let log = Log::listen();
        refused(&scene.sign_in("/").await, Code::SsoFailed, word);
        assert_eq!(log.text().contains(word), plain, "{log:?}");
        assert_eq!(log.refusals(), 1);
        for private in ["ann", "corp.com", "eyJ"] {
            assert!(!log.text().contains(private), "{private}: {log:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_counts_once_in_its_browser_within_ten_minutes() {
    let scene = Scene::open().await;
    let (mine, theirs) =
        (scene.leave("/sign-in/oidc", "").await, scene.leave("/sign-in/oidc", "").await);
    let back = scene.visit(&mine.place).await;
    let before = scene.written().await;
    // Another browser was led to my answer (T09: it would be signed in as me), or has no question at all.
    for cookie in [theirs.cookie.as_str(), "", "__Host-sso=planted"] {
        refused(&scene.get(&back, cookie).await, Code::SsoFailed, cookie);
    }
    let both = format!("{}; {}", mine.cookie, theirs.cookie);
    refused(&scene.get(&back, &both).await, Code::SsoFailed, "two cookies");
    assert_eq!(scene.provider.asked().token, 0, "the provider was not asked");
    assert_eq!(scene.written().await, before);

    scene.provider.plan().codes_again = true;
    scene.get(&back, &mine.cookie).await.expect(StatusCode::SEE_OTHER);
    let before = scene.written().await;
    refused(&scene.get(&back, &mine.cookie).await, Code::SsoFailed, "the same answer again");
    assert_eq!(
        scene.provider.asked().token,
        1,
        "not even a provider that forgets its codes is asked"
    );
    assert_eq!(scene.written().await, before);

    let late = scene.visit(&theirs.place).await;
    scene.stage.database.advance_clock(Duration::from_secs(601)).await;
    refused(&scene.get(&late, &theirs.cookie).await, Code::SsoFailed, "too late");
    scene.leave("/sign-in/oidc", "").await;
    let waiting: i64 = sqlx::query_scalar("select count(*) from pending_sign_ins")
        .fetch_one(scene.stage.database.owner_pool())
        .await
        .unwrap();
    assert_eq!(waiting, 1, "what never came back was swept");
    testkit::threat("T16", 1, 0);
}

#[tokio::test]
async fn a_stolen_code_is_worth_nothing_without_its_verifier() {
    let scene = Scene::open().await;
    let (victim, thief) =
        (scene.leave("/sign-in/oidc", "").await, scene.leave("/sign-in/oidc", "").await);
    let stolen = scene.visit(&victim.place).await;
    let code = stolen.split(['?', '&']).find(|part| part.starts_with("code=")).unwrap();
    let own = scene.visit(&thief.place).await;
    let own_code = own.split(['?', '&']).find(|part| part.starts_with("code=")).unwrap();
    let before = scene.written().await;
    let injected = own.replace(own_code, code);
    refused(&scene.get(&injected, &thief.cookie).await, Code::SsoFailed, "another's code");
    assert_eq!(scene.provider.asked().token, 1, "the provider saw that the verifier is another");
    assert_eq!(scene.written().await, before);
    testkit::threat("T16", 1, 0);
}

#[tokio::test]
async fn another_site_leads_nobody_further_than_the_sign_in_page() {
    let scene = Scene::open().await;
    for (site, sent_on) in
        [("cross-site", false), ("same-site", false), ("same-origin", true), ("none", true)]
    {
        let request = Request::builder()
            .method(Method::GET)
            .uri("/sign-in/oidc?next=%2Foutbox")
            .header(header::HOST, HOST)
            .header("sec-fetch-site", site)
            .body(Body::empty())
            .unwrap();
        let answer = send(&scene.router, request).await;
        answer.expect(StatusCode::SEE_OTHER);
        let place = answer.header("location");
        assert_eq!(place.starts_with(scene.provider.issuer()), sent_on, "{site}: {place}");
        assert_eq!(cookie_of(&answer, "__Host-sso").is_some(), sent_on, "{site}");
        assert!(sent_on || place == "/sign-in?next=%2Foutbox", "{place}");
    }
}

#[tokio::test]
async fn nobody_is_led_away_from_this_console_afterwards() {
    let scene = Scene::open().await;
    for next in ["//evil", "https://evil/", "/\\evil", "/\r\nX: 1"] {
        let answer = scene.sign_in(next).await;
        answer.expect(StatusCode::SEE_OTHER);
        assert_eq!(answer.header("location"), "/", "{next:?}");
    }
}

#[tokio::test]
async fn a_number_of_seconds_may_have_a_fraction() {
    let mut scene = Scene::open().await;
    let halves = |seconds: i64| Value::from(seconds as f64 + 0.5);
    let claims =
        json!({ "exp": halves(now() + 60), "iat": halves(now()), "nbf": halves(now() - 9) });
    scene.again(|plan| plan.claims = claims);
    scene.signed_in().await;
}
