//! Who may do what: one policy for the buttons of the console and for the commands behind them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    action::{TargetType, Verb},
    operation::UnknownWord,
};

/// A person's role in one tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads, masked.
    Viewer,
    /// Decides about operations.
    Operator,
    /// An operator who also decides about others' requests.
    Approver,
    /// Looks after kinds, staff and tokens; moves no money.
    TenantAdmin,
    /// Reads what people did.
    Auditor,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 5] =
        [Self::Viewer, Self::Operator, Self::Approver, Self::TenantAdmin, Self::Auditor];

    /// The word that the database and the command line use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Approver => "approver",
            Self::TenantAdmin => "tenant-admin",
            Self::Auditor => "auditor",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }
}

/// One right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// See operations and what belongs to them, masked.
    Read,
    /// Confirm an unknown outcome.
    Confirm,
    /// Release a stuck lease.
    Release,
    /// Trigger a compensation.
    Compensate,
    /// Ask for reconciliation now.
    Reconcile,
    /// Ask for another attempt.
    Retry,
    /// Cancel what has not begun, give up what would retry.
    Cancel,
    /// Correct a wrong confirmation.
    Correct,
    /// Tell a dead event again.
    Requeue,
    /// Let the events behind a dead one go on without it.
    Skip,
    /// Run or drop a message that was not taken in.
    Inbox,
    /// Open incidents, gather records into them and close them.
    Incident,
    /// Act on many records at once.
    Bulk,
    /// Write notes and take an operation.
    Note,
    /// Add evidence.
    Evidence,
    /// Approve or reject others' requests.
    Approve,
    /// Reveal masked fields.
    Reveal,
    /// Read the audit log.
    ReadAudit,
    /// Share a view of a list with the team.
    ShareViews,
    /// Change operation kinds.
    ManageKinds,
    /// Change staff and roles.
    ManageStaff,
    /// Make and revoke tokens.
    ManageTokens,
    /// Make and revoke one's own tokens.
    OwnTokens,
}

impl Permission {
    /// All rights.
    pub const ALL: [Self; 23] = [
        Self::Read,
        Self::Confirm,
        Self::Release,
        Self::Compensate,
        Self::Reconcile,
        Self::Retry,
        Self::Cancel,
        Self::Correct,
        Self::Requeue,
        Self::Skip,
        Self::Inbox,
        Self::Incident,
        Self::Bulk,
        Self::Note,
        Self::Evidence,
        Self::Approve,
        Self::Reveal,
        Self::ReadAudit,
        Self::ShareViews,
        Self::ManageKinds,
        Self::ManageStaff,
        Self::ManageTokens,
        Self::OwnTokens,
    ];

    /// The right in words, as `/me` and refusals name it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Read => "read operations",
            Self::Confirm => "confirm unknown outcomes",
            Self::Release => "release stuck leases",
            Self::Compensate => "trigger compensations",
            Self::Reconcile => "reconcile now",
            Self::Retry => "retry failed operations",
            Self::Cancel => "cancel operations",
            Self::Correct => "correct confirmations",
            Self::Requeue => "requeue dead events",
            Self::Skip => "skip dead events",
            Self::Inbox => "run or drop inbox messages",
            Self::Incident => "open, gather and close incidents",
            Self::Bulk => "act on many records at once",
            Self::Note => "write notes and take operations",
            Self::Evidence => "add evidence",
            Self::Approve => "approve requests",
            Self::Reveal => "reveal masked fields",
            Self::ReadAudit => "read the audit log",
            Self::ShareViews => "share views of lists with the team",
            Self::ManageKinds => "change operation kinds",
            Self::ManageStaff => "change staff and roles",
            Self::ManageTokens => "make tokens of services and revoke any",
            Self::OwnTokens => "make and revoke your own tokens",
        }
    }

    /// The roles that hold this right, for a refusal that says who can help.
    #[must_use]
    pub fn holders(self) -> Vec<Role> {
        Role::ALL.into_iter().filter(|role| permits(*role, self)).collect()
    }
}

/// The policy.
#[must_use]
pub const fn permits(role: Role, permission: Permission) -> bool {
    use Permission as P;
    match permission {
        P::Read | P::OwnTokens => true,
        P::Confirm
        | P::Release
        | P::Compensate
        | P::Reconcile
        | P::Retry
        | P::Cancel
        | P::Correct
        | P::Requeue
        | P::Skip
        | P::Inbox
        | P::Incident
        | P::Bulk
        | P::Note
        | P::Evidence => matches!(role, Role::Operator | Role::Approver),
        P::Approve | P::Reveal => matches!(role, Role::Approver),
        P::ShareViews => {
            matches!(role, Role::Operator | Role::Approver | Role::TenantAdmin)
        }
        P::ReadAudit => matches!(role, Role::Auditor | Role::TenantAdmin),
        P::ManageKinds | P::ManageStaff | P::ManageTokens => matches!(role, Role::TenantAdmin),
    }
}

/// Whether a decision takes a factor that was given lately (T12): what moves money, or may, what takes a
/// lease away from a worker that still beats, and a new token, which acts without its person from then on.
/// `money` says what the record is about.
#[must_use]
pub const fn takes_factor(target: TargetType, verb: Verb, money: bool, force: bool) -> bool {
    match (target, verb) {
        // Asking the provider again moves nothing; a lease that ended is nobody's.
        (TargetType::Operation, Verb::Reconcile) => false,
        (TargetType::Operation, Verb::Release) => force,
        // A pause only stops what would move.
        (TargetType::Bulk, Verb::Pause | Verb::Abandon) => false,
        (TargetType::Token, Verb::Issue) => true,
        (
            TargetType::Operation
            | TargetType::Workflow
            | TargetType::Compensation
            | TargetType::Outbox
            | TargetType::Inbox
            | TargetType::Bulk,
            _,
        ) => money,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_a_live_lease_and_a_new_token_take_a_fresh_factor_and_nothing_else_does() {
        let operation =
            |verb, money, force| takes_factor(TargetType::Operation, verb, money, force);
        for verb in [Verb::Confirm, Verb::Retry, Verb::Cancel, Verb::Correct, Verb::Compensate] {
            assert!(operation(verb, true, false), "{verb}");
            assert!(!operation(verb, false, false), "{verb}");
        }
        assert!(operation(Verb::Release, false, true) && !operation(Verb::Release, true, false));
        assert!(!operation(Verb::Reconcile, true, false));
        assert!(takes_factor(TargetType::Bulk, Verb::Run, true, false));
        assert!(!takes_factor(TargetType::Bulk, Verb::Pause, true, false));
        assert!(takes_factor(TargetType::Token, Verb::Issue, false, false));
        assert!(!takes_factor(TargetType::Token, Verb::Revoke, true, false));
        assert!(!takes_factor(TargetType::Incident, Verb::Close, true, false));
    }

    #[test]
    fn an_administrator_moves_no_money_and_a_viewer_changes_nothing() {
        let changing =
            [Permission::Confirm, Permission::Release, Permission::Retry, Permission::Approve];
        for permission in changing {
            for role in [Role::Viewer, Role::TenantAdmin, Role::Auditor] {
                assert!(!permits(role, permission), "{role} {permission:?}");
            }
        }
    }

    #[test]
    fn every_right_has_a_holder() {
        for permission in Permission::ALL {
            assert!(!permission.holders().is_empty(), "{permission:?}");
        }
    }
}
