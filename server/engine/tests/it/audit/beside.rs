//! No audit, no effect (T29), beside decisions about records: what leaves the console as a file, what people
//! do to their own account and views, what the identity provider grants, and the command line.

use std::sync::Mutex;

use domain::{
    access::Role,
    ids::{IncidentId, SessionId},
    listing::List,
};
use engine::{
    RequestOrigin, StaffCaller,
    actions::Attach,
    identity::{Admin, NewStaff, Origin, Proof, ProvenPerson, Subject},
    store::inbox_consumer::ConsumerPolicy,
};
use totp_rs::{Builder, Secret};
use uuid::Uuid;

use super::closed::{comes_to_nothing, comes_to_nothing_by_the_owner};
use crate::fixture::{Fixture, add_tenant, charge};

const NOBODY: Uuid = Uuid::from_u128(0x0193_7000_0000_7000_8000_0000_0000_dead);

/// A session of a person who has just proved who they are.
async fn at_the_desk(fixture: &Fixture, email: &str) -> StaffCaller {
    let attempt = fixture.engine.begin_sign_in(email).await.unwrap();
    let here = RequestOrigin::here("r-3");
    fixture.engine.finish_sign_in(attempt, true, here).await.unwrap().caller
}

#[tokio::test]
async fn no_file_leaves_and_none_is_kept_unaudited() {
    let fixture = Fixture::new().await;
    let engine = &fixture.engine;
    let operator = fixture.person("operator", Role::Operator).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let (id, _) = fixture.needs_person("k").await;
    let mut tried = comes_to_nothing(&fixture, "an export", async || {
        engine.begin_export(&operator, List::Operations, Vec::new(), "csv").await.map(drop)
    })
    .await;
    tried += comes_to_nothing(&fixture, "an export without the right", async || {
        engine.begin_export(&operator, List::Audit, Vec::new(), "csv").await.map(drop)
    })
    .await;
    tried += comes_to_nothing(&fixture, "a report's file", async || {
        engine.report_taken(&operator, IncidentId::new(NOBODY), "md", ("hash", "hash")).await
    })
    .await;
    let file = || Attach { name: "page.pdf".into(), bytes: b"%PDF".to_vec(), text: None };
    tried += comes_to_nothing(&fixture, "a file as evidence", async || {
        engine.attach_evidence(&operator, id, file()).await
    })
    .await;
    tried += comes_to_nothing(&fixture, "a file without the right", async || {
        engine.attach_evidence(&viewer, id, file()).await
    })
    .await;
    testkit::threat("T29", tried, 0);
}

#[tokio::test]
async fn no_view_is_shared_or_taken_back_unaudited() {
    let fixture = Fixture::new().await;
    let engine = &fixture.engine;
    let operator = fixture.person("operator", Role::Operator).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let share = async |by: &StaffCaller| {
        engine.save_view(by, List::Operations, "Ours", Vec::new(), "", true).await
    };
    let mut tried =
        comes_to_nothing(&fixture, "a shared view", async || share(&operator).await).await;
    tried += comes_to_nothing(&fixture, "sharing without the right", async || share(&viewer).await)
        .await;
    share(&operator).await.unwrap();
    let id: Uuid =
        sqlx::query_scalar("select id from saved_views").fetch_one(fixture.pool()).await.unwrap();
    for (what, name, shared) in
        [("another name", "Theirs", true), ("a view taken back", "Ours", false)]
    {
        tried += comes_to_nothing(&fixture, what, async || {
            engine.change_view(&operator, id, name, shared).await
        })
        .await;
    }
    tried += comes_to_nothing(&fixture, "a view thrown away", async || {
        engine.delete_view(&operator, id).await
    })
    .await;
    tried += comes_to_nothing(&fixture, "another's view", async || {
        engine.delete_view(&viewer, id).await
    })
    .await;
    testkit::threat("T29", tried, 0);
}

