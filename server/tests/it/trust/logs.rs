//! T33, T34: the log of the program itself, at its most talkative: one JSON object a line whatever people
//! write, and none of their secrets.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{
    elsewhere_down::Down,
    world::{CANARIES, World, payload},
};
use crate::support::{PASSWORD, WEBHOOK_SECRET};

/// How long a worker may take to come to what was queued.
const LIMIT: Duration = Duration::from_secs(60);

/// A line of its own, were the log no JSON; and what a terminal would obey.
const FORGED: &str = "x\n{\"level\":\"ERROR\",\"forged\":true}\u{1b}[2J\r\n\u{2028}forged";

/// The program, its address, and the file that its log goes to.
struct Running {
    child: Child,
    addr: String,
    log: PathBuf,
}

impl Running {
    /// With a provider and a destination of events that lie at `down`.
    fn start(url: &str, down: &Down) -> Self {
        let log = std::env::temp_dir()
            .join(format!("onceover-log-{}", hex::encode(rand::random::<[u8; 6]>())));
        let webhooks = format!("payments={WEBHOOK_SECRET}");
        let provider = format!("payments.charges=http://{}/charges", down.addr);
        let destination = format!("crm=http://{}/events", down.addr);
        let signed = format!("crm={WEBHOOK_SECRET}");
        let mut child = Command::new(env!("CARGO_BIN_EXE_onceover"))
            .arg("serve")
            .env_clear()
            .envs([
                ("DATABASE_URL", url),
                ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET),
                ("ONCEOVER_WEBHOOK_SECRETS", &webhooks),
                ("ONCEOVER_PROVIDERS", &provider),
                ("ONCEOVER_DESTINATIONS", &destination),
                ("ONCEOVER_DESTINATION_SECRETS", &signed),
                ("ONCEOVER_PRIVATE_DESTINATIONS", "crm"),
                ("ONCEOVER_ADDR", "127.0.0.1:0"),
                ("ONCEOVER_LOG", "trace"),
            ])
            // A pipe of ours: it ends with this process.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut told = String::new();
        let mut byte = [0];
        let out = child.stdout.as_mut().unwrap();
        while !told.ends_with('\n') && out.read(&mut byte).unwrap() == 1 {
            told.push(char::from(byte[0]));
        }
        let addr = told.trim().strip_prefix("ready: http://").unwrap_or_else(|| panic!("{told}"));
        Self { addr: addr.trim_end_matches('/').to_owned(), child, log }
    }

    /// One request on a connection of its own; the whole answer.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut stream = TcpStream::connect(&self.addr).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.addr);
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Stops it and returns what it wrote.
    fn stop(mut self) -> String {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
        self.child.wait().unwrap();
        let log = std::fs::read_to_string(&self.log).unwrap();
        std::fs::remove_file(&self.log).unwrap();
        log
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends every kind of input there is, with something in it that no log may hold.
fn say_everything(running: &Running, service: &str, staff: &str, cookie: &str, id: &str) -> usize {
    let bearer = |token: &str| format!("Bearer {token}");
    let (service, staff) = (bearer(service), bearer(staff));
    let form = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("sec-fetch-site", "same-origin"),
        ("cookie", cookie),
        ("accept", "text/html"),
    ];
    let call = |token: &'_ str| {
        [("content-type", "application/json".to_owned()), ("authorization", token.to_owned())]
    };
    let [card, iban, token, _] = CANARIES;
    let mut sent = 0;
    let mut post = |path: &str, token: &str, body: &Value| {
        let headers = call(token);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = running.send("POST", &format!("/api/v1{path}"), &headers, &body.to_string());
        assert!(
            answer.starts_with("HTTP/1.1 ") && !answer.starts_with("HTTP/1.1 5"),
            "{path}: {answer}"
        );
        sent += 1;
        answer
    };
    post(
        "/operations",
        &service,
        &json!({
            "operation": "invoice.charge", "key": "INV-LOGGED", "payload": payload("INV-LOGGED", 100),
        }),
    );
    post(
        "/operations",
        &service,
        &json!({ "operation": card, "key": iban, "payload": payload("x", 1) }),
    );
    post("/operations", &bearer(token), &json!({}));
    let confirm = |reason: &str| {
        json!({
            "version": 1, "outcome": "happened", "external_reference": iban, "reason": reason, "evidence": card,
        })
    };
    post(&format!("/operations/{id}/actions/confirm"), &staff, &confirm(FORGED));
    post(&format!("/operations/{id}/actions/confirm"), &staff, &confirm(card));
    post(&format!("/operations/{id}/notes"), &staff, &json!({ "form_key": "fk-l", "text": card }));
    post(
        &format!("/operations/{id}/notes"),
        &staff,
        &json!({ "form_key": "fk-m", "text": FORGED }),
    );
    let signing = [("email", "operator@acme.test"), ("password", PASSWORD), ("next", "/")];
    let wrong = [("email", FORGED), ("password", CANARIES[3]), ("next", "/")];
    for fields in [signing, wrong] {
        running.send("POST", "/sign-in", &form, &crate::support::form(&fields));
        sent += 1;
    }
    let noted = [("id", id), ("form_key", "fk-n"), ("text", card)];
    running.send("POST", "/act/records/note", &form, &crate::support::form(&noted));
    for path in [
        format!("/search?q={card}"),
        format!("/operations?q={iban}"),
        format!("/operations/{card}"),
        "/me".to_owned(),
    ] {
        running.send("GET", &path, &form, "");
        sent += 1;
    }
    sent + 1
}

