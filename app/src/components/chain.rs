//! Whether the audit log is as it was written: what the last check found, and the button for another.

use domain::view::{ChainCheck, ChainFindings, ChainView};
use leptos::prelude::*;

use super::{
    facts::{fact, fact_key},
    notice::{FailedPart, Notice, Tone, right},
    part::Part,
    timestamp::Timestamp,
};
use crate::{
    api::{audit::VERIFY, refused::RefusedForm},
    error::ConsoleError,
};

/// The part of the log's page about its chain; nothing for whoever may not read the log.
#[must_use]
pub fn chain_part(chain: Result<Option<ChainView>, ConsoleError>, query: &str) -> AnyView {
    let view = match chain {
        Ok(None) => return ().into_any(),
        Ok(Some(view)) => view,
        Err(error) => return view! { <FailedPart error again="/audit"/> }.into_any(),
    };
    let refused = RefusedForm::from_query(query).map(|form| {
        let refusal = form.refusal;
        view! {
            <Notice tone=Tone::Bad title=refusal.code.title() code=refusal.code>
                <p>{refusal.code.advice()} " No check was begun."</p>
                {refusal.missing.map(right)}
            </Notice>
        }
    });
    let anchored =
        view.anchored_at.map(|at| fact("Last anchored outside", view! { <Timestamp at/> }));
    let is_under_way = view.check.as_ref().is_some_and(|check| check.ended_at.is_none());
    let found = view.check.map_or_else(unchecked, checked);
    let again =
        is_under_way.then(|| view! { <p><a href="/audit#chain">"See how far it is"</a></p> });
    view! {
        <Part id="chain" title="Chain">
            {refused}
            {found}
            <dl class="facts">{anchored}</dl>
            {again}
            <form method="post" action=VERIFY>
                <button class="button" type="submit" disabled=is_under_way>"Check the chain"</button>
            </form>
        </Part>
    }
    .into_any()
}

fn unchecked() -> AnyView {
    view! {
        <p>
            "Each entry carries a hash over itself and the one before. Nobody has asked yet whether all of \
             them are as they were written."
        </p>
    }
    .into_any()
}

fn checked(check: ChainCheck) -> AnyView {
    let ChainCheck { asked_by, asked_at, ended_at, findings } = check;
    let notice = match ended_at {
        None => under_way(&findings),
        Some(_) if findings.is_whole() => whole(&findings),
        Some(_) => broken(&findings),
    };
    let ended = ended_at.map(|at| fact("Ended", view! { <Timestamp at/> }));
    let head = (!findings.hash.is_empty()).then(|| fact_key("Hash of the newest", findings.hash));
    view! {
        {notice}
        <dl class="facts">
            {fact("Asked for by", asked_by)}
            {fact("Asked", view! { <Timestamp at=asked_at/> })}
            {ended}
            {fact("Newest entry then", findings.seq.to_string())}
            {head}
        </dl>
    }
    .into_any()
}

fn under_way(findings: &ChainFindings) -> AnyView {
    let title = format!("The check is under way: {} entries so far.", findings.rows);
    let faults = faults(findings);
    view! { <Notice tone=Tone::Neutral title=title>{faults}</Notice> }.into_any()
}

fn whole(findings: &ChainFindings) -> AnyView {
    let title = format!("All {} entries are as they were written.", findings.rows);
    view! { <Notice tone=Tone::Good title=title/> }.into_any()
}

fn broken(findings: &ChainFindings) -> AnyView {
    let faults = faults(findings);
    view! {
        <Notice tone=Tone::Bad title="The log is not as it was written.">
            {faults}
            <p>
                "Somebody wrote to the database by hand. Compare the log with the heads that were kept outside: "
                <code>"onceover audit verify --against FILE"</code> "."
            </p>
        </Notice>
    }
    .into_any()
}

/// What is wrong, fault by fault.
fn faults(findings: &ChainFindings) -> AnyView {
    if findings.is_whole() {
        return ().into_any();
    }
    let each = findings.faults.iter().map(|fault| view! { <li>{fault.to_string()}</li> });
    let more =
        (findings.more > 0).then(|| view! { <li>{format!("and {} more", findings.more)}</li> });
    view! { <ul>{each.collect_view()} {more}</ul> }.into_any()
}
