//! A kind's policy by its form: looked at before it is sent, written once, and by two people where it
//! loosens anything.

use axum::http::StatusCode;
use domain::problem::Code;

use crate::{
    forms::leads_to,
    support::{Browser, Stage, form},
};

pub const FORM: &str = "/admin/kinds/invoice.charge/put_kind";

/// The inputs of a page's first form, as a browser would send them: name and value.
pub fn inputs(page: &str, action: &str) -> Vec<(String, String)> {
    let form = page.split("<form").find(|form| form.contains(action)).expect("the form");
    let form = form.split("</form>").next().unwrap();
    let attribute = |tag: &str, name: &str| {
        let value = tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?;
        let entities =
            [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&amp;", "&")];
        Some(
            entities
                .iter()
                .fold(value.to_owned(), |text, (entity, sign)| text.replace(entity, sign)),
        )
    };
    form.split("<input")
        .skip(1)
        .map(|tag| tag.split('>').next().unwrap())
        .filter(|tag| !tag.contains("type=\"checkbox\"") || tag.contains("checked"))
        .filter_map(|tag| {
            Some((attribute(tag, "name")?, attribute(tag, "value").unwrap_or_default()))
        })
        .collect()
}

/// Opens the form, changes fields and looks at what would change; an empty value unticks a box.
pub async fn look(browser: &Browser<'_>, place: &str, change: &[(&str, &str)]) -> String {
    let opened = browser.get(place).await;
    opened.expect(StatusCode::OK);
    let mut fields = inputs(&opened.text(), "name=\"typed\"");
    for (name, value) in change {
        let name = format!("policy[{name}]");
        fields.retain(|(known, _)| *known != name);
        if !value.is_empty() {
            fields.push((name, (*value).to_owned()));
        }
    }
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let path = place.split('?').next().unwrap();
    let looked = browser.get(&format!("{path}?{}", form(&fields))).await;
    looked.expect(StatusCode::OK);
    looked.text()
}

/// Sends what was looked at.
async fn send(browser: &Browser<'_>, looked: &str, reason: &str) -> crate::support::Answer {
    let mut fields = inputs(looked, "/act/kinds/put");
    fields.retain(|(name, _)| name != "reason");
    fields.push(("reason".into(), reason.into()));
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    browser.post("/act/kinds/put", &fields).await
}

#[tokio::test]
async fn what_tightens_is_written_at_once_and_what_loosens_says_so_and_waits() {
    let stage = Stage::open().await;
    let admin = stage.browser("admin@acme.test").await;
    let program = stage.staff("admin@acme.test").await;
    let in_force = async || program.get("/kinds/invoice.charge").await.json()["policy"].clone();
    let page = admin.get("/admin/kinds/invoice.charge").await.text();
    assert!(page.contains(FORM), "{page}");

    let before = stage.effects().await;
    let looked =
        look(&admin, FORM, &[("masked_pointers", "/card, /iban"), ("lease_ms", "20 s")]).await;
    assert!(looked.contains("Masked fields") && looked.contains("/card, /iban"), "{looked}");
    assert!(looked.contains("Write the policy") && !looked.contains("Ask for a second person"));
    assert_eq!(stage.effects().await, before, "looking has no effect");
    leads_to(&send(&admin, &looked, "cards are personal").await, "/receipts/");
    assert_eq!(in_force().await["masked_pointers"], serde_json::json!(["/card", "/iban"]));
    assert_eq!(in_force().await["lease_ms"], 20_000);

    let looked = look(&admin, FORM, &[("masked_pointers", "/card"), ("max_attempts", "9")]).await;
    for words in [
        "Masked fields would be shown.",
        "It would be tried more often.",
        "Ask for a second person",
    ] {
        assert!(looked.contains(words), "{words}: {looked}");
    }
    let place = leads_to(&send(&admin, &looked, "the bank has no iban").await, "/approvals/");
    assert_eq!(in_force().await["max_attempts"], 3, "nothing happened yet");
    let request = admin.get(&place).await.text();
    assert!(request.contains("Masked fields would be shown."), "{request}");
}

#[tokio::test]
async fn a_slip_is_refused_beside_its_field_and_keeps_what_was_typed() {
    let stage = Stage::open().await;
    let admin = stage.browser("admin@acme.test").await;
    for (field, slip) in [
        ("lease_ms", "soon"),
        ("call_deadline_ms", "1 h"),
        ("amount_pointer", ""),
        ("reference_url", "http://pay.example/{reference}"),
        ("masked_pointers", "card"),
        ("purge_after_ms", "30 d"),
    ] {
        let looked = look(&admin, FORM, &[(field, slip)]).await;
        let named = if field == "call_deadline_ms" { "lease_ms" } else { field };
        assert!(looked.contains(&format!("id=\"{named}-error\"")), "{field}: {looked}");
        assert!(looked.contains("data-code=\"unprocessable\""), "{field}");
        assert!(!looked.contains("action=\"/act/kinds/put\""), "{field}: nothing can be sent");
        assert!(slip.is_empty() || looked.contains(&format!("value=\"{slip}\"")), "{field}");
    }
    let looked = look(&admin, FORM, &[("lease_ms", "20 s")]).await;
    let refused = send(&admin, &looked, "").await;
    let place = leads_to(&refused, &format!("{FORM}?typed=1"));
    let page = admin.get(&place).await.text();
    assert!(page.contains("id=\"reason-error\"") && page.contains("20 s"), "{page}");
}

#[tokio::test]
async fn a_kind_is_added_once_and_by_administrators_alone() {
    let stage = Stage::open().await;
    let admin = stage.browser("admin@acme.test").await;
    let looked = look(&admin, "/admin/new-kind", &[("name", "parcel.send")]).await;
    assert!(looked.contains("Add the kind"), "{looked}");
    leads_to(&send(&admin, &looked, "parcels go out").await, "/receipts/");
    admin.get("/admin/kinds/parcel.send").await.expect(StatusCode::OK);
    leads_to(&send(&admin, &looked, "parcels go out").await, "/receipts/");

    for email in ["operator@acme.test", "approver@acme.test", "viewer@acme.test"] {
        let browser = stage.browser(email).await;
        let page = browser.get("/admin/kinds/invoice.charge").await.text();
        assert!(page.contains("lacks the right to change operation kinds"), "{email}");
        let before = (stage.effects().await, stage.audited("denied").await);
        let refused = send(&browser, &looked, "why").await;
        leads_to(&refused, "/admin/new-kind?typed=1");
        assert!(refused.header("location").contains(Code::PermissionMissing.as_str()));
        assert_eq!(
            (stage.effects().await, stage.audited("denied").await),
            (before.0, before.1 + 1)
        );
    }
}