/// Leaves work for the program's own workers: a call that its provider fails, an event that its destination
/// refuses, each with something in it that no log may hold; until both were tried.
fn leave_work(running: &Running, service: &str, down: &Down) -> usize {
    let bearer = format!("Bearer {service}");
    let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
    let post = |path: &str, body: &Value| -> Value {
        let answer = running.send("POST", &format!("/api/v1{path}"), &headers, &body.to_string());
        assert!(answer.starts_with("HTTP/1.1 2"), "{path}: {answer}");
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    };
    let ask = |key: &str, mode: &str| {
        json!({
            "operation": "invoice.charge", "key": key, "mode": mode, "payload": payload(key, 100),
        })
    };
    post("/operations", &ask("INV-QUEUED", "queued"));
    let won = post("/operations", &ask("INV-TOLD", "inline"));
    let (id, fence) = (won["id"].as_str().unwrap(), &won["fence"]);
    post(&format!("/operations/{id}/start"), &json!({ "fence": fence }));
    let finish = json!({
        "fence": fence, "outcome": "done", "external_reference": "ch_7",
        "events": [{
            "aggregate": "INV-TOLD", "topic": "invoice.paid", "payload": payload("INV-TOLD", 100),
        }],
    });
    post(&format!("/operations/{id}/finish"), &finish);
    let begun = Instant::now();
    let (mut called, mut told) = (0, 0);
    while called == 0 || told == 0 {
        let left = LIMIT.saturating_sub(begun.elapsed());
        let asked = down.asked(left).unwrap_or_else(|| panic!("{called} calls, {told} events"));
        called += usize::from(asked.contains("POST /charges") && asked.contains("INV-QUEUED"));
        told += usize::from(asked.contains("POST /events") && asked.contains("INV-TOLD"));
    }
    called + told
}

#[tokio::test]
async fn the_programs_log_is_one_object_a_line_and_holds_no_secret() {
    let world = World::open().await;
    let service = world.stage.service("acme").await.token.unwrap();
    let staff = world.staff("operator").await.token.unwrap();
    let cookie = world.browser("operator").await.cookie.unwrap();
    let (url, id) = (world.stage.database.url(), world.open.id.clone());
    let session = cookie.split_once('=').unwrap().1.to_owned();
    let secrets = [service.clone(), staff.clone(), session];
    let (log, sent) = tokio::task::spawn_blocking(move || {
        let down = Down::open();
        let running = Running::start(&url, &down);
        let sent = say_everything(&running, &service, &staff, &cookie, &id);
        let sent = sent + leave_work(&running, &service, &down);
        (running.stop(), sent)
    })
    .await
    .unwrap();
    assert!(log.lines().count() > sent, "it writes at its most talkative:\n{log}");
    for line in log.lines() {
        let entry: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(entry["level"].is_string() && entry.get("forged").is_none(), "{line}");
        assert!(!line.contains('\u{1b}') && !line.contains("forged\":true}"), "{line}");
    }
    for secret in CANARIES
        .into_iter()
        .chain([PASSWORD, WEBHOOK_SECRET])
        .chain(secrets.iter().map(String::as_str))
    {
        let line = log.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "{secret} is in the log: {}", line.unwrap_or_default());
    }
    testkit::threat("T33", sent, 0);
    testkit::threat("T34", sent, 0);
}
