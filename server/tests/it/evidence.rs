//! Evidence as a file: the one route that takes multipart, by page without JavaScript and by API, and
//! the download that no browser runs.

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use domain::problem::Code;
use serde_json::{Value, json};

use crate::{
    forms::{input, leads_to},
    support::{Answer, Browser, HOST, Operation, Program, Stage, from_our_page},
};

const BOUNDARY: &str = "a-boundary-of-the-tests";
const LIMIT: usize = 5 * 1024 * 1024;

/// A multipart body as a browser writes it.
pub fn multipart(fields: &[(&str, &str)], file: Option<(&str, &[u8])>) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, text) in fields {
        body.extend(
            format!(
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n"
            )
            .bytes(),
        );
    }
    if let Some((name, bytes)) = file {
        body.extend(format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: text/html\r\n\r\n").bytes());
        body.extend(bytes);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").bytes());
    body
}

pub fn kind() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

async fn upload(
    browser: &Browser<'_>,
    path: &str,
    fields: &[(&str, &str)],
    file: Option<(&str, &[u8])>,
) -> Answer {
    let request = from_our_page(Method::POST, path)
        .header(header::COOKIE, browser.cookie.as_deref().unwrap_or_default())
        .header(header::CONTENT_TYPE, kind())
        .body(Body::from(multipart(fields, file)))
        .unwrap();
    browser.stage.send(request).await
}

pub async fn attach(program: &Program<'_>, id: &str, name: &str, bytes: &[u8]) -> Answer {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/api/v1/operations/{id}/evidence"))
        .header(header::HOST, HOST)
        .header(header::AUTHORIZATION, format!("Bearer {}", program.token.as_deref().unwrap()))
        .header(header::CONTENT_TYPE, kind())
        .body(Body::from(multipart(&[], Some((name, bytes)))))
        .unwrap();
    program.stage.send(request).await
}

fn page(target: &Operation) -> String {
    format!("/operations/{}", target.id)
}

#[tokio::test]
async fn a_file_is_attached_before_the_decision_and_everything_typed_comes_back_but_the_choice() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let form = operator.get(&format!("{}/confirm", page(&target))).await.text();
    assert!(form.contains(&format!("formaction=\"{}/evidence\"", page(&target))), "{form}");
    let version = target.version.to_string();
    let typed = [
        ("back", "confirm"),
        ("version", version.as_str()),
        ("outcome", "happened"),
        ("external_reference", "ch_1"),
        ("reason", "their page shows it"),
        ("evidence", "Ticket 7"),
    ];
    let to = format!("{}/evidence", page(&target));
    let sent = upload(&operator, &to, &typed, Some(("page.png", b"PNG"))).await;
    let place = leads_to(&sent, &format!("{}/confirm?attached=1", page(&target)));
    let form = operator.get(place.split('#').next().unwrap()).await.text();
    assert_eq!(input(&form, "reason"), "their page shows it");
    assert_eq!(input(&form, "external_reference"), "ch_1");
    assert_eq!(input(&form, "evidence_kept"), "Ticket 7");
    assert!(form.contains("page.png") && !form.contains("checked=\"\" type=\"radio\""));
    assert!(!form.contains("If the evidence stays empty"));
    let files = input(&form, "evidence_files");

    let mut fields = vec![
        ("id", target.id.as_str()),
        ("version", &version),
        ("outcome", "happened"),
        ("external_reference", "ch_1"),
        ("reason", "their page shows it"),
        ("evidence_files", &files),
        ("file", "forgotten.png"),
    ];
    let forgotten = operator.post("/act/operations/confirm", &fields).await;
    let place = leads_to(
        &forgotten,
        &format!("{}/confirm?refused=unprocessable&field=file", page(&target)),
    );
    let back = operator.get(&place).await.text();
    assert_eq!(input(&back, "evidence_files"), files, "what was attached stays attached");
    fields.pop();
    let receipt = leads_to(&operator.post("/act/operations/confirm", &fields).await, "/receipts/");
    let receipt = operator.get(&receipt).await.text();
    assert!(receipt.contains("page.png"), "{receipt}");
    let shown = operator.get(&page(&target)).await.text();
    assert!(shown.contains(&format!("{}/evidence/{files}", page(&target))), "{shown}");
}

