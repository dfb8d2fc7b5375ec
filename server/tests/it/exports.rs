//! T35, T36: a list as a file holds its list's rows and no other, masked alike, runs nothing, is whole or
//! is not given, and is in the audit log.

use axum::{
    body::Body,
    http::{Method, StatusCode, header},
};
use domain::problem::Code;
use engine::store::kind::KindPolicy;
use serde_json::{Value, json};

use crate::support::{Answer, Browser, Stage, charge, from_our_page};

const PAN: &str = "4111111111111111";
const LISTS: [&str; 9] = [
    "operations",
    "workflows",
    "outbox",
    "inbox",
    "conflicts",
    "leases",
    "approvals",
    "incidents",
    "audit",
];

async fn export(browser: &Browser<'_>, place: &str) -> Answer {
    let answer = browser.get(place).await;
    answer.expect(StatusCode::OK);
    assert!(answer.header("content-disposition").starts_with("attachment; filename=\""));
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("cache-control"), "no-store");
    answer
}

/// The records of a CSV file, by the names of their columns.
fn records(answer: &Answer) -> Vec<std::collections::HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(answer.body.as_ref());
    reader.deserialize().map(|record| record.unwrap()).collect()
}

/// The newest entry of the audit log about an export.
async fn told(stage: &Stage) -> (String, String, String, Option<Value>) {
    sqlx::query_as(
        "select actor, target_id, result, after from audit where action = 'export' order by seq desc limit 1",
    )
    .fetch_one(stage.database.owner_pool())
    .await
    .unwrap()
}

#[tokio::test]
async fn no_cell_runs_as_a_formula() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let payloads = [
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        "\u{ff1d}1+1",
        "\u{ff0b}1+1",
        // No key holds these; a sentence may.
        "\t=1+1",
        "\r=1+1",
    ];
    let keys = &payloads[..6];
    for key in keys {
        service.reserve(key, 12_900).await.expect(StatusCode::CREATED);
    }
    for (n, summary) in (0..).zip(payloads) {
        sqlx::query(
            "insert into incidents (tenant_id, operation_id, cause, summary)
             select tenant_id, id, 'cause ' || $1::int, $2 from operations order by id limit 1",
        )
        .bind(n)
        .bind(summary)
        .execute(stage.database.owner_pool())
        .await
        .unwrap();
    }
    let browser = stage.browser("viewer@acme.test").await;
    let operations = records(&export(&browser, "/export/operations?format=csv").await);
    let incidents = records(&export(&browser, "/export/incidents?format=csv").await);
    assert_eq!((operations.len(), incidents.len()), (keys.len(), payloads.len()));
    let cells = operations.iter().chain(&incidents).flat_map(|row| row.values());
    for cell in cells.filter(|cell| !cell.is_empty()) {
        let first = cell.chars().next().unwrap();
        assert!(first == '\'' || first.is_alphanumeric(), "{cell:?}");
    }
    for key in keys {
        assert!(operations.iter().any(|row| row["key"] == format!("'{key}")), "{key:?}");
    }
    for summary in payloads {
        assert!(incidents.iter().any(|row| row["summary"] == format!("'{summary}")), "{summary:?}");
    }
    assert!(
        operations.iter().all(|row| row["amount"] == "129.00" && row["amount_minor"] == "12900")
    );
    // Programs get the key as it is.
    let file = export(&browser, "/export/operations?format=json").await.json();
    assert!(file["items"].as_array().unwrap().iter().any(|row| row["key"] == "=1+1"));
    testkit::threat("T35", payloads.len() + keys.len(), 0);
}

