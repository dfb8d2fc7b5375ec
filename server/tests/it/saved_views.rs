//! Views of lists: private ones are their owner's alone, shared ones the team's, and no other tenant's.

use axum::{
    body::Body,
    http::{HeaderValue, Method, StatusCode, header},
};
use domain::problem::Code;

use crate::{
    forms::{input, leads_to, refused_form},
    support::{Answer, Browser, Stage, form, from_our_page},
};

/// The page that explains why a form was refused.
async fn explained(browser: &Browser<'_>, answer: &Answer, code: Code) -> String {
    refused_form(answer, "/views", code);
    let page = browser.get(answer.header("location")).await;
    page.expect(StatusCode::OK);
    let text = page.text();
    let frame = format!("data-code=\"{code}\" class=\"form-errors\"");
    assert!(text.contains(&frame), "no {frame}: {text}");
    text
}

async fn keep(browser: &Browser<'_>, name: &str, query: &str, shared: bool) -> Answer {
    let fields = [("list", "operations"), ("name", name), ("query", query)];
    let shared = shared.then_some(("shared", "true"));
    let fields: Vec<_> = fields.into_iter().chain(shared).collect();
    browser.post("/views", &fields).await
}

/// The list's page.
async fn list(browser: &Browser<'_>) -> String {
    let page = browser.get("/operations").await;
    page.expect(StatusCode::OK);
    page.text()
}

async fn id_of(stage: &Stage, name: &str) -> String {
    sqlx::query_scalar("select id::text from saved_views where name = $1")
        .bind(name)
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap()
}

#[tokio::test]
async fn a_private_view_is_its_owners_alone_and_a_shared_one_the_teams() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    let query = "status=unknown&columns=state,amount&cursor=n00&limit=20";
    let place = leads_to(&keep(&operator, "Mine alone", query, false).await, "/operations");
    assert_eq!(place, "/operations?status=unknown&columns=state%2Camount");
    operator.get(&place).await.expect(StatusCode::OK);
    leads_to(&keep(&operator, "For the team", "needs_manual=true", true).await, "/operations");

    let own = list(&operator).await;
    assert!(own.contains("Mine alone") && own.contains("For the team"));
    for colleague in ["viewer@acme.test", "approver@acme.test"] {
        let theirs = list(&stage.browser(colleague).await).await;
        assert!(theirs.contains("For the team") && theirs.contains("by operator@acme.test"));
        assert!(!theirs.contains("Mine alone"), "{colleague}");
    }
    let foreign = list(&stage.browser("operator@globex.test").await).await;
    assert!(!foreign.contains("For the team") && !foreign.contains("Mine alone"));
    let other = operator.get("/outbox").await.text();
    assert!(!other.contains("Mine alone"), "a view is of one list");

    let shown: Vec<(String, String)> = sqlx::query_as(
        "select action, target_id from audit where action like '%_view' and result = 'done' order by seq",
    )
    .fetch_all(stage.database.owner_pool())
    .await
    .unwrap();
    assert_eq!(shown, [("share_view".to_owned(), "For the team".to_owned())]);
}

#[tokio::test]
async fn a_view_belongs_to_who_keeps_it() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    keep(&operator, "One", "status=unknown", true).await.expect(StatusCode::SEE_OTHER);
    let id = id_of(&stage, "One").await;
    let path = format!("/views/{id}");
    let change = [("do", "change"), ("name", "Renamed"), ("return_to", "/operations?q=1")];
    for stranger in ["approver@acme.test", "admin@acme.test", "operator@globex.test"] {
        let browser = stage.browser(stranger).await;
        refused_form(&browser.post(&path, &change).await, "/views", Code::NotFound);
        let delete = browser.post(&path, &[("do", "delete")]).await;
        refused_form(&delete, "/views", Code::NotFound);
    }
    assert_eq!(stage.audited("denied").await, 6);
    assert_eq!(leads_to(&operator.post(&path, &change).await, "/operations"), "/operations?q=1");
    let page = list(&operator).await;
    assert!(page.contains("Renamed"));
    // Without the box it is the owner's alone again.
    assert!(!list(&stage.browser("viewer@acme.test").await).await.contains("Renamed"));
    operator.post(&path, &[("do", "delete")]).await.expect(StatusCode::SEE_OTHER);
    assert!(!list(&operator).await.contains("Renamed"));
    let gone = operator.post(&path, &[("do", "delete"), ("return_to", "/operations?q=1")]).await;
    let page = explained(&operator, &gone, Code::NotFound).await;
    assert!(page.contains("href=\"/operations?q=1\""), "the way back: {page}");
    let elsewhere = [("do", "delete"), ("return_to", "https://evil.example/")];
    let page = explained(&operator, &operator.post(&path, &elsewhere).await, Code::NotFound).await;
    assert!(!page.contains("evil"), "{page}");
}

