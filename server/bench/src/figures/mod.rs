//! Every figure there is, one module each.
//!
//! A figure measures in rounds, its floor in the same rounds, and says what it compared. What it
//! claims about its floor it checks itself: a floor that does less would flatter.

mod life;
mod outbox;
mod rescue;
mod snapshot;
mod waiting;
mod walls;

use std::{future::Future, pin::Pin};

use crate::{bench::Bench, fault::Fault, line::Line};

type Measuring<'a> = Pin<Box<dyn Future<Output = Result<Vec<Line>, Fault>> + 'a>>;

/// A figure.
pub struct Figure {
    /// What it is asked for by.
    pub name: &'static str,
    /// What it measures, for people who wait for it.
    pub about: &'static str,
    /// Measures it.
    pub measure: for<'a> fn(&'a Bench) -> Measuring<'a>,
}

/// All of them, in the order of the table.
pub const FIGURES: &[Figure] = &[
    Figure {
        name: "life",
        about: "reserve, start and finish by 1, 8 and 32 callers, beside pgbench",
        measure: |bench| Box::pin(life::measure(bench)),
    },
    Figure {
        name: "outbox",
        about: "events to a NATS server, beside the row writes alone",
        measure: |bench| Box::pin(outbox::measure(bench)),
    },
    Figure {
        name: "waiting",
        about: "claims with 1 k, 100 k and 1 M waiting events",
        measure: |bench| Box::pin(waiting::measure(bench)),
    },
    Figure {
        name: "rescue",
        about: "calls of killed workers, until another moves them on",
        measure: |bench| Box::pin(rescue::measure(bench)),
    },
    Figure {
        name: "snapshot",
        about: "throughput before and while a read transaction is held open",
        measure: |bench| Box::pin(snapshot::measure(bench)),
    },
    Figure {
        name: "walls",
        about: "a page of the list and a reservation, beside tables without policies",
        measure: |bench| Box::pin(walls::measure(bench)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_can_be_asked_for_by_one_name() {
        let mut names: Vec<_> = FIGURES.iter().map(|figure| figure.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FIGURES.len());
    }
}
