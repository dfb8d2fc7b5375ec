//! The one search box: what it says it searched, where it leads, and what it never finds.

use axum::http::StatusCode;
use domain::problem::Code;
use engine::store::kind::KindPolicy;

use crate::{
    forms::{confirm, leads_to, refused_form},
    pages_records::{has, rows, says},
    support::{Stage, charge},
};

#[tokio::test]
async fn the_search_says_what_it_searched_and_shows_what_it_found_by_type() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-7").await;
    let service = stage.service("acme").await;
    service.reserve("INV-7", 19_200).await;
    for n in 0..12 {
        service.reserve(&format!("INV-8{n:02}"), 100 + n).await.expect(StatusCode::CREATED);
    }
    let viewer = stage.browser("viewer@acme.test").await;

    let page = says(&viewer, "/search?q=INV-7").await;
    has(
        &page,
        &["Exactly or by its beginning: \u{201c}INV-7\u{201d}", "Operations", "Payload conflicts"],
    );
    let found = rows(&viewer, "/search?q=INV-7").await;
    assert!(found.contains(&format!("/operations/{}", target.id)), "{found:?}");
    assert!(found.iter().any(|href| href.starts_with("/conflicts/")), "{found:?}");

    let many = viewer.get("/search?q=INV-8").await.text();
    assert!(many.contains("href=\"/operations?q=INV-8\""), "the list has the rest: {many}");
    assert_eq!(rows(&viewer, "/search?q=INV-8").await.len(), 10);
    assert_eq!(rows(&viewer, "/operations?q=INV-8").await.len(), 12, "the link leads to all");

    for (q, words) in [
        ("EUR+1.07", "as the amount 1.07 EUR"),
        ("1%2C07+eur", "as the amount 1.07 EUR"),
        ("%E2%82%AC1.07", "as the amount 1.07 EUR"),
    ] {
        has(&says(&viewer, &format!("/search?q={q}")).await, &[words, "INV-807"]);
    }
    has(
        &says(&viewer, "/search?q=107+JPY").await,
        &["as the amount 107 JPY", "Nothing is called that"],
    );
    for q in ["NV-7", "%25", "%3Cb%3E%27"] {
        has(&says(&viewer, &format!("/search?q={q}&x=1")).await, &["Nothing"]);
    }
    let page = says(&viewer, "/search?q=%3Cscript%3E").await;
    assert!(!page.contains("<script>"), "{page}");
}

