//! What the one who asked for a second person saw, beside what is now: the record field by field, the
//! provider's word then and now, and what happened in between.
//!
//! Guards against the agreement to what is no longer so: whoever decides sees the difference before the
//! button, whether or not it makes the request void.

use domain::{
    action::{TargetType, Verb},
    money::Money,
    reconciliation::ProviderAnswer,
    view::{ApprovalView, EvidenceView, ReceiptState, SinceAsked, TimelineItem},
};
use leptos::prelude::*;

use crate::{
    components::{part::Part, timestamp::Timestamp},
    error::ConsoleError,
    text,
};

/// The most of one text that is shown, in bytes of the page.
const MAX_TEXT: usize = 400;
/// Pieces of evidence that are listed; all stand on the record's own page.
const MAX_EVIDENCE: usize = 20;

/// The provider's answer just now; `None` where it was not asked.
pub(super) type Says = Option<Result<ProviderAnswer, ConsoleError>>;

/// What happened in between; nothing about a record whose moves nobody keeps.
pub(super) fn between(request: &ApprovalView) -> Option<AnyView> {
    let since = request.since.as_ref()?;
    let place = format!("{}/{}", request.target_type.pages(), request.target);
    let operation = request.target_type == TargetType::Operation;
    let moves = moves(since, operation.then_some(place.as_str()));
    let evidence = operation.then(|| evidence(&since.evidence, &place));
    Some(
        view! {
            <Part id="since" title="What moved since it was asked for">
                {moves}
            </Part>
            {evidence}
        }
        .into_any(),
    )
}

/// One line of the table; `None` where the record is not there any more.
fn line(name: &'static str, then: String, now: Option<String>) -> AnyView {
    let differs = now.as_ref().is_some_and(|now| *now != then);
    let now = now.unwrap_or_else(|| "not there".to_owned());
    view! {
        <tr data-differs=differs.then_some("true")>
            <th scope="row">{name}</th>
            <td>{then}</td>
            <td>{now} {differs.then(|| view! { <strong>" (differs)"</strong> })}</td>
        </tr>
    }
    .into_any()
}

/// Then and now, line by line.
pub(super) fn difference(request: &ApprovalView, says: &Says) -> AnyView {
    let now = request.now.as_ref();
    let word = |state: &ReceiptState| match state.status.operation() {
        Some(status) => status.label().to_owned(),
        None => state.status.as_str().replace('_', " "),
    };
    let person = |state: &ReceiptState| if state.needs_manual { "yes" } else { "no" }.to_owned();
    let seen = &request.seen;
    let version = now.map(|now| now.version.to_string());
    // Only an operation's state says whether machines have given up.
    let operation = request.target_type == TargetType::Operation;
    let manual =
        operation.then(|| line("The record needs a person", person(seen), now.map(person)));
    view! {
        <div class="figures-scroll" tabindex="0" role="region" aria-label="Table: then and now">
            <table class="figures">
                <thead>
                    <tr>
                        <th scope="col">"Of the record"</th>
                        <th scope="col">"When it was asked for"</th>
                        <th scope="col">"Now"</th>
                    </tr>
                </thead>
                <tbody>
                    {line("State", word(seen), now.map(word))}
                    {line("Version", seen.version.to_string(), version)}
                    {manual}
                    {amount(request)}
                    {reference(request)}
                    {provider(request, says)}
                </tbody>
            </table>
        </div>
    }
    .into_any()
}

/// The amount at stake beside the one on record; of an undo it may be a part.
fn amount(request: &ApprovalView) -> Option<AnyView> {
    let since = on_record(request).filter(|_| request.verb != Verb::Compensate)?;
    let words =
        |amount: Option<&Money>| amount.map_or_else(|| "none".to_owned(), ToString::to_string);
    Some(line("Amount", words(request.amount.as_ref()), Some(words(since.amount.as_ref()))))
}

/// The reference that is to be recorded beside the one on record.
fn reference(request: &ApprovalView) -> Option<AnyView> {
    let since = on_record(request)?;
    let (asked, now) = (request.external_reference.as_ref(), since.external_reference.as_ref());
    asked.or(now)?;
    let then =
        asked.map_or_else(|| "none named".to_owned(), |asked| format!("{asked}, to be recorded"));
    let other = now.zip(asked).is_some_and(|(now, asked)| now != asked);
    let now = now.cloned().unwrap_or_else(|| "none on record".to_owned());
    Some(
        view! {
            <tr data-differs=other.then_some("true")>
                <th scope="row">"Reference"</th>
                <td>{then}</td>
                <td>{now} {other.then(|| view! { <strong>" (differs)"</strong> })}</td>
            </tr>
        }
        .into_any(),
    )
}

