//! Variants of actions that take a second person, as plain forms: each is offered where it makes sense, is
//! sent without scripts, and changes nothing by being asked for.

use std::time::Duration;

use axum::http::StatusCode;
use domain::problem::Code;
use serde_json::json;

use crate::{
    forms::{input, leads_to, refused_form},
    step_up::{asks, cookie, prove},
    support::{Answer, Browser, Operation, PASSWORD, Stage},
};

/// Longer than a factor counts.
const LATER: Duration = Duration::from_secs(5 * 60 + 1);

/// The attributes of the box of this name, where the page has it.
fn tick(page: &str, name: &str) -> Option<String> {
    let name = format!("name=\"{name}\"");
    let boxes = page.split("<input").map(|rest| rest.split('>').next().unwrap_or_default());
    boxes.filter(|tag| tag.contains("checkbox")).find(|tag| tag.contains(&name)).map(str::to_owned)
}

/// The one request that waits, approved by the approver; where the record stands then.
async fn approved(stage: &Stage) -> String {
    let approver = stage.staff("approver@acme.test").await;
    let waiting = approver.get("/approvals").await.json();
    let id = waiting["items"][0]["id"].as_str().unwrap().to_owned();
    let acted = approver
        .post(
            &format!("/approvals/{id}/actions/approve"),
            &json!({ "version": 1, "reason": "seen" }),
        )
        .await;
    acted.expect(StatusCode::OK);
    acted.json()["after"]["status"].as_str().unwrap().to_owned()
}

/// An unknown outcome of which the provider's webhook says that it happened under another reference.
async fn contradicted(stage: &Stage) -> Operation {
    let target = stage.unknown("acme", "INV-1").await;
    stage.webhook_said_done(&target.id).await;
    target
}

async fn confirm(browser: &Browser<'_>, target: &Operation, overrides: &str) -> Answer {
    let version = target.version.to_string();
    let fields = [
        ("id", target.id.as_str()),
        ("version", &version),
        ("outcome", "happened"),
        ("external_reference", "ch_1"),
        ("reason", "their page was wrong, I rang them"),
        ("override", overrides),
    ];
    let fields = if overrides.is_empty() { &fields[..5] } else { &fields[..] };
    browser.post("/act/operations/confirm", fields).await
}

#[tokio::test]
async fn a_contradicted_confirmation_is_overridden_from_its_refused_form_by_two_people() {
    let stage = Stage::open().await;
    let target = contradicted(&stage).await;
    let operator = stage.browser("operator@acme.test").await;
    let viewer = stage.browser("viewer@acme.test").await;
    let form = format!("/operations/{}/confirm", target.id);
    let opened = operator.get(&form).await.text();
    assert!(tick(&opened, "override").is_none(), "nothing is overridden unread: {opened}");

    let before = stage.effects().await;
    let refused = confirm(&operator, &target, "").await;
    refused_form(&refused, &form, Code::ProviderContradicts);
    assert_eq!(stage.effects().await, before);
    let page = operator.get(refused.header("location")).await.text();
    let offered = tick(&page, "override").unwrap_or_else(|| panic!("a dead end: {page}"));
    assert!(!offered.contains("checked"), "{offered}");
    assert_eq!(input(&page, "override"), "true");
    assert!(page.contains("asks a second person") && page.contains("Send the chosen outcome"));
    refused_form(&confirm(&operator, &target, "").await, &form, Code::ProviderContradicts);

    let not_theirs = confirm(&viewer, &target, "true").await;
    refused_form(&not_theirs, &form, Code::PermissionMissing);
    assert_eq!(stage.effects().await, before);

    let place = leads_to(&confirm(&operator, &target, "true").await, "/operations/");
    assert_eq!(place, format!("/operations/{}#approvals", target.id));
    let waits = operator.get(&place).await.text();
    assert!(waits.contains("Waits for a second person"), "{waits}");
    assert!(waits.contains("data-status=\"unknown\""), "nothing is done by asking: {waits}");
    assert_eq!(approved(&stage).await, "succeeded");
}

#[tokio::test]
async fn an_override_that_waited_for_the_factor_comes_back_ticked() {
    let stage = Stage::open().await;
    let target = contradicted(&stage).await;
    let operator = stage.browser("operator@acme.test").await;
    stage.database.advance_clock(LATER).await;
    let page = asks(&confirm(&operator, &target, "true").await, Code::StepUpRequired);
    let back = prove(&operator, &page, PASSWORD).await;
    let held = tick(&back.text(), "override").unwrap();
    assert!(held.contains("checked"), "{held}");
    let proved = Browser { stage: &stage, cookie: Some(cookie(&back)) };
    let asked = leads_to(&confirm(&proved, &target, "true").await, "/operations/");
    assert!(asked.ends_with("#approvals"), "{asked}");
}

/// A call that is under way, by a worker that beats.
async fn beating(stage: &Stage) -> Operation {
    let service = stage.service("acme").await;
    let won = service.reserve("INV-1", 12_900).await.json();
    let id = won["id"].as_str().unwrap().to_owned();
    let fence = json!({ "fence": won["fence"] });
    let started = service.post(&format!("/operations/{id}/start"), &fence).await;
    started.expect(StatusCode::OK);
    Operation { version: started.json()["version"].as_i64().unwrap(), id }
}

async fn release(browser: &Browser<'_>, target: &Operation, force: bool) -> Answer {
    let version = target.version.to_string();
    let mut fields =
        vec![("id", target.id.as_str()), ("version", &version), ("reason", "it hangs")];
    fields.extend(force.then_some(("force", "true")));
    browser.post("/act/operations/release", &fields).await
}