#[tokio::test]
async fn an_empty_and_a_short_question_are_answered_in_words() {
    let stage = Stage::open().await;
    let viewer = stage.browser("viewer@acme.test").await;
    for path in ["/search", "/search?q=", "/search?q=++"] {
        has(
            &says(&viewer, path).await,
            &["Type what you know of it", "never what stands in the middle"],
        );
    }
    has(&says(&viewer, "/search?q=ab").await, &["Nothing was searched.", "at least 3 characters"]);
    let long = viewer.get(&format!("/search?q={}", "x".repeat(2_001))).await;
    long.expect(StatusCode::BAD_REQUEST);
    assert!(long.text().contains("data-code=\"filter_invalid\""));
    stage.stranger().get("/search?q=INV-7").await.expect(StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_whole_id_leads_straight_to_its_record_or_receipt() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-7").await;
    let operator = stage.browser("operator@acme.test").await;
    let receipt = leads_to(&confirm(&operator, &target, "ch_1").await, "/receipts/");
    let event = rows(&operator, "/outbox").await.remove(0);
    for place in [format!("/operations/{}", target.id), receipt, event] {
        let id = place.rsplit('/').next().unwrap();
        for q in [id.to_owned(), id.replace('-', ""), format!("+{id}+")] {
            let answer = operator.get(&format!("/search?q={q}")).await;
            answer.expect(StatusCode::SEE_OTHER);
            assert_eq!(answer.header("location"), place);
        }
    }
    // Nobody is led to what is not theirs: the same answer as for an id that nobody has.
    let gil = stage.browser("operator@globex.test").await;
    let theirs = gil.get(&format!("/search?q={}", target.id)).await;
    theirs.expect(StatusCode::OK);
    assert!(theirs.text().contains("Nothing is called that"), "{}", theirs.text());
}

#[tokio::test]
async fn a_record_of_my_other_tenant_is_offered_by_its_whole_id_alone() {
    let stage = Stage::open().await;
    let theirs = stage.unknown("globex", "GX-100").await;
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
    let operator = stage.browser("operator@acme.test").await;
    let page = format!("/search?q={}", theirs.id);
    let offer = operator.get(&page).await;
    offer.expect(StatusCode::OK);
    assert!(offer.text().contains("data-elsewhere=\"globex\""), "{}", offer.text());
    assert!(!offer.text().contains("GX-100"));
    for q in ["GX-100", &theirs.id[..18]] {
        let page = operator.get(&format!("/search?q={q}")).await.text();
        assert!(!page.contains("data-elsewhere"), "{q}: {page}");
    }
    let fields = [("tenant", "globex"), ("return_to", page.as_str())];
    let switched = operator.post("/session/tenant", &fields).await;
    let back = operator.get(switched.header("location")).await;
    assert_eq!(back.header("location"), format!("/operations/{}", theirs.id));
}

#[tokio::test]
async fn a_number_is_found_and_shown_as_it_was_sent() {
    let stage = Stage::open().await;
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    let pointers = vec!["/serial".to_owned(), "/rate".to_owned()];
    admin.put_kind(tenant, &KindPolicy { search_pointers: pointers, ..charge() }).await.unwrap();
    let service = stage.service("acme").await;
    let body = r#"{"operation":"invoice.charge","key":"exact","amount_minor":1,"currency":"EUR",
        "payload":{"amount_minor":1,"currency":"EUR","serial":9007199254740993,"rate":1.10}}"#;
    service.post_text("/operations", &[], body).await.expect(StatusCode::CREATED);
    let viewer = stage.browser("viewer@acme.test").await;
    for q in ["9007199254740993", "1.10"] {
        assert_eq!(rows(&viewer, &format!("/search?q={q}")).await.len(), 1, "{q}");
    }
    for q in ["9007199254740992", "1.1000", "1.100"] {
        assert!(rows(&viewer, &format!("/search?q={q}")).await.is_empty(), "{q}");
    }
}

#[tokio::test]
async fn the_help_lists_each_key_and_switches_single_keys_off() {
    let stage = Stage::open().await;
    let viewer = stage.browser("viewer@acme.test").await;
    let page = says(&viewer, "/help").await;
    has(
        &page,
        &["Keys", "the next row", "Operations", "What the search finds", "Switch single keys off"],
    );
    let source = viewer.get("/help").await.text();
    let with = |page: &str| page.contains("data-component=\"SearchKey");
    assert!(with(&source) && source.contains("href=\"/help\""), "{source}");

    let off = viewer.post("/preferences/keys", &[("keys", "off"), ("return_to", "/help")]).await;
    off.expect(StatusCode::SEE_OTHER);
    assert_eq!(off.header("location"), "/help");
    assert!(off.header("set-cookie").starts_with("keys=off; "));
    let mut quiet = stage.browser("viewer@acme.test").await;
    quiet.cookie = quiet.cookie.take().map(|cookie| format!("{cookie}; keys=off"));
    let source = quiet.get("/help").await.text();
    assert!(!with(&source) && source.contains("Switch single keys on"), "{source}");
    assert!(source.contains("data-component=\"Palette"), "Ctrl K stays");
    let odd = viewer.post("/preferences/keys", &[("keys", "x; Domain=evil")]).await;
    refused_form(&odd, "/help", Code::Unprocessable);
    let page = viewer.get(odd.header("location")).await.text();
    has(&page, &["data-code=\"unprocessable\"", "Single keys: Use the button"]);
}