#[tokio::test]
async fn everybody_keeps_views_and_only_some_share_them() {
    let stage = Stage::open().await;
    for (person, may) in [
        ("viewer@acme.test", false),
        ("auditor@acme.test", false),
        ("operator@acme.test", true),
        ("approver@acme.test", true),
        ("admin@acme.test", true),
    ] {
        let browser = stage.browser(person).await;
        keep(&browser, "Private", "", false).await.expect(StatusCode::SEE_OTHER);
        let denied = stage.audited("denied").await;
        let shared = keep(&browser, "Shared", "", true).await;
        if may {
            shared.expect(StatusCode::SEE_OTHER);
            assert_eq!(stage.audited("denied").await, denied);
        } else {
            let page = explained(&browser, &shared, Code::PermissionMissing).await;
            assert!(page.contains("share views of lists with the team"), "{page}");
            assert_eq!(stage.audited("denied").await, denied + 1, "{person}");
        }
    }
    // Of a list that a person may not read nobody keeps anything.
    let operator = stage.browser("operator@acme.test").await;
    let audit = [("list", "audit"), ("name", "x"), ("query", "denied=true")];
    let refused = operator.post("/views", &audit).await;
    refused_form(&refused, "/views", Code::PermissionMissing);
}

#[tokio::test]
async fn a_name_is_only_ever_text_and_a_second_one_replaces_the_first() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    let name = "<script>alert(1)</script> & \"x\"";
    keep(&operator, name, "status=unknown", true).await.expect(StatusCode::SEE_OTHER);
    keep(&operator, name, "status=executing", true).await.expect(StatusCode::SEE_OTHER);
    let page = list(&operator).await;
    assert!(!page.contains("<script>alert("), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp; "));
    assert!(page.contains("/operations?status=executing"));
    assert!(!page.contains("/operations?status=unknown"));
    for name in ["", "   ", "a\tb", "\u{202e}gnirts", &"x".repeat(81)] {
        let refused = keep(&operator, name, "status=unknown", false).await;
        refused_form(&refused, "/views", Code::Unprocessable);
    }
    for query in ["status=weird", "from=yesterday"] {
        let refused = keep(&operator, "x", query, false).await;
        explained(&operator, &refused, Code::FilterInvalid).await;
    }
    let wrong = [("list", "staff"), ("name", "x")];
    let page =
        explained(&operator, &operator.post("/views", &wrong).await, Code::Unprocessable).await;
    assert!(!page.contains("action=\"/views\""), "of no list there is no form: {page}");
    let without = operator.post("/views", &[("other", "x")]).await;
    explained(&operator, &without, Code::Unprocessable).await;
    // Two own views never bear one name.
    keep(&operator, "Other", "", false).await.expect(StatusCode::SEE_OTHER);
    let path = format!("/views/{}", id_of(&stage, "Other").await);
    let change = operator.post(&path, &[("do", "change"), ("name", name)]).await;
    refused_form(&change, "/views", Code::Unprocessable);
}

#[tokio::test]
async fn a_refused_view_comes_back_with_its_name_and_is_kept_from_there() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    let long = format!("<b>{}", "x".repeat(80));
    let refused = keep(&operator, &long, "status=unknown&columns=key", true).await;
    let page = explained(&operator, &refused, Code::Unprocessable).await;
    assert!(page.contains("1 to 80 characters") && !page.contains("<b>"), "{page}");
    assert_eq!(input(&page, "name"), long);
    assert_eq!(input(&page, "list"), "operations");
    assert_eq!(input(&page, "query"), "status=unknown&columns=key");
    assert!(page.contains("Back to the list"), "{page}");
    // A program gets the problem itself.
    let fields = [("list", "operations"), ("name", "")];
    let request = from_our_page(Method::POST, "/views")
        .header(header::COOKIE, operator.cookie.as_deref().unwrap())
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let mut request = request.body(Body::from(form(&fields))).unwrap();
    request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    stage.send(request).await.refused(Code::Unprocessable);
    // Nothing was refused: the page says where views are.
    operator.get("/views").await.expect(StatusCode::OK);
}

#[tokio::test]
async fn a_view_whose_filter_has_gone_says_so_and_still_opens_its_list() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    keep(&operator, "Old", "status=unknown", false).await.expect(StatusCode::SEE_OTHER);
    sqlx::query("update saved_views set query = 'status=gone'")
        .execute(stage.database.owner_pool())
        .await
        .unwrap();
    assert!(list(&operator).await.contains("no longer valid"));
    let opened = operator.get("/operations?status=gone").await;
    opened.expect(StatusCode::BAD_REQUEST);
    assert!(opened.text().contains("data-code=\"filter_invalid\""));
}

#[tokio::test]
async fn a_person_keeps_fifty_views_of_a_list() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    let keeping = (0..60).map(|n| {
        let operator = &operator;
        async move { keep(operator, &format!("view {n}"), "", false).await }
    });
    let answers = futures_util::future::join_all(keeping).await;
    let kept = answers.iter().filter(|answer| answer.header("location") == "/operations").count();
    assert_eq!(kept, 50, "also when they come at once");
    let page = list(&operator).await;
    assert_eq!(input(&page, "list"), "operations");
    // One that is there already can still be replaced.
    let name: String = sqlx::query_scalar("select min(name) from saved_views")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    keep(&operator, &name, "status=unknown", false).await.expect(StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn columns_are_chosen_by_a_form_and_kept_in_the_address() {
    let stage = Stage::open().await;
    stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    assert!(!list(&operator).await.contains("data-left-out"));
    let page = operator.get("/operations?columns=key&columns=amount&status=unknown").await;
    page.expect(StatusCode::OK);
    let page = page.text();
    assert!(page.contains("data-left-out=\"1 2 4 5 6 8 9\""), "{page}");
    assert!(page.contains("INV-1"));
    assert!(page.contains("columns=key%2Camount"), "links carry the columns");
}
