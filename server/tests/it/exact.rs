//! Amounts beyond 2^53, where a float would round, and decimals with trailing zeros: in lists, files,
//! reports and what services tell, as they were sent.

use axum::http::StatusCode;
use domain::money::Money;
use serde_json::json;

use crate::{
    pages_records::{has, rows, says},
    support::Stage,
};

const MINOR: i64 = 9_007_199_254_740_993;
const DECIMAL: &str = "90071992547409.93";
/// What a service tells of it.
const TOLD: &str = r#"{"serial":9007199254740993,"rate":1.10,"share":0.50}"#;

#[tokio::test]
async fn an_amount_beyond_two_to_the_fifty_third_leaves_in_every_file_and_report_as_it_came() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let won = service.reserve("INV-9", MINOR).await;
    won.expect(StatusCode::CREATED);
    let (id, fence) = (won.json()["id"].as_str().unwrap().to_owned(), won.json()["fence"].clone());
    let path = format!("/operations/{id}");
    service.post(&format!("{path}/start"), &json!({ "fence": fence })).await.expect(StatusCode::OK);
    let finish = format!(
        r#"{{"fence":{fence},"outcome":"done","external_reference":"ch_1","events":[
             {{"aggregate":"INV-9","topic":"invoice.paid","payload":{TOLD}}}]}}"#
    );
    service.post_text(&format!("{path}/finish"), &[], finish).await.expect(StatusCode::OK);
    let shown = Money { amount_minor: MINOR, currency: "EUR".into() }.to_string();

    let viewer = stage.browser("viewer@acme.test").await;
    for page in ["/operations", &path, "/search?q=90071992547409.93%20EUR"] {
        has(&says(&viewer, page).await, &[&shown]);
    }
    let csv = viewer.get("/export/operations?format=csv").await;
    csv.expect(StatusCode::OK);
    let mut reader = csv::Reader::from_reader(csv.body.as_ref());
    let row: std::collections::HashMap<String, String> =
        reader.deserialize().next().unwrap().unwrap();
    assert_eq!(
        (row["amount"].as_str(), row["amount_minor"].as_str()),
        (DECIMAL, "9007199254740993")
    );
    let json = viewer.get("/export/operations?format=json").await.text();
    assert!(json.contains("9007199254740993"), "{json}");

    let event = rows(&viewer, "/outbox?topic=invoice.paid").await.remove(0);
    has(&says(&viewer, &event).await, &["9007199254740993", "1.10", "0.50"]);
    let whole = viewer.get(&format!("{event}/payload")).await;
    assert_eq!(whole.text(), TOLD, "a download is what was told");

    let incident = uuid::Uuid::now_v7();
    let open = json!({
        "id": incident, "summary": "A large charge", "reason": "to look at it",
        "records": [format!("operation/{id}")],
    });
    stage.staff("operator@acme.test").await.post("/incidents", &open).await.expect(StatusCode::OK);
    let report = format!("/incidents/{incident}/report");
    has(&says(&viewer, &report).await, &[&shown]);
    for (format, exact) in
        [("md", shown.as_str()), ("csv", "9007199254740993"), ("json", "9007199254740993")]
    {
        let file = viewer.get(&format!("{report}?format={format}")).await;
        file.expect(StatusCode::OK);
        let text = file.text();
        // The record's own amount, and the sum at stake.
        assert!(text.matches(exact).count() >= 2, "{format}: {text}");
        assert!(!text.contains("9007199254740992"), "{format}: {text}");
    }
}
