//! A request for a second person on the page of what it is about: what was asked, why it takes two, who
//! may approve it, and that nothing has been done yet.

use domain::{problem::Code, view::ApprovalView};
use leptos::prelude::*;

use super::{
    notice::{Notice, Tone},
    timestamp::Timestamp,
};

/// The requests that wait, if any.
#[must_use]
pub fn waits(asked: &[ApprovalView]) -> Option<AnyView> {
    (!asked.is_empty()).then(|| {
        let notices = asked.iter().map(one).collect_view();
        view! { <div class="banners" id="approvals">{notices}</div> }.into_any()
    })
}

fn one(asked: &ApprovalView) -> AnyView {
    let title = format!("Waits for a second person: {}.", asked.verb);
    let may = if asked.may_approve.is_empty() {
        "Nobody in this tenant may approve it now.".to_owned()
    } else {
        format!("Who may approve it: {}.", asked.may_approve.join(", "))
    };
    let (why, expires_at) = (asked.why.clone(), asked.expires_at);
    let page = format!("/approvals/{}", asked.id);
    let who = format!("{} asked for it: \u{201c}{}\u{201d}", asked.requester, asked.reason);
    view! {
        <Notice tone=Tone::Caution title code=Code::ApprovalPending>
            <p>{who}</p>
            <p>{why} " Nothing has been done yet. " {may}</p>
            <p>
                "It expires " <Timestamp at=expires_at/> ". "
                <a href=page>"Read the request"</a>
            </p>
        </Notice>
    }
    .into_any()
}