#[tokio::test]
async fn a_file_comes_back_as_bytes_that_no_browser_runs() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let program = stage.staff("operator@acme.test").await;
    let html = b"<script>alert(1)</script>";
    let hostile = "../../a\u{202e}\u{e9} b%22;.html";
    let kept = attach(&program, &target.id, hostile, html).await;
    kept.expect(StatusCode::CREATED);
    let id = kept.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(kept.json()["size"], html.len());
    let again = attach(&program, &target.id, "b.html", html).await;
    again.expect(StatusCode::OK);
    assert_eq!(again.json()["id"], json!(id));
    let browser = stage.browser("viewer@acme.test").await;
    let path = format!("{}/evidence/{id}", page(&target));
    for file in [browser.get(&path).await, program.get(&path).await] {
        file.expect(StatusCode::OK);
        assert_eq!(&file.body[..], html);
        assert_eq!(file.headers[header::CONTENT_TYPE], "application/octet-stream");
        assert_eq!(file.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(file.headers[header::CACHE_CONTROL], "no-store");
        let disposition = file.header("content-disposition");
        assert!(disposition.starts_with("attachment; filename=\""), "{disposition}");
        assert!(!disposition.contains("..") && disposition.is_ascii(), "{disposition}");
    }
    let theirs = stage.browser("operator@globex.test").await;
    theirs.get(&path).await.expect(StatusCode::NOT_FOUND);
    stage.staff("operator@globex.test").await.get(&path).await.refused(Code::NotFound);
}

#[tokio::test]
async fn what_may_not_be_attached_leaves_nothing() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let program = stage.staff("operator@acme.test").await;
    let viewer = stage.browser("viewer@acme.test").await;
    let globex = stage.staff("operator@globex.test").await;
    let service = stage.service("acme").await;
    let before = stage.effects().await;
    let to = format!("{}/evidence", page(&target));
    let large = vec![b'x'; LIMIT + 1];
    let refused = attach(&program, &target.id, "f", &large).await;
    refused.refused(Code::TooLarge);
    assert!(refused.json()["detail"].as_str().unwrap().contains(&LIMIT.to_string()));
    upload(&operator, &to, &[], Some(("f", &large))).await.expect(StatusCode::PAYLOAD_TOO_LARGE);
    let empty = upload(&operator, &to, &[], None).await;
    leads_to(&empty, &format!("{to}?refused=unprocessable&field=file"));
    let refused = upload(&viewer, &to, &[], Some(("f", b"x"))).await;
    leads_to(&refused, &format!("{to}?refused=permission_missing"));
    attach(&globex, &target.id, "f", b"x").await.refused(Code::NotFound);
    program.post(&to, &json!({})).await.refused(Code::UnsupportedMediaType);
    attach(&service, &target.id, "f", b"x").await.refused(Code::TokenScope);
    assert_eq!(stage.effects().await, before);
    let limit = vec![b'x'; LIMIT];
    attach(&program, &target.id, "f", &limit).await.expect(StatusCode::CREATED);
}

#[tokio::test]
async fn multipart_is_taken_on_its_one_path_from_our_own_page_alone() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let program = stage.staff("operator@acme.test").await;
    let before = stage.effects().await;
    let to = format!("{}/evidence", page(&target));
    for site in ["cross-site", "same-site", "none"] {
        let request = Request::builder()
            .method(Method::POST)
            .uri(&to)
            .header(header::HOST, HOST)
            .header(header::COOKIE, operator.cookie.as_deref().unwrap())
            .header("sec-fetch-site", site)
            .header(header::CONTENT_TYPE, kind())
            .body(Body::from(multipart(&[], Some(("f", b"x")))))
            .unwrap();
        stage.send(request).await.expect(StatusCode::FORBIDDEN);
    }
    let elsewhere = [
        "/act/operations/confirm".to_owned(),
        "/act/records/reveal".to_owned(),
        "/sign-out".to_owned(),
        format!("{}/confirm", page(&target)),
        format!("{}/evidence/1", page(&target)),
    ];
    for path in elsewhere {
        let answer = upload(&operator, &path, &[("id", &target.id)], Some(("f", b"x"))).await;
        assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{path}");
    }
    let urlencoded = operator.post(&to, &[("file", "x")]).await;
    urlencoded.expect(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    for call in ["confirm", "reveal"] {
        let path = format!("/api/v1/operations/{}/actions/{call}", target.id);
        let request = Request::builder()
            .method(Method::POST)
            .uri(&path)
            .header(header::HOST, HOST)
            .header(header::AUTHORIZATION, format!("Bearer {}", program.token.as_deref().unwrap()))
            .header(header::CONTENT_TYPE, kind())
            .body(Body::from(multipart(&[], Some(("f", b"x")))))
            .unwrap();
        stage.send(request).await.refused(Code::UnsupportedMediaType);
    }
    assert_eq!(stage.effects().await, before);
    let answered: Value = program.get(&format!("/operations/{}", target.id)).await.json();
    assert_eq!(answered["evidence"], json!([]));
}
