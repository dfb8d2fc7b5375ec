//! One record of every kind in one tenant, so that a test can ask for each page and route that there is.

use std::collections::HashMap;

use axum::http::StatusCode;
use domain::problem::Code;
use engine::store::kind::KindPolicy;
use serde_json::{Value, json};
use uuid::Uuid;

use super::markup::HOSTILE;
use crate::{
    effects::digest,
    evidence::attach,
    kind_form::{FORM, inputs, look},
    support::{Browser, Operation, Program, Stage, charge, form},
};

/// What stands in masked fields alone: no page, file, log or stream shows one.
pub const CANARIES: [&str; 4] =
    ["4111111111111111", "DE89370400440532013000", "tok-canary-7f3a", "hunter2-canary"];
/// What the tenant's payments are called, and nothing else anywhere.
pub const MARK: &str = "INV-OF-ACME";

/// A stage where everything has happened once in the tenant `acme`.
pub struct World {
    pub stage: Stage,
    /// By the name of its collection, or of the page that only some records have.
    pub ids: HashMap<&'static str, String>,
    /// When the other content of the message came.
    other_since: String,
    /// Whose outcome is unknown.
    pub open: Operation,
    /// The form that changes a kind's policy, as it would be sent, and the same policy for a call.
    pub policy_form: String,
    pub policy: Value,
    /// An operator's cookie and token, taken while the database was well.
    reader: Option<(String, String)>,
}

fn masked() -> KindPolicy {
    let masked = ["/card", "/iban", "/token", "/password"].map(str::to_owned).to_vec();
    KindPolicy {
        masked_pointers: masked,
        undo_kind: Some("invoice.refund".into()),
        reference_url: Some("https://pay.example/{reference}".into()),
        ..charge()
    }
}

async fn kinds(stage: &Stage) {
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    let refund = KindPolicy {
        name: "invoice.refund".into(),
        undo_reference_member: Some("charge_id".into()),
        search_pointers: vec![],
        ..charge()
    };
    admin.put_kind(tenant, &refund).await.unwrap();
    admin.put_kind(tenant, &masked()).await.unwrap();
    for name in ["draft.generate", "campaign.send", "document.publish"] {
        let kind = KindPolicy {
            name: name.into(),
            money: false,
            amount_pointer: None,
            currency_pointer: None,
            approval_threshold_minor: None,
            search_pointers: vec![],
            masked_pointers: vec!["/token".into()],
            ..charge()
        };
        admin.put_kind(tenant, &kind).await.unwrap();
    }
}

/// A payment's payload: a canary in every masked field, markup in the others.
pub fn payload(key: &str, amount_minor: i64) -> Value {
    let [card, iban, token, password] = CANARIES;
    json!({
        "invoice_id": key, "amount_minor": amount_minor, "currency": "EUR",
        "card": card, "iban": iban, "token": token, "password": password, "memo": HOSTILE,
    })
}

async fn unknown(service: &Program<'_>, key: &str) -> Operation {
    let body =
        json!({ "operation": "invoice.charge", "key": key, "payload": payload(key, 12_900) });
    let won = service.post("/operations", &body).await;
    won.expect(StatusCode::CREATED);
    let (id, fence) = (text(&won.json()["id"]), won.json()["fence"].clone());
    let at = |call: &str| format!("/operations/{id}/{call}");
    service.post(&at("start"), &json!({ "fence": fence })).await.expect(StatusCode::OK);
    let finish = json!({ "fence": fence, "outcome": "ambiguous" });
    let finished = service.post(&at("finish"), &finish).await;
    finished.expect(StatusCode::OK);
    Operation { id, version: finished.json()["version"].as_i64().unwrap() }
}