#[tokio::test]
async fn nobody_changes_their_account_unaudited() {
    let fixture = Fixture::new().await;
    let engine = &fixture.engine;
    fixture.person("ann", Role::Operator).await;
    let ann = at_the_desk(&fixture, "ann@acme.test").await;
    let other = at_the_desk(&fixture, "ann@acme.test").await.session().unwrap();
    let mut tried = 0;
    for (what, fits) in [("right", true), ("wrong", false)] {
        tried += comes_to_nothing(&fixture, &format!("step-up, {what}"), async || {
            engine.finish_step_up(&ann, Proof::Password(fits)).await.map(drop)
        })
        .await;
        tried += comes_to_nothing(&fixture, &format!("a new password, {what}"), async || {
            engine.change_password(&ann, Proof::Password(fits), "another hash").await.map(drop)
        })
        .await;
    }
    for session in [other, SessionId::new(NOBODY)] {
        tried += comes_to_nothing(&fixture, "a session ended", async || {
            engine.end_session(&ann, session).await
        })
        .await;
    }
    tried += comes_to_nothing(&fixture, "all other sessions", async || {
        engine.end_other_sessions(&ann).await
    })
    .await;
    tried += comes_to_nothing(&fixture, "a tenant of others", async || {
        engine.switch_tenant(&ann, "no session's token", "globex").await
    })
    .await;

    tried += comes_to_nothing(&fixture, "a second factor begun", async || {
        engine.begin_second_factor(&ann).await.map(drop)
    })
    .await;
    let begun = engine.begin_second_factor(&ann).await.unwrap();
    let secret = Secret::try_from_base32(&begun.secret).unwrap();
    let totp = Builder::new().with_secret(secret).build().unwrap();
    let now = fixture.count("select extract(epoch from onceover_now())::bigint").await;
    let code = totp.generate(now.try_into().unwrap()).to_string();
    tried += comes_to_nothing(&fixture, "a second factor", async || {
        engine.confirm_second_factor(&ann, &code).await.map(drop)
    })
    .await;
    tried += comes_to_nothing(&fixture, "a wrong code", async || {
        engine.confirm_second_factor(&ann, "no code").await.map(drop)
    })
    .await;
    engine.confirm_second_factor(&ann, &code).await.unwrap();
    tried += comes_to_nothing(&fixture, "no second factor", async || {
        engine.turn_off_second_factor(&ann).await
    })
    .await;
    testkit::threat("T29", tried, 0);
}

#[tokio::test]
async fn nobody_comes_in_goes_out_or_changes_tenants_unaudited() {
    const ANN: &str = "ann@acme.test";
    let fixture = Fixture::new().await;
    let engine = &fixture.engine;
    fixture.person("ann", Role::Operator).await;
    add_tenant(&fixture.db, engine, "globex").await;
    let there = NewStaff {
        email: ANN,
        name: "Ann",
        password_hash: "kept",
        tenant_slug: "globex",
        role: Role::Viewer,
    };
    Admin::connect(&fixture.db.url()).await.unwrap().add_staff(&there).await.unwrap();
    let here = || RequestOrigin::here("r-5");
    // Begun before, for that a try is counted stays.
    let mut begun = Vec::new();
    for _ in 0..3 {
        begun.push(engine.begin_sign_in(ANN).await.unwrap());
    }
    let begun = Mutex::new(begun);
    let mut tried = comes_to_nothing(&fixture, "a sign-in", async || {
        let attempt = begun.lock().unwrap().pop().unwrap();
        engine.finish_sign_in(attempt, true, here()).await.map(drop)
    })
    .await;
    let attempt = engine.begin_sign_in(ANN).await.unwrap();
    let session = engine.finish_sign_in(attempt, true, here()).await.unwrap();
    let (token, ann) = (session.token, session.caller);
    tried += comes_to_nothing(&fixture, "another tenant", async || {
        engine.switch_tenant(&ann, &token, "globex").await
    })
    .await;
    tried +=
        comes_to_nothing(&fixture, "a sign-out", async || engine.sign_out(&token, here()).await)
            .await;

    engine.switch_tenant(&ann, &token, "globex").await.unwrap();
    // What has ended ends no second time.
    for _ in 0..2 {
        engine.sign_out(&token, here()).await.unwrap();
    }
    let told: Vec<(String, String, String, String)> = sqlx::query_as(
        "select a.action, t.slug, a.target_id, a.request_id
         from audit a join tenants t on t.id = a.tenant_id
         where a.actor = $1 and a.actor_kind = 'staff' and a.result = 'done' order by 1, 2",
    )
    .bind(ANN)
    .fetch_all(fixture.pool())
    .await
    .unwrap();
    let told: Vec<_> = told.iter().map(|(a, b, c, d)| [&a[..], &b[..], &c[..], &d[..]]).collect();
    let expected = [
        ["sign_in", "acme", ANN, "r-5"],
        ["sign_out", "globex", ANN, "r-5"],
        ["switch_tenant", "acme", "globex", "r-5"],
        ["switch_tenant", "globex", "globex", "r-5"],
    ];
    assert_eq!(told, expected);
    testkit::threat("T29", tried, 0);
}

