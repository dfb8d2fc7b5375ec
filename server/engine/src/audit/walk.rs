//! The walk along one chain: takes entry after entry and says what does not follow.
//!
//! It holds two entries at most and can be put down and taken up between any two, however long the
//! chain is. Hashes are computed here and not in the database that is judged.

use domain::{
    ids::TenantId,
    view::{ChainFault, ChainFindings},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sqlx::PgConnection;

use crate::{
    error::EngineError,
    store::audit_chain::{self, Ends, Link},
};

/// Entries that one step reads.
const STEP: i64 = 500;
/// Faults that are told one by one; the rest is counted.
const MAX_FAULTS: usize = 50;

/// A walk, at the place where it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Walk {
    /// The last entry to walk.
    to: i64,
    /// The last entry that was walked.
    at: i64,
    /// Its hash, which the next must follow from.
    hash: String,
    /// The first entry that did not follow, until the one that belongs in its place is found.
    suspect: Option<Suspect>,
    /// What was found so far.
    found: ChainFindings,
    /// Whether nothing is left to walk.
    over: bool,
}

/// An entry that does not follow from those before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Suspect {
    at: i64,
    /// The hash before it.
    before: String,
    /// The hash that stands on it.
    hash: String,
    /// The entry after it, where that one did not follow either.
    next: Option<(String, String)>,
}

impl Walk {
    /// A walk along the chain between two ends.
    pub(super) fn new(ends: &Ends) -> Self {
        let mut walk = Self {
            to: ends.head.as_ref().map(|head| head.0).or(ends.last).unwrap_or_default(),
            at: 0,
            hash: String::new(),
            suspect: None,
            found: ChainFindings::default(),
            over: false,
        };
        if let Some((seq, hash)) = &ends.head {
            walk.found.seq = *seq;
            walk.found.hash.clone_from(hash);
        }
        match (&ends.head, ends.last) {
            (None, Some(_)) => walk.finds(ChainFault::HeadMissing),
            (Some((seq, _)), Some(last)) if last > *seq => {
                walk.finds(ChainFault::BeyondHead { from: seq + 1, to: last });
            }
            _ => {}
        }
        walk
    }

    pub(super) const fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn into_found(self) -> ChainFindings {
        self.found
    }

    pub(super) const fn found(&self) -> &ChainFindings {
        &self.found
    }

    /// Reads and judges the next entries; says how many those were.
    pub(super) async fn step(
        &mut self,
        db: &mut PgConnection,
        tenant: TenantId,
    ) -> Result<i64, EngineError> {
        if self.over {
            return Ok(0);
        }
        let begun = self.found.rows;
        // The first step also looks for what stands before the first entry.
        let after = if begun == 0 { i64::MIN } else { self.at };
        let elsewhere = self.suspect.as_ref().map(|suspect| suspect.at);
        let links = audit_chain::links(db, tenant, (after, self.to), elsewhere, STEP).await?;
        let is_end = links.len() < usize::try_from(STEP).unwrap_or(usize::MAX);
        for link in &links {
            self.take(link);
            // Only what is read from now on is also told as it would stand there.
            let suspect = self.suspect.as_ref().map(|suspect| suspect.at);
            if suspect.is_some() && suspect != elsewhere {
                return Ok(self.found.rows - begun);
            }
        }
        if is_end {
            self.end();
        }
        Ok(self.found.rows - begun)
    }

    fn take(&mut self, link: &Link) {
        self.found.rows += 1;
        if link.seq < 1 {
            self.finds(ChainFault::BeforeBeginning { at: link.seq });
            return;
        }
        let is_next = link.seq == self.at + 1;
        if !is_next {
            self.finds(ChainFault::Missing { from: self.at + 1, to: link.seq - 1 });
        } else if digest(&self.hash, &link.text) != link.hash {
            if self.is_swapped(link) {
                return;
            }
            self.does_not_follow(link);
        }
        (self.at, self.hash) = (link.seq, link.hash.clone());
    }

    fn does_not_follow(&mut self, link: &Link) {
        if digest("", &link.text) == link.hash {
            self.finds(ChainFault::SecondBeginning { at: link.seq });
            return;
        }
        match &mut self.suspect {
            None => {
                self.suspect = Some(Suspect {
                    at: link.seq,
                    before: self.hash.clone(),
                    hash: link.hash.clone(),
                    next: None,
                });
            }
            Some(suspect) if suspect.at + 1 == link.seq => {
                suspect.next = Some((link.text.clone(), link.hash.clone()));
            }
            Some(_) => {}
        }
        if let Some(ChainFault::Altered { to, .. }) = self.found.faults.last_mut()
            && *to == link.seq - 1
        {
            *to = link.seq;
            return;
        }
        self.finds(ChainFault::Altered { from: link.seq, to: link.seq });
    }

    /// Whether an entry is the one that belongs where the walk first went wrong: then both are told as
    /// one fault, whether their hashes went with them or stayed.
    fn is_swapped(&mut self, link: &Link) -> bool {
        let (Some(suspect), Some(moved)) = (&self.suspect, &link.moved) else { return false };
        let belongs = digest(&suspect.before, moved);
        let (carried, stayed) = (belongs == link.hash, belongs == suspect.hash);
        if !carried && !stayed {
            return false;
        }
        let swapped = ChainFault::Swapped { one: suspect.at, other: link.seq };
        // What followed the suspect was judged by the hash that it carried.
        let next_follows = carried
            && suspect.next.as_ref().is_some_and(|(text, hash)| digest(&link.hash, text) == *hash);
        let at = suspect.at;
        self.hash = if carried { suspect.hash.clone() } else { link.hash.clone() };
        self.at = link.seq;
        self.suspect = None;
        for fault in &mut self.found.faults {
            let ChainFault::Altered { from, to } = *fault else { continue };
            if from == at && (to == at || (to == at + 1 && next_follows)) {
                *fault = swapped;
                return true;
            }
        }
        self.finds(swapped);
        true
    }