/// What is on record of an operation now.
fn on_record(request: &ApprovalView) -> Option<&SinceAsked> {
    request
        .since
        .as_ref()
        .filter(|_| request.target_type == TargetType::Operation && request.now.is_some())
}

/// What the provider said then, and what it says now, where it is asked.
fn provider(request: &ApprovalView, says: &Says) -> Option<AnyView> {
    let then = request.provider.clone();
    let now = match says {
        Some(Ok(answer)) => Some(answer.sentence()),
        Some(Err(error)) => Some(format!("It could not be asked now: {}", error.title())),
        None => None,
    };
    match (then, now) {
        (None, None) => None,
        (Some(then), None) => Some(
            view! {
                <tr>
                    <th scope="row">"The provider said"</th>
                    <td>{then}</td>
                    <td>"It is asked on the page that approves it, and again before it is carried out."</td>
                </tr>
            }
            .into_any(),
        ),
        (then, now) => {
            let then = then.unwrap_or_else(|| "It was not asked.".to_owned());
            Some(line("The provider said", then, now))
        }
    }
}

/// The record's moves, each with the way to it where its page has that anchor.
fn moves(since: &SinceAsked, place: Option<&str>) -> AnyView {
    if since.moves.is_empty() {
        return view! { <p class="prose">"Nothing: the record is as it was."</p> }.into_any();
    }
    let more = since.more.then(|| {
        view! { <p class="prose">"More moved before these: the record\u{2019}s own page has all of it."</p> }
    });
    let one = |item: &TimelineItem| {
        let words = match item.version {
            Some(version) => format!("version {version}"),
            None => "its item".to_owned(),
        };
        let version = match place {
            Some(place) => {
                let href = format!("{place}#{}", item.anchor);
                view! { <a href=href>{words}</a> }.into_any()
            }
            None => view! { <span>{words}</span> }.into_any(),
        };
        let reason = item
            .says("Reason")
            .or_else(|| item.says("reason"))
            .map(|reason| format!(" \u{201c}{}\u{201d}", text::cut_end(reason, MAX_TEXT)));
        view! {
            <li>
                <Timestamp at=item.at/>
                {format!(", {}: {}", item.actor, item.sentence)}
                {reason} " " {version}
            </li>
        }
    };
    let items = since.moves.iter().map(one).collect_view();
    view! { {more} <ul class="receipt-followed">{items}</ul> }.into_any()
}

/// What came from elsewhere since.
fn evidence(evidence: &[EvidenceView], place: &str) -> AnyView {
    let list = if evidence.is_empty() {
        view! { <p class="prose">"None came."</p> }.into_any()
    } else {
        let over = evidence.len().saturating_sub(MAX_EVIDENCE);
        let items = evidence.iter().skip(over).map(piece).collect_view();
        view! { <ul class="receipt-followed">{items}</ul> }.into_any()
    };
    let href = format!("{place}#evidence");
    view! {
        <Part id="new-evidence" title="Evidence that came since" count=evidence.len()>
            {list}
            <p class="prose"><a href=href>"All evidence on the operation"</a></p>
        </Part>
    }
    .into_any()
}

fn piece(evidence: &EvidenceView) -> AnyView {
    let says = match evidence.says.as_str() {
        "done" => "it happened",
        "rejected" => "it was rejected",
        "not_done" => "it was not taken",
        "absent" => "it is not there",
        "ambiguous" => "it cannot be told",
        _ if evidence.file.is_some() => "a file",
        _ => "a statement",
    };
    let source = match evidence.source.as_str() {
        "worker" => "a worker",
        "webhook" => "the provider\u{2019}s webhook",
        "lookup" => "a lookup at the provider",
        _ => "a person",
    };
    let reference =
        evidence.external_reference.as_ref().map(|reference| format!(", under {reference}"));
    let amount = evidence.amount.as_ref().map(|amount| format!(", {amount}"));
    let said = evidence
        .text
        .as_deref()
        .map(|said| format!(" \u{201c}{}\u{201d}", text::cut_end(said, MAX_TEXT)));
    view! {
        <li>
            <Timestamp at=evidence.at/>
            {format!(", {source} ({}): {says}", evidence.actor)}
            {reference} {amount} "." {said}
        </li>
    }
    .into_any()
}
