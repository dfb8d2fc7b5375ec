//! Incidents over HTTP: gathered from a page or by a program, once; noted; taken away as a report that
//! tells when it is altered, and that shows nothing masked.

use axum::http::StatusCode;
use domain::problem::Code;
use engine::store::kind::KindPolicy;
use serde_json::{Value, json};
use server::report::{Altered, verify};
use uuid::Uuid;

use crate::{
    command_line::{onceover, refuses},
    forms::{input, leads_to, refused_form},
    support::{Answer, Browser, Operation, Program, Stage, charge},
};

/// The most that a page may weigh.
const BOUND: usize = 300_000;
/// What no report may show: it stands in a masked field alone.
const CANARY: &str = "4111-1111-1111-1111";

async fn get(browser: &Browser<'_>, path: &str) -> String {
    let page = browser.get(path).await;
    page.expect(StatusCode::OK);
    assert!(page.body.len() < BOUND, "{path}: {} bytes", page.body.len());
    page.text()
}

/// Opens an incident from the page of a record, and returns its id.
async fn opened(browser: &Browser<'_>, target: &Operation) -> String {
    let record = format!("operation/{}", target.id);
    let page = get(browser, &format!("/incidents/gather?record={record}")).await;
    let id = input(&page, "id");
    let fields = [
        ("records", record.as_str()),
        ("id", &id),
        ("incident", "new"),
        ("summary", "A charge without an answer"),
        ("reason", "the provider was down"),
    ];
    leads_to(&browser.post("/act/incidents/gather", &fields).await, "/receipts/");
    id
}

async fn count(stage: &Stage, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(stage.database.owner_pool()).await.unwrap()
}

#[tokio::test]
async fn a_record_is_gathered_from_its_page_once_and_the_form_ends_at_the_receipt() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let other = stage.unknown("acme", "INV-2").await;
    let theirs = stage.unknown("globex", "INV-3").await;
    let operator = stage.browser("operator@acme.test").await;
    let page = get(&operator, &format!("/operations/{}", target.id)).await;
    let way = format!("/incidents/gather?record=operation/{}", target.id);
    assert!(page.contains(&format!("href=\"{way}\"")), "{page}");

    // What another tenant has is not found, and what is no record is not either.
    let page = get(&operator, &format!("{way}&record=operation/{}&record=x", theirs.id)).await;
    assert!(page.contains("2 of the records picked were not found here."), "{page}");
    assert!(page.contains("INV-1") && !page.contains("INV-3"));
    assert!(!page.contains("checked"), "nothing is chosen beforehand: {page}");
    let (id, records) = (input(&page, "id"), input(&page, "records"));
    assert_eq!(records, format!("operation/{}", target.id));

    let post = async |browser: &Browser<'_>, incident: &str, records: &str| {
        let fields = [
            ("records", records),
            ("id", &id),
            ("incident", incident),
            ("summary", "A charge <b>without</b> an answer"),
            ("reason", "the provider was down"),
        ];
        browser.post("/act/incidents/gather", &fields).await
    };
    let unchosen = post(&operator, "", &records).await;
    refused_form(&unchosen, "/incidents/gather", Code::Unprocessable);
    let page = get(&operator, unchosen.header("location")).await;
    assert!(page.contains("data-code=\"unprocessable\"") && page.contains("Choose a new one"));
    assert_eq!(input(&page, "summary"), "A charge <b>without</b> an answer");
    assert_eq!((input(&page, "id"), input(&page, "records")), (id.clone(), records.clone()));
    let viewer = stage.browser("viewer@acme.test").await;
    let refused = post(&viewer, "new", &records).await;
    refused_form(&refused, "/incidents/gather", Code::PermissionMissing);
    let page = get(&viewer, refused.header("location")).await;
    assert!(page.contains("data-code=\"permission_missing\""));
    assert!(page.contains("open, gather and close incidents"));
    let foreign = post(&operator, "new", &format!("operation/{}", theirs.id)).await;
    refused_form(&foreign, "/incidents/gather", Code::NotFound);

    let first = leads_to(&post(&operator, "new", &records).await, "/receipts/");
    let again = leads_to(&post(&operator, "new", &records).await, "/receipts/");
    assert_eq!(again.split('?').next(), first.split('?').next());
    assert_eq!(count(&stage, "select count(*) from incidents").await, 1);

    // The open one is offered with its version; a page that is older than it is told so.
    let way = format!("/incidents/gather?record=operation/{}", other.id);
    let page = get(&operator, &way).await;
    assert!(page.contains(&format!("value=\"{id}@1\"")), "{page}");
    let more = format!("operation/{}", other.id);
    leads_to(&post(&operator, &format!("{id}@1"), &more).await, "/receipts/");
    let approver = stage.browser("approver@acme.test").await;
    let stale = post(&approver, &format!("{id}@1"), &records).await;
    refused_form(&stale, "/incidents/gather", Code::DecidedOtherwise);
    let page = get(&viewer, &format!("/incidents/{id}")).await;
    assert!(page.contains("INV-1") && page.contains("INV-2"), "{page}");
    assert!(page.contains("A person opened the incident.") && page.contains("operation INV-2"));

    let form = get(&operator, &format!("/incidents/{id}/remove?version=2")).await;
    assert!(form.contains(&format!("value=\"{more}\"")), "{form}");
    let fields = [
        ("target_type", "incident"),
        ("id", id.as_str()),
        ("verb", "remove"),
        ("version", "2"),
        ("records", &more),
        ("reason", "another story"),
    ];
    leads_to(&operator.post("/act/records/decide", &fields).await, "/receipts/");
    assert_eq!(count(&stage, "select count(*) from incident_records").await, 1);
}

