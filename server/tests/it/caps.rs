//! T38: no list gives out more than its bounds, at no door; what asks for more is refused (400)
//! before the database is asked.

use axum::http::StatusCode;
use domain::problem::Code;

use crate::{figures::say, support::Stage};

const HOSTILE: [&str; 6] = [
    "limit=1000000000",
    "limit=-1",
    "limit=99999999999999999999",
    "offset=1000000000",
    "from=1970-01-01T00:00:00Z&to=2100-01-01T00:00:00Z",
    "days=1000000",
];

/// Documents, not lists: they take no query at all.
const NO_LISTS: [&str; 2] = ["/openapi.json", "/staff"];

const PAGES: [&str; 10] = [
    "/operations",
    "/workflows",
    "/outbox",
    "/inbox",
    "/conflicts",
    "/leases",
    "/incidents",
    "/approvals",
    "/audit",
    "/bulks",
];

#[tokio::test]
async fn every_list_refuses_more_than_its_bounds() {
    let stage = Stage::open().await;
    let program = stage.staff("admin@acme.test").await;
    let lists: Vec<String> = server::v1::routes()
        .into_iter()
        .filter(|(method, path)| {
            *method == "GET" && !path.contains('{') && !NO_LISTS.contains(&path.as_str())
        })
        .map(|(_, path)| path)
        .collect();
    assert!(lists.len() >= 10, "{lists:?}");
    let mut tried = 0;
    for list in &lists {
        program.get(list).await.expect(StatusCode::OK);
        for query in HOSTILE {
            let answer = program.get(&format!("{list}?{query}")).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{list}?{query}: {}", answer.text());
            answer.refused(Code::FilterInvalid);
            tried += 1;
        }
    }
    let browser = stage.browser("admin@acme.test").await;
    for page in PAGES {
        browser.get(page).await.expect(StatusCode::OK);
        for query in HOSTILE {
            // A page passes over names that its list does not know.
            if !(query.starts_with("limit") || page == "/operations" && query.starts_with("from")) {
                continue;
            }
            let answer = browser.get(&format!("{page}?{query}")).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{page}?{query}");
            tried += 1;
        }
    }
    say(&format!(
        "T38: {tried} requests beyond the bounds of {} lists: all 400",
        lists.len() + PAGES.len()
    ));
    testkit::threat("T38", tried, 0);
}
