//! Where a plain form's answer leads: to one of our own pages, whatever the Referer says (F2).
//!
//! A target is built from ids and words of closed lists, so it cannot hold a foreign origin, nor
//! the line break on which Leptos' own helper panics (T47).

use domain::{
    action::{Subject, TargetType, Verb},
    bulk::BulkList,
    ids::{ApprovalId, BulkId, OperationId, RevealId},
    record::{RecordName, RecordType},
};
use http::{HeaderValue, StatusCode, header::LOCATION};
use leptos::prelude::use_context;
use leptos_axum::ResponseOptions;
use uuid::Uuid;

use super::refused::RefusedForm;
use crate::held::HOLD;

/// A page of this console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target(String);

impl Target {
    /// A receipt; a replay says so on the page.
    pub(super) fn receipt(id: OperationId, replayed: bool) -> Self {
        Self(format!("/receipts/{id}{}", if replayed { "?replayed=1" } else { "" }))
    }

    /// Where the request for a second person stands: on an operation's own page, else on its own.
    pub(super) fn asked(target: &Subject, request: ApprovalId) -> Self {
        match target.kind {
            TargetType::Operation => Self(format!("{}#approvals", page(target))),
            _ => Self(format!("{}/{request}", TargetType::Approval.pages())),
        }
    }

    /// The form of an action.
    pub(super) fn form_of(target: &Subject, verb: Verb) -> Self {
        Self(format!("{}/{verb}", page(target)))
    }

    /// The form of a reveal; an address of ours.
    pub(super) fn reveal_form(form: &str) -> Self {
        Self(form.to_owned())
    }

    /// The form of an action, explaining why it was refused.
    pub(super) fn form(target: &Subject, verb: Verb, refused: &RefusedForm) -> Self {
        Self(format!("{}/{verb}?{}", page(target), refused.to_query()))
    }

    /// A record's page at its notes; after a refusal at the words that explain it, which take the focus
    /// as the address's target.
    pub(super) fn notes(about: RecordName, refused: Option<&RefusedForm>) -> Self {
        let page = page(&about.into());
        match refused {
            None => Self(format!("{page}#notes")),
            Some(refused) => Self(format!("{page}?{}#refused", refused.to_query())),
        }
    }

    /// The page that gathers records into an incident, explaining why it was refused.
    pub(super) fn gather(records: &[RecordName], refused: &RefusedForm) -> Self {
        let mut place = format!("/incidents/gather?{}", refused.to_query());
        for record in records {
            place.push_str("&record=");
            place.push_str(&record.to_string());
        }
        Self(place)
    }

    /// A set that was frozen.
    pub(super) fn bulk(id: BulkId) -> Self {
        Self(format!("/bulks/{id}"))
    }

    /// The list of bulks, explaining why nothing was frozen, and from where.
    pub(super) fn not_frozen(from: BulkList, refused: &RefusedForm) -> Self {
        Self(format!("/bulks?{}&list={}", refused.to_query(), from.as_str()))
    }

    /// The audit log at its chain; after a refusal at the words that explain it.
    pub(super) fn chain(refused: Option<&RefusedForm>) -> Self {
        match refused {
            None => Self("/audit#chain".into()),
            Some(refused) => Self(format!("/audit?{}#chain", refused.to_query())),
        }
    }

    /// What a reveal shows.
    pub(super) fn revealed(id: RevealId) -> Self {
        Self(format!("/reveals/{id}"))
    }

    /// The form of a reveal, explaining why it was refused; `form` is an address of ours.
    pub(super) fn reveal(form: &str, refused: &RefusedForm) -> Self {
        let joint = if form.contains('?') { '&' } else { '?' };
        Self(format!("{form}{joint}{}", refused.to_query()))
    }

    /// The form of a kind's policy, as it was typed; of a new kind it has no page of its own yet.
    pub(super) fn policy(kind: &Subject, is_new: bool, query: &str) -> Self {
        if is_new {
            return Self(format!("/admin/new-kind?{query}"));
        }
        Self(format!("{}/{}?{query}", page(kind), Verb::PutKind))
    }

    /// The page of a record.
    pub(super) fn record(record: RecordType, id: Uuid) -> Self {
        Self(record.page(&id.to_string()))
    }

    /// The page of a record that does not exist.
    pub(super) fn missing(kind: TargetType) -> Self {
        Self(format!("{}/none", kind.pages()))
    }
}

/// The page of a record; a kind's name is escaped as a part of a path.
fn page(target: &Subject) -> String {
    let id: String = form_urlencoded::byte_serialize(target.id.as_bytes()).collect();
    format!("{}/{}", target.kind.pages(), id.replace('+', "%20"))
}

/// Holds the form of this request until its sender has proved who they are: the server keeps its fields and
/// asks (`crate::held`).
pub(super) fn hold(page: &Target) {
    let Some(response) = use_context::<ResponseOptions>() else { return };
    if let Ok(page) = HeaderValue::from_str(&page.0) {
        response.insert_header(HOLD, page);
        response.set_status(StatusCode::FORBIDDEN);
    }
}

/// Sends the person to a page: `303 See Other`, which the browser follows with a GET.
pub(super) fn go(target: &Target) {
    let Some(response) = use_context::<ResponseOptions>() else { return };
    let Ok(location) = HeaderValue::from_str(&target.0) else {
        tracing::error!("a redirect's target is no header value");
        return;
    };
    response.insert_header(LOCATION, location);
    response.set_status(StatusCode::SEE_OTHER);
}

#[cfg(test)]
mod tests {
    use domain::problem::Code;

    use super::*;
    use crate::{api::refused::Kept, error::RefusalView};

    #[test]
    fn a_target_stays_on_our_own_origin_and_on_one_line() {
        let id = OperationId::new(uuid::Uuid::from_u128(7));
        let kept = Kept { reason: "x\r\nSet-Cookie: a=b //evil.example".into(), ..Kept::default() };
        let refused = RefusedForm { refusal: RefusalView::new(Code::Stale), kept };
        let evil = Subject::new(TargetType::OperationKind, "/\\evil.example\r\nx: y/../../x");
        for target in [
            Target::receipt(id, true),
            Target::asked(&id.into(), ApprovalId::new(uuid::Uuid::from_u128(8))),
            Target::form(&id.into(), Verb::Confirm, &refused),
            Target::form(&evil, Verb::PutKind, &refused),
            Target::notes(id.into(), Some(&refused)),
            Target::gather(&[id.into()], &refused),
            Target::chain(Some(&refused)),
            Target::missing(TargetType::Outbox),
            Target::record(RecordType::Event, Uuid::from_u128(9)),
        ] {
            let own = [
                "/operations/",
                "/receipts/",
                "/outbox/",
                "/incidents/gather?",
                "/audit?",
                "/admin/kinds/%2F",
            ];
            assert!(own.iter().any(|own| target.0.starts_with(own)), "{}", target.0);
            assert!(HeaderValue::from_str(&target.0).is_ok());
        }
    }
}
