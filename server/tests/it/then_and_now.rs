//! What the second person reads before they agree: what was seen beside what is, what moved and what came
//! since, and the provider's word then and now.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use axum::{Json, Router, http::StatusCode};
use engine::store::kind::KindPolicy;
use serde_json::json;
use tokio::net::TcpListener;

use crate::{
    pages_records::{has, says},
    support::{Operation, Stage, charge},
};

/// A provider that can be asked: it does not know of the effect until it does.
struct Provider {
    url: String,
    knows: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
}

impl Provider {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/charges", listener.local_addr().unwrap());
        let (knows, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (known, counted) = (Arc::clone(&knows), Arc::clone(&asked));
        let app = Router::new().fallback(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            let answer = match known.load(Ordering::SeqCst) {
                true => (
                    StatusCode::OK,
                    json!({ "id": "ch_9", "amount_minor": 12_900, "currency": "EUR" }),
                ),
                false => (StatusCode::NOT_FOUND, json!({ "found": false })),
            };
            async move { (answer.0, Json(answer.1)) }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, knows, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// An operator asks to have it recorded as never done; the request's page.
async fn denied(stage: &Stage, target: &Operation) -> String {
    let operator = stage.staff("operator@acme.test").await;
    let asks = json!({
        "version": target.version,
        "outcome": "not_happened_stop",
        "reason": "their support says it never arrived",
    });
    let waits = operator.post(&format!("/operations/{}/actions/confirm", target.id), &asks).await;
    waits.expect(StatusCode::ACCEPTED);
    format!("/approvals/{}", waits.json()["id"].as_str().unwrap())
}

#[tokio::test]
async fn who_is_about_to_agree_reads_what_the_provider_said_then_and_says_now() {
    let provider = Provider::start().await;
    let named = format!("payments.charges={}", provider.url);
    let stage = Stage::open_with(&[("ONCEOVER_PROVIDERS", &named)]).await;
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    admin.put_kind(tenant, &KindPolicy { lookup: true, ..charge() }).await.unwrap();
    let target = stage.unknown("acme", "INV-1").await;
    stage.database.advance_clock(std::time::Duration::from_secs(20)).await;
    let request = denied(&stage, &target).await;
    provider.knows.store(true, Ordering::SeqCst);
    let asked = provider.asked();

    let then = "The provider knows of no such effect right now.";
    let approver = stage.browser("approver@acme.test").await;
    let page = says(&approver, &request).await;
    has(&page, &[then, "It is asked on the page that approves it"]);
    let viewer = stage.browser("viewer@acme.test").await;
    has(&says(&viewer, &format!("{request}/approve")).await, &[then]);
    assert_eq!(provider.asked(), asked, "nobody who cannot agree makes it be asked");

    let form = says(&approver, &format!("{request}/approve")).await;
    has(&form, &[then, "The provider says it happened: ch_9, 129.00 EUR.", "(differs)"]);
    assert_eq!(provider.asked(), asked + 1, "once for each look");
}

#[tokio::test]
async fn who_decides_reads_what_moved_and_what_evidence_came_since() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    stage.database.advance_clock(std::time::Duration::from_secs(20)).await;
    let request = denied(&stage, &target).await;
    let approver = stage.browser("approver@acme.test").await;
    let page = says(&approver, &request).await;
    has(&page, &["Then and now", "Nothing: the record is as it was.", "None came.", "129.00 EUR"]);
    assert!(!page.contains("(differs)"), "{page}");

    let operator = stage.staff("operator@acme.test").await;
    let again = json!({ "version": target.version, "reason": "their page is up again" });
    let path = format!("/operations/{}/actions/reconcile", target.id);
    operator.post(&path, &again).await.expect(StatusCode::OK);
    stage.webhook_said_done(&target.id).await;

    for place in [request.clone(), format!("{request}/approve")] {
        let page = says(&approver, &place).await;
        has(
            &page,
            &[
                "(differs)",
                "approving it is refused, and the request is void",
                "operator@acme.test: A person asked to reconcile now.",
                "\u{201c}their page is up again\u{201d}",
                "Evidence that came since",
                "the provider\u{2019}s webhook (payments): it happened, under ch_9, 129.00 EUR.",
            ],
        );
        assert!(!page.contains("Reserved: the key was claimed"), "only what came since: {page}");
    }
    let source = approver.get(&request).await.text();
    assert!(source.contains(&format!("/operations/{}#e", target.id)), "each move has its link");
}