/// A payment that a person confirmed and asks to give back: the receipt and the request.
async fn given_back(stage: &Stage, service: &Program<'_>, key: &str) -> (Operation, [String; 2]) {
    let paid = unknown(service, key).await;
    let operator = stage.staff("operator@acme.test").await;
    let of = format!("/operations/{}", paid.id);
    let confirmed = operator.post(&format!("{of}/actions/confirm"), &paid.confirm()).await;
    confirmed.expect(StatusCode::OK);
    let version = operator.get(&of).await.json()["version"].clone();
    let ask = json!({
        "version": version, "reason": "sent back", "amount_minor": 5_000, "currency": "EUR",
    });
    let asked = operator.post(&format!("{of}/actions/compensate"), &ask).await;
    asked.expect(StatusCode::ACCEPTED);
    (paid, [text(&confirmed.json()["id"]), text(&asked.json()["id"])])
}

/// A payment with the provider's answer.
async fn answered(service: &Program<'_>, key: &str) -> String {
    let body =
        json!({ "operation": "invoice.charge", "key": key, "payload": payload(key, 12_900) });
    let won = service.post("/operations", &body).await;
    won.expect(StatusCode::CREATED);
    let (id, fence) = (text(&won.json()["id"]), won.json()["fence"].clone());
    let at = |call: &str| format!("/operations/{id}/{call}");
    service.post(&at("start"), &json!({ "fence": fence })).await.expect(StatusCode::OK);
    let answer = json!({ "paid": true, "card": CANARIES[0], "memo": HOSTILE });
    let finish = json!({
        "fence": fence, "outcome": "done", "external_reference": "ch_2",
        "response": { "content_type": "application/json", "body": answer.to_string() },
    });
    service.post(&at("finish"), &finish).await.expect(StatusCode::OK);
    id
}

async fn workflow(service: &Program<'_>) -> String {
    let input = json!({
        "campaign_id": "CMP-1", "recipient_id": "R-1", "topic": "prices",
        "invoice_id": MARK, "amount_minor": 12_900, "currency": "EUR",
        "document_id": "DOC-1", "version": 1,
    });
    let start = json!({ "kind": "campaign.agent", "key": "campaign", "input": input });
    let started = service.post("/workflows", &start).await;
    started.expect(StatusCode::CREATED);
    let id = text(&started.json()["id"]);
    let step = format!("/workflows/{id}/steps/draft");
    let taken = service.post(&format!("{step}/start"), &json!({})).await;
    taken.expect(StatusCode::CREATED);
    let fence = taken.json()["fence"].clone();
    let begin = format!("/operations/{}/start", text(&taken.json()["id"]));
    service.post(&begin, &json!({ "fence": fence })).await.expect(StatusCode::OK);
    let checkpoint = json!({
        "fence": fence, "outcome": "done", "external_reference": "ref_1",
        "response": { "body": { "text": "Dear customer", "subject": "Prices", "token": CANARIES[2] } },
        "artifacts": [{
            "name": "log", "content_type": "application/json",
            "body": json!({ "token": CANARIES[2], "lines": 3 }).to_string(),
        }],
    });
    service.post(&format!("{step}/checkpoint"), &checkpoint).await.expect(StatusCode::OK);
    id
}

/// A message that waits for a person, and another under its id.
async fn message(service: &Program<'_>) {
    let mut late = json!({
        "consumer": "billing", "source": "orders", "message_id": "m-1",
        "produced_at": "2020-01-01T00:00:00Z", "payload": payload("INV-LATE", 12_900),
        "then": { "operation": {
            "operation": "invoice.charge", "payload": payload("INV-LATE", 12_900),
        } },
    });
    service.post("/inbox", &late).await.refused(Code::Quarantined);
    late["payload"] = payload("INV-LATE", 19_200);
    service.post("/inbox", &late).await.refused(Code::MessageReused);
}