#[tokio::test]
async fn notes_are_left_on_every_kind_of_record_and_stand_in_the_story() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let target = stage.unknown("acme", "INV-1").await;
    service.reserve("INV-1", 200).await.refused(Code::KeyReused);
    let operator = stage.browser("operator@acme.test").await;
    let program = stage.staff("operator@acme.test").await;
    let id = opened(&operator, &target).await;
    let of = async |list: &str| {
        program.get(list).await.json()["items"][0]["id"].as_str().unwrap().to_owned()
    };
    let (event, conflict) = (of("/outbox").await, of("/conflicts").await);
    for (kind, page, id) in [
        ("incident", "/incidents", &id),
        ("outbox", "/outbox", &event),
        ("conflict", "/conflicts", &conflict),
        ("operation", "/operations", &target.id),
    ] {
        let place = format!("{page}/{id}");
        let text = format!("rang them about the {kind}");
        let form = get(&operator, &place).await;
        let key = input(&form, "form_key");
        let fields =
            [("target_type", kind), ("id", id), ("form_key", key.as_str()), ("text", &text)];
        for _ in 0..2 {
            let answer = operator.post("/act/records/note", &fields).await;
            assert_eq!(leads_to(&answer, &place), format!("{place}#notes"));
        }
        assert!(get(&operator, &place).await.contains(&text), "{place}");
        let viewer = stage.browser("viewer@acme.test").await;
        let refused = viewer.post("/act/records/note", &fields).await;
        refused_form(&refused, &place, Code::PermissionMissing);
        let page = get(&viewer, refused.header("location")).await;
        assert!(page.contains("What you wrote was not stored:"), "{place}");
    }
    assert_eq!(count(&stage, "select count(*) from notes").await, 4);
    let story = program.get(&format!("/incidents/{id}/timeline")).await.json().to_string();
    assert!(story.contains("about the incident") && story.contains("about the operation"));

    let note = json!({ "form_key": "f-1", "text": "by a program" });
    let path = format!("/conflicts/{conflict}/notes");
    for _ in 0..2 {
        program.post(&path, &note).await.expect(StatusCode::NO_CONTENT);
    }
    assert_eq!(count(&stage, "select count(*) from notes").await, 5);
    program.post(&path, &json!({ "form_key": "f-2" })).await.refused(Code::Unprocessable);
    let stranger = stage.staff("operator@globex.test").await;
    stranger.post(&path, &note).await.refused(Code::NotFound);
}