    /// Compares the last entry that is there with the record of the newest.
    fn end(&mut self) {
        self.over = true;
        if self.at < self.to {
            self.finds(ChainFault::TailMissing { from: self.at + 1, to: self.to });
        } else if self.found.seq > 0 && self.found.hash != self.hash {
            self.finds(ChainFault::HeadAltered { at: self.at });
        }
    }

    fn finds(&mut self, fault: ChainFault) {
        if self.found.faults.len() < MAX_FAULTS {
            self.found.faults.push(fault);
        } else {
            self.found.more += 1;
        }
    }
}

/// The hash of an entry after another, as `audit_add` takes it.
fn digest(before: &str, text: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(hex::decode(before).unwrap_or_default());
    hash.update(text.as_bytes());
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of entries that say their own place and what was done there.
    fn chain(length: i64) -> Vec<Link> {
        let mut before = String::new();
        (1..=length)
            .map(|seq| {
                let text = format!("[{seq}] e{seq}");
                before = digest(&before, &text);
                Link { seq, text, moved: None, hash: before.clone() }
            })
            .collect()
    }

    /// What an entry of the chain says but its place.
    fn content(link: &Link) -> String {
        link.text.split_once(' ').unwrap().1.to_owned()
    }

    /// What a walk finds in entries whose head was recorded when they were whole.
    fn faults(links: &[Link], head: &Link) -> Vec<ChainFault> {
        let last = links.last().map(|link| link.seq);
        let mut walk = Walk::new(&Ends { head: Some((head.seq, head.hash.clone())), last });
        for link in links.iter().filter(|link| link.seq <= head.seq) {
            let suspect = walk.suspect.as_ref();
            let moved = suspect.map(|suspect| format!("[{}] {}", suspect.at, content(link)));
            walk.take(&Link { moved, ..link.clone() });
        }
        walk.end();
        walk.found.faults
    }

    #[test]
    fn a_chain_as_it_was_written_is_whole() {
        let links = chain(5);
        assert_eq!(faults(&links, &links[4]), []);
        assert_eq!(faults(&chain(1), &chain(1)[0]), []);
        let mut empty = Walk::new(&Ends { head: None, last: None });
        empty.end();
        assert!(empty.found.is_whole());
    }

    #[test]
    fn each_way_to_tamper_is_told_with_its_place() {
        let links = chain(6);
        let head = links[5].clone();
        let mut edited = links.clone();
        edited[2].text.push('x');
        assert_eq!(faults(&edited, &head), [ChainFault::Altered { from: 3, to: 3 }]);
        edited[5].text.push('x');
        let two = [3, 6].map(|at| ChainFault::Altered { from: at, to: at });
        assert_eq!(faults(&edited, &head), two);
        let mut gap = links.clone();
        gap.remove(2);
        assert_eq!(faults(&gap, &head), [ChainFault::Missing { from: 3, to: 3 }]);
        assert_eq!(faults(&links[1..], &head), [ChainFault::Missing { from: 1, to: 1 }]);
        assert_eq!(faults(&links[..4], &head), [ChainFault::TailMissing { from: 5, to: 6 }]);
        assert_eq!(faults(&[], &head), [ChainFault::TailMissing { from: 1, to: 6 }]);
        assert_eq!(faults(&links, &links[3]), [ChainFault::BeyondHead { from: 5, to: 6 }]);
        let mut second = links.clone();
        second[3].hash = digest("", &second[3].text);
        assert_eq!(faults(&second, &head)[0], ChainFault::SecondBeginning { at: 4 });
        let mut rehashed = links.clone();
        rehashed[5].text.push('x');
        rehashed[5].hash = digest(&rehashed[4].hash, &rehashed[5].text);
        assert_eq!(faults(&rehashed, &head), [ChainFault::HeadAltered { at: 6 }]);
        let mut early = links.clone();
        early.insert(0, Link { seq: 0, ..links[0].clone() });
        assert_eq!(faults(&early, &head), [ChainFault::BeforeBeginning { at: 0 }]);
    }

    #[test]
    fn swapped_entries_are_told_as_one_fault_wherever_their_hashes_went() {
        let links = chain(8);
        let head = links[7].clone();
        for (one, other) in [(1, 5), (1, 2), (1, 3), (0, 7), (6, 7)] {
            let swapped = [ChainFault::Swapped { one: links[one].seq, other: links[other].seq }];
            let mut stayed = links.clone();
            for (at, from) in [(one, other), (other, one)] {
                stayed[at].text = format!("[{}] {}", links[at].seq, content(&links[from]));
            }
            assert_eq!(faults(&stayed, &head), swapped, "contents of {one} and {other}");
            let mut carried = stayed;
            carried[one].hash.clone_from(&links[other].hash);
            carried[other].hash.clone_from(&links[one].hash);
            assert_eq!(faults(&carried, &head), swapped, "entries {one} and {other}");
        }
    }

    #[test]
    fn what_is_found_is_bounded_and_the_rest_counted() {
        let mut links = chain(301);
        let head = links[300].clone();
        for link in links.iter_mut().step_by(2) {
            link.text.push('x');
        }
        let last = Some(301);
        let mut walk = Walk::new(&Ends { head: Some((301, head.hash)), last });
        links.iter().for_each(|link| walk.take(link));
        assert_eq!(walk.found.faults.len(), MAX_FAULTS);
        assert_eq!(walk.found.more, 151 - 50);
    }
}
