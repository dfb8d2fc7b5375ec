//! Whose decision it is: one person's, or one person's with another's consent. The person who
//! calls is always who authenticated; nobody decides under another's name without being named
//! beside it.

use domain::{
    ids::{ApprovalId, BulkId, StaffId, TenantId},
    view::ApprovedBy,
};

use crate::{StaffCaller, actor::Actor, store::person::APPROVED_BY};

/// A person by id, name and email.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) id: StaffId,
    pub(crate) name: String,
    pub(crate) email: String,
}

/// A second person's consent, checked under the locks (A6).
#[derive(Clone, Debug)]
pub(crate) struct Consent {
    /// The request.
    pub(crate) approval: ApprovalId,
    /// What the second person said to it.
    pub(crate) reason: Option<String>,
}

/// Who decides.
pub(crate) struct Hand<'a> {
    /// Who calls: whoever decides alone, or the second person.
    pub(crate) by: &'a StaffCaller,
    /// Whose decision it is.
    pub(crate) decides: Person,
    /// The consent of `by`, where it takes one.
    pub(crate) consent: Option<Consent>,
    /// The bulk whose row it is about.
    pub(crate) bulk: Option<BulkId>,
}

impl<'a> Hand<'a> {
    /// One person.
    pub(crate) fn alone(by: &'a StaffCaller) -> Self {
        let decides =
            Person { id: by.staff_id(), name: by.name().into(), email: by.email().into() };
        Self { by, decides, consent: None, bulk: None }
    }

    /// One person's decision that another agrees to.
    pub(crate) const fn with_consent(
        by: &'a StaffCaller,
        decides: Person,
        consent: Consent,
    ) -> Self {
        Self { by, decides, consent: Some(consent), bulk: None }
    }

    pub(crate) const fn tenant(&self) -> TenantId {
        self.by.tenant_id()
    }

    /// The author of the moves: both where there are two.
    pub(crate) fn actor(&self) -> Actor {
        Actor::new("staff", self.names())
    }

    /// Both by email, where there are two.
    pub(crate) fn names(&self) -> String {
        match &self.consent {
            None => self.decides.email.clone(),
            Some(_) => format!("{}{APPROVED_BY}{}", self.decides.email, self.by.email()),
        }
    }

    /// The second person as a receipt names it.
    pub(crate) fn approved_by(&self) -> Option<ApprovedBy> {
        self.consent.as_ref().map(|consent| ApprovedBy {
            approval: consent.approval,
            actor: self.by.name().to_owned(),
            actor_email: self.by.email().to_owned(),
            reason: consent.reason.clone(),
        })
    }
}
