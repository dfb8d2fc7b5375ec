//! State machines other than the operation's: what is not in a machine's rules is forbidden, here
//! and in the database's own copy of them (`machine_moves`), which a test holds together.

use std::fmt::Debug;

use crate::operation::UnknownWord;

/// One legal move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule<S: 'static> {
    /// The rule's number in docs/, such as `X3`.
    pub rule: &'static str,
    /// From which state; `None` for the insert.
    pub from: Option<S>,
    /// To which state.
    pub to: S,
}

/// The states of one machine and every move between them.
pub trait Machine: Copy + Eq + Debug + 'static {
    /// The machine's name in the database.
    const NAME: &'static str;
    /// All states, in the order that lists offer them.
    const ALL: &'static [Self];
    /// Every legal move.
    const RULES: &'static [Rule<Self>];

    /// The word that the database and the JSON API use.
    fn as_str(self) -> &'static str;

    /// Whether a rule leads from one state to another.
    fn permits(rule: &str, from: Option<Self>, to: Self) -> bool {
        Self::RULES.iter().any(|known| known.rule == rule && known.from == from && known.to == to)
    }

    /// Reads the word.
    ///
    /// # Errors
    /// [`UnknownWord`].
    fn parse(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .iter()
            .copied()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }

    /// Whether nothing but a rule back to itself leaves this state.
    fn is_final(self) -> bool {
        !Self::RULES.iter().any(|rule| rule.from == Some(self) && rule.to != self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::ApprovalStatus as A;

    #[test]
    fn a_move_is_permitted_only_as_its_rule_says_from_there_to_there() {
        assert!(A::permits("A6", Some(A::Pending), A::Approved));
        assert!(A::permits("A5", None, A::Pending));
        assert!(!A::permits("A7", Some(A::Pending), A::Approved), "another rule");
        assert!(!A::permits("A6", Some(A::Stale), A::Approved), "from elsewhere");
        assert!(!A::permits("A6", None, A::Approved), "from nothing");
        assert!(!A::permits("A6", Some(A::Pending), A::Rejected), "to elsewhere");
    }
}