/// A policy that a form and a call would write, about a version that the kind never had.
async fn policy(stage: &Stage) -> (String, Value) {
    let admin = stage.browser("admin@acme.test").await;
    let looked = look(&admin, FORM, &[("lease_ms", "20 s")]).await;
    let mut fields = inputs(&looked, "/act/kinds/put");
    fields.retain(|(name, _)| name != "reason" && name != "version");
    fields.extend(
        [("reason", "seen"), ("version", "999")].map(|(n, v)| (n.to_owned(), v.to_owned())),
    );
    let fields: Vec<_> = fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let kind = stage.staff("admin@acme.test").await.get("/kinds/invoice.charge").await;
    (form(&fields), kind.json()["policy"].clone())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

impl World {
    pub async fn open() -> Self {
        // The tests ask for everything, as everybody, as fast as they can.
        let stage = Stage::open_with(&[
            ("ONCEOVER_MAX_ADDRESS_CALLS", "10000000"),
            ("ONCEOVER_MAX_ACCOUNT_CALLS", "10000000"),
            ("ONCEOVER_MAX_TOKEN_CALLS", "10000000"),
        ])
        .await;
        kinds(&stage).await;
        let service = stage.service("acme").await;
        let operator = stage.staff("operator@acme.test").await;
        let approver = stage.staff("approver@acme.test").await;
        let mut ids = HashMap::new();

        let open = unknown(&service, MARK).await;
        let other = json!({
            "operation": "invoice.charge", "key": MARK, "payload": payload(MARK, 19_200),
        });
        service.post("/operations", &other).await.refused(Code::KeyReused);

        let (_, [receipt, agreed]) = given_back(&stage, &service, "INV-2").await;
        let approve = format!("/approvals/{agreed}/actions/approve");
        approver
            .post(&approve, &json!({ "version": 1, "reason": "seen" }))
            .await
            .expect(StatusCode::OK);
        let (_, [_, pending]) = given_back(&stage, &service, "INV-3").await;
        ids.extend([("receipts", receipt), ("approvals", pending)]);

        ids.insert("answers", answered(&service, "INV-ANSWERED").await);
        ids.insert("workflows", workflow(&service).await);
        message(&service).await;

        let incident = Uuid::now_v7().to_string();
        let gather = json!({
            "id": incident, "summary": "A charge without an answer", "reason": "they were down",
            "records": [format!("operation/{}", open.id)],
        });
        operator.post("/incidents", &gather).await.expect(StatusCode::OK);
        ids.insert("incidents", incident);
        let freeze = json!({ "list": "operations", "verb": "reconcile", "records": [open.id] });
        let frozen = operator.post("/bulks", &freeze).await;
        assert!(frozen.status.is_success(), "{}", frozen.text());
        ids.insert("bulks", text(&frozen.json()["id"]));
        while stage.state.engine.advance_bulks().await.unwrap().handled > 0 {}

        let file = attach(&operator, &open.id, "seen.txt", b"their list shows it").await;
        assert!(file.status.is_success(), "{}", file.text());
        let note = json!({ "form_key": "fk-0", "text": "rang them" });
        let noted = operator.post(&format!("/operations/{}/notes", open.id), &note).await;
        assert!(noted.status.is_success(), "{}", noted.text());
        let view = [
            ("list", "operations"),
            ("name", "Mine"),
            ("query", "status=unknown"),
            ("shared", "true"),
        ];
        let kept = stage.browser("operator@acme.test").await.post("/views", &view).await;
        kept.expect(StatusCode::SEE_OTHER);
        let reveal = format!("/operations/{}/actions/reveal", open.id);
        let revealed = approver.post(&reveal, &json!({ "reason": "the bank asks" })).await;
        revealed.expect(StatusCode::OK);
        ids.insert("reveals", text(&revealed.json()["id"]));
        let reveal = format!("/workflows/{}/actions/reveal", ids["workflows"]);
        let artifact = json!({ "reason": "the customer asks", "step": "draft", "artifact": "log" });
        let revealed = approver.post(&reveal, &artifact).await;
        revealed.expect(StatusCode::OK);
        ids.insert("revealed artifacts", text(&revealed.json()["id"]));

        for (name, sql) in [
            ("compensations", "select id::text from compensations limit 1"),
            ("outbox", "select id::text from outbox order by tenant_id, aggregate, seq limit 1"),
            ("inbox", "select id::text from inbox limit 1"),
            ("conflicts", "select id::text from payload_conflicts limit 1"),
            ("views", "select id::text from saved_views limit 1"),
            ("evidence", "select id::text from evidence where file is not null limit 1"),
            ("staff", "select id::text from staff where email = 'viewer@acme.test'"),
            ("tokens", "select id::text from tokens where staff_id is null limit 1"),
        ] {
            ids.insert(name, one(&stage, sql).await);
        }
        let other_since = one(
            &stage,
            "select to_char(first_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')
             from inbox_conflicts",
        )
        .await;
        ids.insert("operations", open.id.clone());
        let (policy_form, policy) = policy(&stage).await;
        Self { stage, ids, other_since, open, policy_form, policy, reader: None }
    }

    /// With somebody who has come in already, for tests that break the database.
    pub async fn open_with_reader() -> Self {
        let mut world = Self::open().await;
        let cookie = world.browser("operator").await.cookie.unwrap();
        let token = world.staff("operator").await.token.unwrap();
        world.reader = Some((cookie, token));
        world
    }

    pub fn kept_cookie(&self) -> String {
        self.reader.as_ref().unwrap().0.clone()
    }

    pub fn kept_token(&self) -> String {
        self.reader.as_ref().unwrap().1.clone()
    }

    /// A path of the router with this world's records in place of its parameters.
    pub fn path(&self, pattern: &str) -> String {
        let path = pattern.strip_prefix("/api/v1").unwrap_or(pattern);
        let parts: Vec<&str> = path.split('/').collect();
        let filled = parts.iter().enumerate().map(|(n, part)| {
            let collection = n.checked_sub(1).map_or("", |before| parts[before]);
            match *part {
                "{id}" | "{staff_id}" => {
                    let record = self.ids.get(part_of(path).unwrap_or(collection));
                    record.map_or_else(
                        || panic!("{pattern} has no record in this world"),
                        String::as_str,
                    )
                }
                "{evidence_id}" => &self.ids["evidence"],
                "{tenant}" => "acme",
                "{provider}" => "payments",
                "{list}" => "operations",
                "{step_key}" if path.contains("/artifacts/") => "draft",
                "{step_key}" => "mail",
                "{name}" if collection == "artifacts" => "log",
                "{name}" => "invoice.charge",
                "{verb}" => verb(parts[n - 2]),
                "{*path}" => "none",
                other => {
                    assert!(!other.contains('{'), "{pattern} has a parameter without a record");
                    other
                }
            }
        });
        let prefix = if path == pattern { "" } else { "/api/v1" };
        let filled = filled.collect::<Vec<_>>().join("/");
        let query = match path {
            "/workflows/{id}/artifact" => "?step=draft&name=log".to_owned(),
            "/workflows/{id}/reveal" => "?step=draft&artifact=log".to_owned(),
            "/export/{list}" => "?format=csv".to_owned(),
            "/inbox/{id}/other" => format!("?since={}", self.other_since),
            _ => String::new(),
        };
        format!("{prefix}{filled}{query}")
    }

    /// A digest of what people and programs have changed: every row but those that say who asked.
    pub async fn digest(&self) -> String {
        digest(&self.stage, "").await
    }

    /// A colleague's browser.
    pub async fn browser(&self, role: &str) -> Browser<'_> {
        self.stage.browser(&format!("{role}@acme.test")).await
    }

    /// A colleague's program.
    pub async fn staff(&self, role: &str) -> Program<'_> {
        self.stage.staff(&format!("{role}@acme.test")).await
    }
}

/// Pages that only some records of a collection have, by the name of one that does.
fn part_of(path: &str) -> Option<&'static str> {
    match path {
        "/operations/{id}/answer" => Some("answers"),
        "/reveals/{id}/artifact" => Some("revealed artifacts"),
        _ => None,
    }
}

/// A text of the database.
async fn one(stage: &Stage, sql: &'static str) -> String {
    sqlx::query_scalar(sql)
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn verb(collection: &str) -> &'static str {
    match collection {
        "operations" => "confirm",
        "workflows" => "cancel",
        "compensations" => "retry",
        "outbox" => "requeue",
        "inbox" => "run",
        "approvals" => "approve",
        "incidents" => "close",
        "bulks" => "run",
        "staff" => "grant",
        "tokens" => "revoke",
        other => panic!("{other} has no form in this world"),
    }
}
