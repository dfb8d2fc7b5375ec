//! Every action works as a plain form, without JavaScript.

use axum::http::StatusCode;
use domain::problem::Code;

use crate::support::{Answer, Browser, Operation, Stage};

async fn confirm(browser: &Browser<'_>, target: &Operation, reference: &str) -> Answer {
    let version = target.version.to_string();
    let fields = [
        ("id", target.id.as_str()),
        ("version", &version),
        ("outcome", "happened"),
        ("external_reference", reference),
        ("reason", "the provider's page shows it"),
        ("evidence", "https://provider.example/ch_1"),
    ];
    browser.post("/act/operations/confirm", &fields).await
}

#[track_caller]
fn leads_to(answer: &Answer, start: &str) -> String {
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    let place = answer.header("location").to_owned();
    assert!(place.starts_with(start), "{place}");
    place
}

async fn explains(browser: &Browser<'_>, answer: &Answer, target: &Operation, code: Code) {
    let place = leads_to(answer, &format!("/operations/{}", target.id));
    let page = browser.get(&place).await;
    let marked = format!("data-code=\"{code}\"");
    assert!(page.text().contains(&marked), "{place}: {} {}", page.status, page.text());
}

#[tokio::test]
async fn a_payment_is_found_read_and_confirmed_once() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-2026-0042").await;
    let operator = stage.browser("operator@acme.test").await;

    let list = operator.get("/operations?q=INV-2026-0042").await;
    list.expect(StatusCode::OK);
    assert!(list.text().contains(&format!("/operations/{}", target.id)));
    let page = operator.get(&format!("/operations/{}", target.id)).await;
    page.expect(StatusCode::OK);
    assert!(page.text().contains("129.00"));
    let form = operator.get(&format!("/operations/{}/confirm", target.id)).await;
    form.expect(StatusCode::OK);
    for field in ["version", "outcome", "external_reference", "reason", "evidence"] {
        assert!(form.text().contains(&format!("name=\"{field}\"")), "{field}");
    }

    let first = leads_to(&confirm(&operator, &target, "ch_1").await, "/receipts/");
    let receipt = operator.get(&first).await;
    receipt.expect(StatusCode::OK);
    assert!(receipt.text().contains("ch_1"));
    let again = leads_to(&confirm(&operator, &target, "ch_1").await, "/receipts/");
    assert_eq!(again.split('?').next(), first.split('?').next());

    let approver = stage.browser("approver@acme.test").await;
    let same = leads_to(&confirm(&approver, &target, "ch_1").await, "/receipts/");
    assert_eq!(same.split('?').next(), first.split('?').next());
    explains(
        &approver,
        &confirm(&approver, &target, "ch_2").await,
        &target,
        Code::DecidedOtherwise,
    )
    .await;
}

#[tokio::test]
async fn a_refused_form_comes_back_with_the_code_and_what_was_typed() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let viewer = stage.browser("viewer@acme.test").await;
    explains(&viewer, &confirm(&viewer, &target, "ch_1").await, &target, Code::PermissionMissing)
        .await;
    let operator = stage.browser("operator@acme.test").await;
    let stale = Operation { id: target.id.clone(), version: target.version - 1 };
    explains(&operator, &confirm(&operator, &stale, "ch_1").await, &target, Code::Stale).await;
    let missing = confirm(&operator, &target, "").await;
    explains(&operator, &missing, &target, Code::Unprocessable).await;
    let page = operator.get(missing.header("location")).await;
    assert!(
        page.text().contains("the provider&#x27;s page shows it")
            || page.text().contains("the provider's page shows it")
    );
}

#[tokio::test]
async fn notes_and_taking_come_back_to_the_page() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let page = format!("/operations/{}", target.id);
    for _ in 0..2 {
        let fields =
            [("id", target.id.as_str()), ("form_key", "fk-1"), ("text", "rang the provider")];
        leads_to(&operator.post("/act/operations/note", &fields).await, &page);
    }
    let notes: i64 = sqlx::query_scalar("select count(*) from notes")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    assert_eq!(notes, 1);
    let fields = [("id", target.id.as_str()), ("taken", "true")];
    leads_to(&operator.post("/act/operations/take", &fields).await, &page);
    assert!(operator.get(&page).await.text().contains("rang the provider"));
}

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
    let operator = stage.browser("operator@acme.test").await;
    let page = format!("/operations/{}", theirs.id);
    operator.get(&page).await.expect(StatusCode::NOT_FOUND);
    let switched =
        operator.post("/session/tenant", &[("tenant", "globex"), ("return_to", &page)]).await;
    assert_eq!(leads_to(&switched, &page), page);
    operator.get(&page).await.expect(StatusCode::OK);

    let viewer = stage.browser("viewer@acme.test").await;
    viewer.post("/session/tenant", &[("tenant", "globex")]).await.expect(StatusCode::NOT_FOUND);
    viewer.get(&page).await.expect(StatusCode::NOT_FOUND);
}