#[tokio::test]
async fn what_is_masked_on_the_page_is_in_no_file_and_not_in_the_log_of_exports() {
    let stage = Stage::open().await;
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    let kind = KindPolicy {
        masked_pointers: vec!["/card".into()],
        search_pointers: vec!["/invoice_id".into(), "/card".into()],
        ..charge()
    };
    admin.put_kind(tenant, &kind).await.unwrap();
    let service = stage.service("acme").await;
    for (amount, status) in [(100, StatusCode::CREATED), (200, StatusCode::UNPROCESSABLE_ENTITY)] {
        let body = json!({
            "operation": "invoice.charge",
            "key": "k",
            "payload":
                { "invoice_id": "INV-1", "amount_minor": amount, "currency": "EUR", "card": PAN },
        });
        service.post("/operations", &body).await.expect(status);
    }
    stage.unknown("acme", "INV-2").await;
    let auditor = stage.browser("auditor@acme.test").await;
    let found = export(&auditor, &format!("/export/operations?format=csv&q={PAN}")).await;
    assert_eq!(records(&found).len(), 1, "whoever knows it finds it");
    for list in LISTS {
        for format in ["csv", "json"] {
            let file = export(&auditor, &format!("/export/{list}?format={format}")).await;
            assert!(!file.text().contains(PAN), "{list} as {format}: {}", file.text());
        }
    }
    let (.., after) = told(&stage).await;
    assert!(after.is_some());
    let kept: i64 =
        sqlx::query_scalar("select count(*) from audit where after::text like '%4111%'")
            .fetch_one(stage.database.owner_pool())
            .await
            .unwrap();
    assert_eq!(kept, 0, "the log says that something was searched for, not what");
    testkit::threat("T33", 2 * LISTS.len() + 1, 0);
}

#[tokio::test]
async fn an_export_is_whole_or_it_is_refused_before_it_begins() {
    let stage = Stage::open_with(&[("ONCEOVER_MAX_EXPORT_ROWS", "401")]).await;
    let service = stage.service("acme").await;
    for n in 0..401 {
        service.reserve(&format!("INV-{n}"), 100).await.expect(StatusCode::CREATED);
    }
    let browser = stage.browser("operator@acme.test").await;
    let place = "/export/operations?format=csv&status=reserved&cursor=n00&limit=10&columns=key";
    let rows = records(&export(&browser, place).await);
    let mut ids: Vec<_> = rows.iter().map(|row| row["id"].clone()).collect();
    assert!(ids.is_sorted_by(|a, b| a > b), "in the list's order, none twice");
    ids.dedup();
    assert_eq!(ids.len(), 401);
    let file = export(&browser, "/export/operations?format=json").await.json();
    assert_eq!(file["items"].as_array().unwrap().len(), 401);
    let (actor, list, result, after) = told(&stage).await;
    assert_eq!((actor.as_str(), list.as_str()), ("operator@acme.test", "operations"));
    let said = json!({ "format": "json", "filter": {}, "rows": 401 });
    assert_eq!((result.as_str(), after), ("done", Some(said)));

    service.reserve("INV-one-more", 100).await.expect(StatusCode::CREATED);
    let refused = browser.get("/export/operations?format=csv").await;
    refused.expect(StatusCode::BAD_REQUEST);
    assert!(refused.text().contains("at most 401 rows"), "{}", refused.text());
    assert!(refused.headers.get(header::CONTENT_DISPOSITION).is_none());
    let (.., result, after) = told(&stage).await;
    assert_eq!((result.as_str(), after), ("denied", None));
    // Narrower, it is given again.
    export(&browser, "/export/operations?format=csv&q=INV-one").await;
    let program = stage.staff("operator@acme.test").await;
    program.get("/export/operations?format=csv").await.refused(Code::FilterInvalid);
    testkit::threat("T36", 2, 0);
}

