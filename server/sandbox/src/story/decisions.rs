//! What people of the story decided: a confirmation by mistake and how it was put right, and two
//! requests that wait for a second person.

use serde_json::{Value, json};

use super::{LARGE_INVOICE, MISTAKEN_INVOICE, Report, StoryError, tell::Cast};
use crate::client::{ApiError, Decision};

pub(super) const OPERATOR: &str = "operator@acme.test";
const APPROVER: &str = "approver@acme.test";

/// Decides all of it, or finds that it was decided.
pub(super) async fn decide(cast: &Cast, report: &mut Report) -> Result<(), StoryError> {
    put_right(cast, report).await?;
    give_back(cast, report).await?;
    try_again(cast, report).await
}

/// The operator confirms a charge that never was, by another one's reference; two people put it
/// right.
async fn put_right(cast: &Cast, report: &mut Report) -> Result<(), StoryError> {
    let path = charge_of(cast, MISTAKEN_INVOICE).await?;
    let shown = cast.desk.read(OPERATOR, &path).await?;
    if shown["status"] == "unknown" {
        let confirm = json!({
            "version": shown["version"], "outcome": "happened",
            "external_reference": "ch_of_another_invoice",
            "reason": "the statement shows a charge over this amount",
        });
        let decided =
            cast.desk.decide(OPERATOR, &format!("{path}/actions/confirm"), &confirm).await?;
        expect(&decided, 200, "the confirmation", report);
    }
    let shown = cast.desk.read(OPERATOR, &path).await?;
    let correct = json!({
        "version": shown["version"], "outcome": "not_happened_stop",
        "reason": "the charge on the statement is another invoice's; this customer was never charged",
    });
    let asked = cast.desk.decide(OPERATOR, &format!("{path}/actions/correct"), &correct).await?;
    // Decided already: the receipt.
    if asked.status == 200 {
        report.already_played += 1;
        return Ok(());
    }
    expect(&asked, 202, "the correction", report);
    if let Some(id) = asked.said.get("id").and_then(Value::as_str) {
        let agree = json!({ "version": 1, "reason": "seen on the provider's own page" });
        let path = format!("/approvals/{id}/actions/approve");
        let agreed = cast.desk.decide(APPROVER, &path, &agree).await?;
        expect(&agreed, 200, "the approval of the correction", report);
    }
    Ok(())
}

/// The operator asks to give a large charge back; the approver may decide.
async fn give_back(cast: &Cast, report: &mut Report) -> Result<(), StoryError> {
    let path = charge_of(cast, LARGE_INVOICE).await?;
    let shown = cast.desk.read(OPERATOR, &path).await?;
    let ask = json!({
        "version": shown["version"], "reason": "the customer cancelled within the trial month",
    });
    let asked = cast.desk.decide(OPERATOR, &format!("{path}/actions/compensate"), &ask).await?;
    expect_asked(&asked, "the refund", report);
    Ok(())
}

/// The operator asks to try the refused refund of the stuck workflow again.
async fn try_again(cast: &Cast, report: &mut Report) -> Result<(), StoryError> {
    let list = cast.desk.read(OPERATOR, "/workflows?status=compensation_stuck").await?;
    let Some(id) = list["items"][0]["id"].as_str() else {
        // People have resolved it, or the story has said already why there is none.
        return Ok(());
    };
    let flow = cast.desk.read(OPERATOR, &format!("/workflows/{id}")).await?;
    let undos = flow["plan"]["undone"].as_array().into_iter().flatten();
    let Some(link) = undos.map(|step| &step["undo"]).find(|undo| undo["status"] == "failed") else {
        report.surprises.push(format!("workflow {id} is stuck without an undo that failed"));
        return Ok(());
    };
    let path = format!("/compensations/{}/actions/retry", link["id"].as_str().unwrap_or_default());
    let ask = json!({
        "version": link["version"], "reason": "the bank says that the account is open again",
    });
    let asked = cast.desk.decide(OPERATOR, &path, &ask).await?;
    expect_asked(&asked, "the retry of the refund", report);
    Ok(())
}

/// The path of an invoice's charge.
async fn charge_of(cast: &Cast, invoice: &str) -> Result<String, StoryError> {
    let list = format!("/operations?operation=invoice.charge&q={invoice}");
    let list = cast.desk.read(OPERATOR, &list).await?;
    let id = list["items"][0]["id"].as_str().ok_or_else(|| ApiError::Unexpected {
        status: 200,
        body: format!("no charge of {invoice} is listed"),
    })?;
    Ok(format!("/operations/{id}"))
}

/// Waiting, or decided since: both are what the first telling left.
fn expect_asked(asked: &Decision, what: &str, report: &mut Report) {
    let settled = ["not_allowed_in_state", "stale", "approval_pending"];
    let code = asked.said.get("code").and_then(Value::as_str).unwrap_or_default();
    if asked.status == 200 || settled.contains(&code) && report.already_played > 0 {
        report.already_played += 1;
    } else {
        expect(asked, 202, what, report);
    }
}

fn expect(decision: &Decision, status: u16, what: &str, report: &mut Report) {
    if decision.status != status {
        let said = Value::Object(decision.said.clone());
        report.surprises.push(format!("{what}: {} {said} instead of {status}", decision.status));
    }
}
