//! The story's workflows: one for each state that somebody may find one in.
//!
//! What decides how each ends is the trouble that its provider is told to make for its invoice or
//! document, for ever: the states stay.

use serde_json::{Value, json};

use super::{
    Report, StoryError,
    tell::{Cast, ensure, patiently},
};
use crate::{
    EffectKind,
    providers::{Mode, Rule},
};

/// The engine's worked example.
const AGENT: &str = "campaign.agent";
/// Charges for a document, then publishes it; both can be undone.
pub const RELEASE: &str = "document.release";
/// Drafts a letter by a service that nobody runs, then mails it.
pub const LETTER_REVIEW: &str = "letter.review";
/// Drafts a letter with the instant in it, then mails it: a definition that drifts.
pub const LETTER_STAMPED: &str = "letter.stamped";

/// One workflow.
struct Plot {
    tenant: &'static str,
    kind: &'static str,
    key: &'static str,
    input: Value,
    /// At which effect, about what, in which way.
    troubles: Vec<(EffectKind, &'static str, Mode)>,
    /// Where it stands when the first page is looked at.
    ends: &'static str,
    /// Where the owner finds it, and cancels it.
    cancelled_when: Option<&'static str>,
}

/// One that was started.
pub(super) struct Begun {
    plot: Plot,
    id: String,
    fresh: bool,
}

fn agent(key: &'static str, number: u32) -> Plot {
    let input = json!({
        "campaign_id": "summer-2026", "recipient_id": format!("rcp-{number:04}"),
        "topic": "summer letter", "invoice_id": format!("INV-2026-{number:04}"),
        "amount_minor": 4_900, "currency": "EUR", "document_id": format!("DOC-{number}"), "version": 1,
    });
    plot("acme", AGENT, key, input)
}

fn release(tenant: &'static str, key: &'static str, invoice: &str, document: &str) -> Plot {
    let input = json!({
        "invoice_id": invoice, "amount_minor": 19_000, "currency": "EUR",
        "document_id": document, "version": 1,
    });
    plot(tenant, RELEASE, key, input)
}

fn letter(kind: &'static str, key: &'static str, letter: &str) -> Plot {
    let input = json!({
        "draft_id": letter, "topic": "renewal", "campaign_id": letter, "recipient_id": "rcp-0199",
    });
    plot("acme", kind, key, input)
}

fn plot(tenant: &'static str, kind: &'static str, key: &'static str, input: Value) -> Plot {
    Plot { tenant, kind, key, input, troubles: Vec::new(), ends: "completed", cancelled_when: None }
}

impl Plot {
    fn ends(mut self, ends: &'static str) -> Self {
        self.ends = ends;
        self
    }

    fn trouble(mut self, kind: EffectKind, about: &'static str, mode: Mode) -> Self {
        self.troubles.push((kind, about, mode));
        self
    }

    /// Charged, reply lost; the provider cannot be asked.
    fn lost_charge(self, invoice: &'static str) -> Self {
        self.trouble(EffectKind::Charge, invoice, Mode::ApplyDrop).trouble(
            EffectKind::Charge,
            invoice,
            Mode::NoLookup,
        )
    }
}

fn plots() -> Vec<Plot> {
    let reject = |code: &str| Mode::Reject { code: code.to_owned() };
    let unpublishable = |plot: Plot, document| {
        plot.trouble(EffectKind::Publication, document, reject("forbidden_word"))
    };
    vec![
        agent("summer:rcp-0101", 101),
        agent("summer:rcp-0102", 102).lost_charge("INV-2026-0102").ends("waiting"),
        // What was mailed cannot be called back: it stays done, and the end says so.
        unpublishable(agent("summer:rcp-0103", 103), "DOC-103").ends("closed_partial"),
        Plot {
            cancelled_when: Some("waiting"),
            ..agent("summer:rcp-0104", 104).lost_charge("INV-2026-0104").ends("compensating")
        },
        unpublishable(release("acme", "release:DOC-105", "INV-2026-0105", "DOC-105"), "DOC-105")
            .ends("compensated"),
        unpublishable(release("acme", "release:DOC-106", "INV-2026-0106", "DOC-106"), "DOC-106")
            .trouble(EffectKind::Refund, "INV-2026-0106", reject("account_closed"))
            .ends("compensation_stuck"),
        release("acme", "release:DOC-107", "INV-2026-0107", "DOC-107")
            .trouble(EffectKind::Charge, "INV-2026-0107", reject("card_declined"))
            .ends("failed"),
        letter(LETTER_REVIEW, "review:LTR-1", "LTR-1").ends("running"),
        letter(LETTER_STAMPED, "stamped:LTR-2", "LTR-2").ends("blocked"),
        release("globex", "release:GX-DOC-1", "GX-2026-0101", "GX-DOC-1"),
        unpublishable(
            release("globex", "release:GX-DOC-2", "GX-2026-0102", "GX-DOC-2"),
            "GX-DOC-2",
        )
        .ends("compensated"),
    ]
}

/// Starts them all.
pub(super) async fn begin(cast: &Cast) -> Result<Vec<Begun>, StoryError> {
    let mut begun = Vec::new();
    for plot in plots() {
        for (kind, about, mode) in &plot.troubles {
            let rule = Rule::always(mode.clone()).for_reference(*kind, about);
            ensure(&cast.providers, kind.provider(), rule).await?;
        }
        let api = cast.api.tenant(plot.tenant)?;
        let started = api.start_workflow(plot.kind, plot.key, &plot.input).await?;
        begun.push(Begun { plot, id: started.id, fresh: started.fresh });
    }
    Ok(begun)
}

/// Waits for each to get where it is to be found. One of an earlier telling is left alone: people
/// may have moved it since.
pub(super) async fn see_through(
    cast: &Cast,
    begun: Vec<Begun>,
    report: &mut Report,
) -> Result<(), StoryError> {
    for Begun { plot, id, fresh } in begun {
        if !fresh {
            report.already_played += 1;
            continue;
        }
        let api = cast.api.tenant(plot.tenant)?;
        let stands = async |at: &'static str| Ok(api.workflow_status(&id).await? == at);
        if let Some(at) = plot.cancelled_when {
            if !patiently(|| stands(at)).await? {
                report.surprises.push(format!("workflow {} never was {at}", plot.key));
            }
            api.cancel_workflow(&id, "the customer does not want it any more").await?;
        }
        if !patiently(|| stands(plot.ends)).await? {
            let status = api.workflow_status(&id).await?;
            let words = format!("workflow {}: {status} instead of {}", plot.key, plot.ends);
            report.surprises.push(words);
        }
    }
    Ok(())
}