#[tokio::test]
async fn fifty_exports_at_once_hold_no_row_of_another_tenant() {
    let stage = Stage::open().await;
    for (tenant, prefix) in [("acme", "AC"), ("globex", "GX")] {
        let service = stage.service(tenant).await;
        for n in 0..30 {
            service.reserve(&format!("{prefix}-{n}"), 100).await.expect(StatusCode::CREATED);
        }
    }
    let acme = stage.browser("operator@acme.test").await;
    let globex = stage.browser("operator@globex.test").await;
    let exports = (0..50).map(|n| {
        let (browser, own) = if n % 2 == 0 { (&acme, "AC-") } else { (&globex, "GX-") };
        let format = if n % 4 < 2 { "csv" } else { "json" };
        async move {
            let file = export(browser, &format!("/export/operations?format={format}")).await;
            let keys: Vec<String> = if format == "csv" {
                records(&file).into_iter().map(|row| row["key"].clone()).collect()
            } else {
                let rows = file.json()["items"].as_array().unwrap().clone();
                rows.iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect()
            };
            assert_eq!(keys.len(), 30);
            assert!(keys.iter().all(|key| key.starts_with(own)), "{keys:?}");
        }
    });
    futures_util::future::join_all(exports).await;
    testkit::threat("T36", 50, 0);
}

#[tokio::test]
async fn every_list_can_be_taken_by_who_may_read_it_and_by_nobody_else() {
    let stage = Stage::open().await;
    stage.unknown("acme", "INV-1").await;
    let auditor = stage.browser("auditor@acme.test").await;
    let program = stage.staff("auditor@acme.test").await;
    for list in LISTS {
        export(&auditor, &format!("/export/{list}?format=csv")).await;
        export(&auditor, &format!("/export/{list}?format=json")).await;
        let file = program.get(&format!("/export/{list}")).await;
        file.expect(StatusCode::OK);
        assert_eq!(file.json()["list"], list);
        program.get(&format!("/export/{list}?sort=id;drop")).await.refused(Code::FilterInvalid);
    }
    let viewer = stage.browser("viewer@acme.test").await;
    let denied = stage.audited("denied").await;
    viewer.get("/export/audit?format=csv").await.expect(StatusCode::FORBIDDEN);
    assert_eq!(stage.audited("denied").await, denied + 1);
    export(&viewer, "/export/operations?format=csv").await;

    let anonymous = stage.stranger().get("/export/operations?format=csv").await;
    anonymous.expect(StatusCode::SEE_OTHER);
    assert!(!anonymous.text().contains("INV-1"));
    for (place, status) in [
        ("/export/staff?format=csv", StatusCode::NOT_FOUND),
        ("/export/operations", StatusCode::BAD_REQUEST),
        ("/export/operations?format=xlsx", StatusCode::BAD_REQUEST),
        ("/export/operations?format=csv&status=weird", StatusCode::BAD_REQUEST),
        ("/export/operations?format=csv&from=2026-01-01&to=2026-12-01", StatusCode::BAD_REQUEST),
    ] {
        auditor.get(place).await.expect(status);
    }
}

#[tokio::test]
async fn another_sites_page_cannot_have_a_list_exported() {
    let stage = Stage::open().await;
    let browser = stage.browser("operator@acme.test").await;
    for site in ["cross-site", "same-site"] {
        let mut request = from_our_page(Method::GET, "/export/operations?format=csv")
            .header(header::COOKIE, browser.cookie.as_deref().unwrap())
            .body(Body::empty())
            .unwrap();
        request.headers_mut().insert("sec-fetch-site", site.parse().unwrap());
        stage.send(request).await.expect(StatusCode::FORBIDDEN);
    }
    let exports: i64 = sqlx::query_scalar("select count(*) from audit where action = 'export'")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    assert_eq!(exports, 0);
    testkit::threat("T36", 2, 0);
}

#[tokio::test]
async fn the_links_of_a_list_take_what_it_shows() {
    let stage = Stage::open().await;
    stage.unknown("acme", "INV-1").await;
    let service = stage.service("acme").await;
    service.reserve("INV-2", 100).await.expect(StatusCode::CREATED);
    let browser = stage.browser("viewer@acme.test").await;
    let page = browser.get("/operations?status=unknown&limit=10&columns=key").await.text();
    let link = "/export/operations?status=unknown&amp;format=csv";
    assert!(page.contains(link), "{page}");
    let rows = records(&export(&browser, &link.replace("&amp;", "&")).await);
    assert_eq!(rows.iter().map(|row| row["key"].as_str()).collect::<Vec<_>>(), ["INV-1"]);
}