#[tokio::test]
async fn a_program_opens_gathers_and_takes_out_once_each() {
    let stage = Stage::open().await;
    let (one, two) = (stage.unknown("acme", "ONE").await, stage.unknown("acme", "TWO").await);
    let program = stage.staff("operator@acme.test").await;
    let id = Uuid::now_v7();
    let open = json!({
        "id": id, "summary": "A charge without an answer", "reason": "the provider was down",
        "records": [format!("operation/{}", one.id)],
    });
    let first = program.post("/incidents", &open).await;
    first.expect(StatusCode::OK);
    let again = program.post("/incidents", &open).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(first.json()["id"], again.json()["id"]);
    let change = |version: i64| json!({ "version": version, "reason": "both of them", "records": [format!("operation/{}", two.id)] });
    let (add, remove) =
        (format!("/incidents/{id}/actions/add"), format!("/incidents/{id}/actions/remove"));
    program.post(&add, &change(1)).await.expect(StatusCode::OK);
    program.post(&add, &change(1)).await.expect(StatusCode::OK);
    program.post(&remove, &change(1)).await.refused(Code::Stale);
    let shown = program.get(&format!("/incidents/{id}")).await.json();
    assert_eq!((&shown["version"], shown["records"].as_array().unwrap().len()), (&json!(2), 2));
    assert_eq!(shown["records"][1]["added_by"], "operator@acme.test");
    program.post(&remove, &change(2)).await.expect(StatusCode::OK);
    for records in [json!(["operation"]), json!(["lease/x"]), json!("x"), json!([])] {
        let body = json!({ "version": 3, "reason": "x", "records": records });
        program.post(&add, &body).await.refused(Code::Unprocessable);
    }
    let viewer = stage.staff("viewer@acme.test").await;
    viewer.post("/incidents", &open).await.refused(Code::PermissionMissing);
    viewer.get(&format!("/incidents/{id}/timeline?cursor=x")).await.refused(Code::FilterInvalid);
    viewer.get(&format!("/incidents/{id}/report?format=pdf")).await.refused(Code::FilterInvalid);
}

/// An incident about a payment with a masked field and a key that a spreadsheet would run.
async fn reported(stage: &Stage) -> (String, Operation) {
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    let kind = KindPolicy { masked_pointers: vec!["/card".into()], ..charge() };
    admin.put_kind(tenant, &kind).await.unwrap();
    let service = stage.service("acme").await;
    let reserve = json!({
        "operation": "invoice.charge", "key": "=HYPERLINK(\"https://e.example\")",
        "payload": { "invoice_id": "INV-1", "amount_minor": 12_900, "currency": "EUR", "card": CANARY },
    });
    let won = service.post("/operations", &reserve).await;
    won.expect(StatusCode::CREATED);
    let (id, fence) = (won.json()["id"].as_str().unwrap().to_owned(), won.json()["fence"].clone());
    let fence = json!({ "fence": fence });
    service.post(&format!("/operations/{id}/start"), &fence).await.expect(StatusCode::OK);
    let finish = json!({ "fence": fence["fence"], "outcome": "ambiguous" });
    let finished = service.post(&format!("/operations/{id}/finish"), &finish).await;
    finished.expect(StatusCode::OK);
    let target = Operation { id, version: finished.json()["version"].as_i64().unwrap() };
    let operator = stage.browser("operator@acme.test").await;
    let incident = opened(&operator, &target).await;
    let text = "@SUM(A1)\n# not a heading\nFile hash: sha256:00 <script>alert(1)</script>";
    let fields =
        [("target_type", "incident"), ("id", &incident), ("form_key", "f-1"), ("text", text)];
    leads_to(&operator.post("/act/records/note", &fields).await, "/incidents/");
    (incident, target)
}

async fn file(browser: &Browser<'_>, id: &str, format: &str) -> Answer {
    let file = browser.get(&format!("/incidents/{id}/report?format={format}")).await;
    file.expect(StatusCode::OK);
    file
}