fn named(subject: &str, roles: &[Role]) -> ProvenPerson {
    ProvenPerson {
        who: Subject { issuer: "https://id.example".into(), subject: subject.into() },
        email: format!("{subject}@corp.test"),
        name: subject.into(),
        roles: roles.iter().map(|role| ("acme".to_owned(), *role)).collect(),
        proven_at: None,
        origin: Origin::default(),
    }
}

#[tokio::test]
async fn the_identity_provider_grants_changes_and_takes_nothing_unaudited() {
    let fixture = Fixture::new().await;
    let signs_in = async |roles: &[Role]| {
        let here = RequestOrigin::here("r-4");
        fixture.engine.sign_in_proven(named("olga", roles), here).await.map(drop)
    };
    let mut tried =
        comes_to_nothing(&fixture, "an account", async || signs_in(&[Role::Operator]).await).await;
    signs_in(&[Role::Operator]).await.unwrap();
    for (what, roles) in [
        ("a sign-in", vec![Role::Operator]),
        ("another role", vec![Role::Viewer]),
        ("no role any more", Vec::new()),
    ] {
        tried += comes_to_nothing(&fixture, what, async || signs_in(&roles).await).await;
    }
    testkit::threat("T29", tried, 0);
}

#[tokio::test]
async fn the_command_line_does_nothing_unaudited() {
    let fixture = Fixture::new().await;
    fixture.person("ann", Role::Operator).await;
    let (url, ann) = (fixture.db.url(), "ann@acme.test");
    let tenant = fixture.service.tenant_id();
    let owner = async || Admin::connect(&url).await;
    let new = NewStaff {
        email: "new@acme.test",
        name: "Nell",
        password_hash: "none",
        tenant_slug: "acme",
        role: Role::Viewer,
    };
    let mut tried = 0;
    tried += comes_to_nothing_by_the_owner(&fixture, "staff add", async || {
        owner().await?.add_staff(&new).await
    })
    .await;
    tried += comes_to_nothing_by_the_owner(&fixture, "staff role", async || {
        owner().await?.set_role(ann, "acme", Role::TenantAdmin).await
    })
    .await;
    tried += comes_to_nothing_by_the_owner(&fixture, "staff reset", async || {
        owner().await?.reset_password(ann, "another hash").await
    })
    .await;
    tried += comes_to_nothing_by_the_owner(&fixture, "staff link", async || {
        owner().await?.link_identity(ann, "https://id.example", "ann").await
    })
    .await;
    tried += comes_to_nothing_by_the_owner(&fixture, "staff disable", async || {
        owner().await?.disable_staff(ann).await
    })
    .await;
    tried += comes_to_nothing_by_the_owner(&fixture, "a service's token", async || {
        owner().await?.add_service_token("acme", "another", &[], None).await
    })
    .await;
    tried += comes_to_nothing_by_the_owner(&fixture, "a person's token", async || {
        owner().await?.add_staff_token(ann, "acme", "another", None).await
    })
    .await;
    tried += comes_to_nothing_by_the_owner(&fixture, "token revoke", async || {
        owner().await?.revoke_token("acme", "billing").await
    })
    .await;
    tried += comes_to_nothing_by_the_owner(&fixture, "a kind", async || {
        owner().await?.put_kind(tenant, &charge()).await
    })
    .await;
    tried += comes_to_nothing_by_the_owner(&fixture, "a consumer", async || {
        owner().await?.put_inbox_consumer(tenant, &ConsumerPolicy::of_default("billing")).await
    })
    .await;
    testkit::threat("T29", tried, 0);
}
