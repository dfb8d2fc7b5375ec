//! A session stands in one tenant; a link into another one of the same person offers the switch, and
//! one into a stranger's is the same 404 as an id that nobody has.

use axum::{
    body::Body,
    http::{Method, StatusCode, header},
};

use crate::{
    forms::{confirm, input, leads_to},
    support::{Answer, Stage, form, from_our_page},
};

#[tokio::test]
async fn a_person_of_two_tenants_switches_and_nobody_switches_into_anothers() {
    let stage = Stage::open().await;
    let mut admin = stage.admin().await;
    admin
        .add_staff(&engine::identity::NewStaff {
            email: "operator@acme.test",
            name: "x",
            password_hash: "kept",
            tenant_slug: "globex",
            role: domain::access::Role::Viewer,
        })
        .await
        .unwrap();
    let theirs = stage.unknown("globex", "GX-1").await;
    let colleague = stage.browser("operator@globex.test").await;
    let receipt = leads_to(&confirm(&colleague, &theirs, "ch_1").await, "/receipts/");
    let operator = stage.browser("operator@acme.test").await;
    let page = format!("/operations/{}", theirs.id);
    let (before, audited) = (stage.effects().await, audit_rows(&stage).await);
    for place in [&page, &format!("{page}/confirm"), &receipt] {
        let offer = operator.get(place).await;
        offer.expect(StatusCode::OK);
        let offer = offer.text();
        assert!(offer.contains("data-elsewhere=\"globex\""), "{place}: {offer}");
        assert!(!offer.contains("GX-1"), "nothing of the record is shown before the switch");
        let at = offer.find("data-elsewhere").unwrap();
        assert_eq!(input(&offer[at..], "tenant"), "globex");
        assert_eq!(input(&offer[at..], "return_to"), *place);
    }
    assert_eq!((stage.effects().await, audit_rows(&stage).await), (before, audited));

    let fields = [("tenant", "globex"), ("return_to", page.as_str())];
    let mut forged = from_our_page(Method::POST, "/session/tenant")
        .header(header::COOKIE, operator.cookie.as_deref().unwrap())
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(form(&fields)))
        .unwrap();
    forged.headers_mut().insert("sec-fetch-site", "cross-site".parse().unwrap());
    stage.send(forged).await.expect(StatusCode::FORBIDDEN);
    assert!(operator.get(&page).await.text().contains("data-elsewhere"));

    let switched = operator.post("/session/tenant", &fields).await;
    assert_eq!(leads_to(&switched, &page), page);
    let there = operator.get(&page).await;
    there.expect(StatusCode::OK);
    assert!(there.text().contains("GX-1") && !there.text().contains("data-elsewhere"));
}

#[tokio::test]
async fn without_a_membership_a_record_is_the_same_404_as_an_id_that_nobody_has() {
    let stage = Stage::open().await;
    let theirs = stage.unknown("globex", "GX-1").await;
    let mut admin = stage.admin().await;
    admin.ensure_tenant("third", "third").await.unwrap();
    admin
        .add_staff(&engine::identity::NewStaff {
            email: "approver@acme.test",
            name: "x",
            password_hash: "kept",
            tenant_slug: "third",
            role: domain::access::Role::Viewer,
        })
        .await
        .unwrap();
    // The same at both ends, which is what the page shows of it.
    let middle = if &theirs.id[14..15] == "7" { "8" } else { "7" };
    let invented = format!("{}{middle}{}", &theirs.id[..14], &theirs.id[15..]);
    let mut tried = 0;
    for email in ["viewer@acme.test", "approver@acme.test"] {
        let browser = stage.browser(email).await;
        for tenant in ["globex", "no-such-tenant"] {
            let (effects, denied) = (stage.effects().await, stage.audited("denied").await);
            let refused = browser.post("/session/tenant", &[("tenant", tenant)]).await;
            refused.expect(StatusCode::NOT_FOUND);
            assert_eq!(
                stage.effects().await,
                effects,
                "{tenant}: the session stays where it stands"
            );
            assert_eq!(stage.audited("denied").await, denied + 1, "{tenant}");
            let row = ["acme", email, "switch_tenant", "tenant", tenant, "not_found"];
            assert_eq!(newest_refusal(&stage).await, row);
            tried += 1;
        }
        for page in ["/operations/ID", "/operations/ID/confirm", "/receipts/ID"] {
            let there = without_id(&browser.get(&page.replace("ID", &theirs.id)).await, &theirs.id);
            let nowhere = without_id(&browser.get(&page.replace("ID", &invented)).await, &invented);
            assert_eq!(there, nowhere, "{page} for {email}");
            tried += 1;
        }
    }
    testkit::threat("T19", tried, 0);
}

/// A 404 page byte for byte, but for the id that was asked for and the response's nonce.
fn without_id(answer: &Answer, id: &str) -> String {
    answer.expect(StatusCode::NOT_FOUND);
    let policy = answer.header("content-security-policy");
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    answer.undated().replace(nonce, "NONCE").replace(id, "ID")
}

/// The newest refusal in any log: of which tenant, who, what, on what, and why.
async fn newest_refusal(stage: &Stage) -> [String; 6] {
    let row: (String, String, String, String, String, String) = sqlx::query_as(
        "select t.slug, a.actor, a.action, a.target_type, a.target_id, a.code
         from audit a join tenants t on t.id = a.tenant_id
         where a.result = 'denied' order by a.at desc, a.seq desc limit 1",
    )
    .fetch_one(stage.database.owner_pool())
    .await
    .unwrap();
    row.into()
}

async fn audit_rows(stage: &Stage) -> i64 {
    sqlx::query_scalar("select count(*) from audit")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap()
}