#[tokio::test]
async fn a_report_says_whether_it_is_as_it_was_written() {
    let stage = Stage::open().await;
    let (id, _) = reported(&stage).await;
    let viewer = stage.browser("viewer@acme.test").await;
    let auditor = stage.browser("auditor@acme.test").await;
    let page = get(&viewer, &format!("/incidents/{id}/report")).await;
    let content = file(&viewer, &id, "json").await.json()["content_hash"].clone();
    let content = content.as_str().unwrap();
    assert!(page.contains(content), "the page names the hash that the files carry");
    assert!(page.contains("<table"), "{page}");

    let folder = std::env::temp_dir().join(format!("onceover-report-{id}"));
    std::fs::create_dir_all(&folder).unwrap();
    for format in ["md", "json", "csv"] {
        let answer = file(&auditor, &id, format).await;
        for (name, value) in [
            ("content-disposition", format!("attachment; filename=\"incident-{id}.{format}\"")),
            ("x-content-type-options", "nosniff".into()),
            ("cache-control", "no-store".into()),
        ] {
            assert_eq!(answer.header(name), value, "{format}");
        }
        let bytes = answer.body.to_vec();
        let unaltered = verify(&bytes).unwrap_or_else(|why| panic!("{format}: {why}"));
        assert_eq!(
            unaltered.content_hash.as_deref(),
            Some(content),
            "{format}: one state, one hash"
        );
        assert!(answer.text().contains("auditor@acme.test"), "{format} says who took it");

        // Any one byte tells, wherever it stands.
        for at in (0..bytes.len()).step_by(97).chain([bytes.len() - 20]) {
            let mut other = bytes.clone();
            other[at] = if other[at] == b'7' { b'8' } else { b'7' };
            assert!(verify(&other).is_err(), "{format}: byte {at}");
        }
        assert!(verify(&bytes[..bytes.len() - 30]).is_err(), "{format}: cut");

        let path = folder.join(format!("report.{format}"));
        std::fs::write(&path, &bytes).unwrap();
        let path = path.to_str().unwrap();
        let told = onceover(&["report", "verify", path], &[], "");
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(told.contains("unaltered") && told.contains(content), "{told}");
        let altered = answer.text().replacen("the provider was down", "the provider was up", 1);
        std::fs::write(path, altered).unwrap();
        refuses(&onceover(&["report", "verify", path], &[], ""), "altered");
    }
    assert_eq!(verify(b"not a report"), Err(Altered::NoReport));
    refuses(&onceover(&["report", "verify", "/no/such/file"], &[], ""), "/no/such/file");
    std::fs::remove_dir_all(folder).unwrap();
    let taken =
        "select count(*) from audit where action = 'export_report' and actor = 'auditor@acme.test'
        and after ->> 'content_hash' like 'sha256:%' and after ->> 'file_hash' like 'sha256:%'";
    assert_eq!(count(&stage, taken).await, 3);
    let operator = stage.browser("operator@globex.test").await;
    let path = format!("/incidents/{id}/report");
    operator.get(&path).await.expect(StatusCode::NOT_FOUND);
    operator.get(&format!("{path}?format=json")).await.expect(StatusCode::NOT_FOUND);
    stage.stranger().get(&format!("{path}?format=json")).await.expect(StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_report_shows_nothing_masked_and_nothing_in_it_runs() {
    let stage = Stage::open().await;
    let (id, target) = reported(&stage).await;
    let approver = stage.browser("approver@acme.test").await;
    let page = get(&approver, &format!("/operations/{}", target.id)).await;
    assert!(page.contains("invoice_id"), "the payload is there to leak");
    for format in ["md", "json", "csv"] {
        let text = file(&approver, &id, format).await.text();
        assert!(!text.contains(CANARY), "{format}");
        assert!(text.contains("unknown") && text.contains("the provider was down"), "{format}");
    }
    assert!(!get(&approver, &format!("/incidents/{id}/report")).await.contains(CANARY));

    let markdown = file(&approver, &id, "md").await.text();
    assert!(!markdown.contains('<') && !markdown.contains("https://"), "{markdown}");
    assert!(!markdown.lines().any(|line| line.starts_with("# not")), "{markdown}");
    assert_eq!(markdown.lines().filter(|line| line.starts_with("File hash: ")).count(), 1);

    let table = file(&approver, &id, "csv").await.text();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(table.as_bytes());
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert!(rows.iter().any(|row| row.iter().any(|cell| cell.starts_with("'=HYPERLINK"))));
    assert!(rows.iter().any(|row| row.iter().any(|cell| cell.starts_with("'@SUM"))));
    for cell in rows.iter().flat_map(|row| row.iter()).filter(|cell| !cell.is_empty()) {
        let first = cell.chars().next().unwrap();
        assert!(first == '\'' || first.is_alphanumeric() || first == '(', "{cell}");
    }
    testkit::threat("T35", 1, 0);
}

/// Gathers a thousand operations into an incident, as people would in five forms.
async fn thousand(stage: &Stage, id: &str) {
    for sql in [
        "alter table operations disable trigger user",
        "insert into operations (tenant_id, operation, key, hash, hash_version, status, amount_minor, currency,
           max_attempts, created_by_kind, created_by)
         select tenant_id, operation, 'many ' || repeat('k', 80) || n, hash, 1, 'reserved', amount_minor, currency, 3,
           'service', 'planted'
         from operations, generate_series(1, 999) n where key = 'INV-1'",
        "insert into operation_events (tenant_id, operation_id, move, to_status, version, fence, attempt, actor_kind, actor)
         select tenant_id, id, 'O1', 'reserved', n, 1, 0, 'service', 'planted'
         from operations, generate_series(1, 3) n where key like 'many %'",
    ] {
        sqlx::query(sql).execute(stage.database.owner_pool()).await.unwrap();
    }
    let sql = "insert into incident_records (tenant_id, incident_id, target_type, target_id, added_by)
        select tenant_id, $1, 'operation', id, 'operator@acme.test' from operations where key like 'many %'";
    let id = Uuid::try_parse(id).unwrap();
    sqlx::query(sql).bind(id).execute(stage.database.owner_pool()).await.unwrap();
}

#[tokio::test]
async fn no_page_grows_with_a_thousand_records_and_the_files_hold_all() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let id = opened(&operator, &target).await;
    thousand(&stage, &id).await;
    let page = get(&operator, &format!("/incidents/{id}")).await;
    assert!(page.contains("1 to 50 of 1000") && page.contains("What happened next"));
    let next = page.split("?after=").nth(1).unwrap().split(['"', '#']).next().unwrap();
    assert!(
        get(&operator, &format!("/incidents/{id}?after={next}")).await.contains("The beginning")
    );
    get(&operator, &format!("/incidents/{id}/close")).await;
    get(&operator, &format!("/incidents/{id}/remove")).await;
    let page = get(&operator, &format!("/incidents/{id}/report")).await;
    assert!(page.contains("800 more stand in the files."), "{page}");
    let report = file(&operator, &id, "json").await.json();
    assert_eq!(report["report"]["records"].as_array().unwrap().len(), 1_000);
    assert_eq!(report["report"]["stake"][0]["amount_minor"], 12_900_000);

    let names: Vec<String> = sqlx::query_scalar(
        "select 'operation/' || id from operations where key like 'many %' limit 201",
    )
    .fetch_all(stage.database.owner_pool())
    .await
    .unwrap();
    let way = |names: &[String]| format!("/incidents/gather?record={}", names.join("&record="));
    let minted = input(&get(&operator, &way(&names[..200])).await, "id");
    let refused = operator.get(&way(&names)).await;
    refused.expect(StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text().contains("At most 200 at once"), "{}", refused.text());
    let records = names.join(" ");
    let fields =
        [("records", records.as_str()), ("id", &minted), ("incident", "new"), ("reason", "x")];
    let refused = operator.post("/act/incidents/gather", &fields).await;
    refused_form(&refused, "/incidents/gather", Code::Unprocessable);
    assert!(operator.get(refused.header("location")).await.text().contains("At most 200 at once"));
    let program: Program<'_> = stage.staff("operator@acme.test").await;
    let whole: Value = program.get(&format!("/incidents/{id}")).await.json();
    assert_eq!(whole["story"].as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn conflicts_and_requests_are_picked_in_their_lists_for_an_incident_and_for_nothing_else() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    stage.service("acme").await.reserve("INV-1", 1).await.refused(Code::KeyReused);
    stage.database.advance_clock(std::time::Duration::from_secs(20)).await;
    let denied = json!({
        "version": target.version, "outcome": "not_happened_stop", "reason": "it never arrived",
    });
    let confirm = format!("/operations/{}/actions/confirm", target.id);
    let asked = stage.staff("operator@acme.test").await.post(&confirm, &denied).await;
    asked.expect(StatusCode::ACCEPTED);

    let (operator, viewer) =
        (stage.browser("operator@acme.test").await, stage.browser("viewer@acme.test").await);
    let mut picked = Vec::new();
    for (list, record) in [("/conflicts", "conflict"), ("/approvals", "approval")] {
        let page = get(&operator, list).await;
        let bar = page.split_once("id=\"selection\"").unwrap().1.split_once("</form>").unwrap().0;
        assert!(bar.contains("action=\"/incidents/gather\""), "{list}: {bar}");
        assert!(bar.contains("Gather into an incident") && !bar.contains("name=\"bulk\""), "{bar}");
        let name = page.split_once(&format!("value=\"{record}/")).unwrap().1;
        picked.push(format!("{record}/{}", name.split('"').next().unwrap()));

        let seen = get(&viewer, list).await;
        assert!(seen.contains("lacks the right to open, gather and close incidents"), "{list}");
        assert!(!seen.contains(&format!("value=\"{record}/")), "{list}: nothing to pick by");
    }
    for list in ["/incidents", "/audit"] {
        let page = stage.browser("auditor@acme.test").await.get(list).await.text();
        assert!(!page.contains("id=\"selection\""), "{list}");
    }
    // What the form sends leads to the page that gathers both.
    let page =
        get(&operator, &format!("/incidents/gather?record={}&record={}", picked[0], picked[1]))
            .await;
    for record in &picked {
        assert!(page.contains(record.as_str()), "{record}: {page}");
    }
}