#[tokio::test]
async fn a_lease_that_beats_is_released_by_force_from_its_form_by_two_people() {
    let stage = Stage::open().await;
    let target = beating(&stage).await;
    let operator = stage.browser("operator@acme.test").await;
    let viewer = stage.browser("viewer@acme.test").await;
    let place = format!("/operations/{}", target.id);
    let form = format!("{place}/release");
    let before = stage.effects().await;
    let page = operator.get(&place).await.text();
    assert!(page.contains(&format!("href=\"{form}?version={}\"", target.version)), "{page}");
    assert!(page.contains("Release it all the same, with a second person"), "{page}");
    let opened = operator.get(&form).await.text();
    let offered = tick(&opened, "force").unwrap();
    assert!(!offered.contains("checked"), "{offered}");

    for (path, words) in [(&place, "Release it all the same"), (&form, "name=\"force\"")] {
        let page = viewer.get(path).await.text();
        assert!(!page.contains(words), "nothing to tick for who may not: {page}");
        let holders = "the right to release stuck leases. Held by: operator, approver.";
        assert!(page.contains(holders), "whom to ask: {page}");
    }
    let not_theirs = release(&viewer, &target, true).await;
    refused_form(&not_theirs, &form, Code::PermissionMissing);
    let refused = release(&operator, &target, false).await;
    refused_form(&refused, &form, Code::NotAllowedInState);
    let page = operator.get(refused.header("location")).await.text();
    assert!(tick(&page, "force").is_some(), "{page}");
    assert_eq!(stage.effects().await, before);

    let asked = leads_to(&release(&operator, &target, true).await, &place);
    assert!(asked.ends_with("#approvals"), "{asked}");
    let waits = operator.get(&asked).await.text();
    assert!(waits.contains("data-status=\"executing\""), "nothing is done by asking: {waits}");
    assert_eq!(approved(&stage).await, "unknown");
}

#[tokio::test]
async fn a_lease_that_ended_needs_no_force_and_one_that_beats_a_fresh_factor() {
    let stage = Stage::open().await;
    let operator = stage.browser("operator@acme.test").await;
    stage.database.advance_clock(LATER).await;
    let target = beating(&stage).await;
    let form = format!("/operations/{}/release", target.id);
    let page = asks(&release(&operator, &target, true).await, Code::StepUpRequired);
    let back = prove(&operator, &page, PASSWORD).await;
    let held = tick(&back.text(), "force").unwrap();
    assert!(held.contains("checked"), "{held}");

    stage.database.advance_clock(Duration::from_secs(11)).await;
    let proved = Browser { stage: &stage, cookie: Some(cookie(&back)) };
    assert!(tick(&proved.get(&form).await.text(), "force").is_none(), "its lease ended");
    leads_to(&release(&proved, &target, false).await, "/receipts/");
}

/// A charge that happened, of a kind that a refund undoes.
async fn undoable(stage: &Stage) -> Operation {
    stage.refundable().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.staff("operator@acme.test").await;
    let confirm = format!("/operations/{}/actions/confirm", target.id);
    operator.post(&confirm, &target.confirm()).await.expect(StatusCode::OK);
    let shown = operator.get(&format!("/operations/{}", target.id)).await.json();
    Operation { version: shown["version"].as_i64().unwrap(), ..target }
}

async fn undo(browser: &Browser<'_>, target: &Operation, amount: &str, currency: &str) -> Answer {
    let version = target.version.to_string();
    let fields = [
        ("id", target.id.as_str()),
        ("version", &version),
        ("amount_minor", amount),
        ("currency", currency),
        ("reason", "half of it came back"),
    ];
    browser.post("/act/operations/compensate", &fields).await
}

#[tokio::test]
async fn a_part_of_a_charge_is_undone_by_its_form_and_never_more_than_it_was() {
    let stage = Stage::open().await;
    let target = undoable(&stage).await;
    let operator = stage.browser("operator@acme.test").await;
    let viewer = stage.browser("viewer@acme.test").await;
    let form = format!("/operations/{}/compensate", target.id);
    let opened = operator.get(&form).await.text();
    assert_eq!(input(&opened, "currency"), "EUR");
    assert!(opened.contains("Amount to undo") && opened.contains("empty: all of it"), "{opened}");

    let before = stage.effects().await;
    for (amount, currency) in [("129.01", "EUR"), ("0", "EUR"), ("50.00", "USD"), ("5o", "EUR")] {
        let refused = undo(&operator, &target, amount, currency).await;
        refused_form(&refused, &form, Code::Unprocessable);
        let page = operator.get(refused.header("location")).await.text();
        assert!(page.contains("at most the amount on record"), "{amount} {currency}: {page}");
        assert_eq!(input(&page, "amount_minor"), amount);
        assert_eq!(input(&page, "currency"), currency);
    }
    let not_theirs = undo(&viewer, &target, "50.00", "EUR").await;
    refused_form(&not_theirs, &form, Code::PermissionMissing);
    assert_eq!(stage.effects().await, before);

    let asked = leads_to(&undo(&operator, &target, "50,00", "EUR").await, "/operations/");
    assert!(asked.ends_with("#approvals"), "{asked}");
    approved(&stage).await;
    let service = stage.service("acme").await;
    let claim = json!({ "kinds": ["invoice.refund"], "max": 10 });
    let work = service.post("/operations/claim", &claim).await.json();
    assert_eq!(work["items"].as_array().unwrap().len(), 1);
    assert_eq!(work["items"][0]["payload"]["amount_minor"], 5_000);
}
