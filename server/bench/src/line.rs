//! One line of the table: what was measured, beside what, within which budget.
//!
//! Guards against the figure that nobody can judge: a ratio always names its floor, and a budget is
//! held against the ratio, never against an absolute time (other machines, other disks).

use std::fmt;

use serde::Serialize;

use crate::stats::{median, ratios, spread};

/// How a ratio is judged.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Budget {
    bound: Bound,
    limit: f64,
    /// What the ratio is a multiple of, such as `floor` or `leases`.
    unit: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Bound {
    AtLeast,
    AtMost,
}

impl Budget {
    /// The ratio must reach the limit.
    pub const fn at_least(limit: f64, unit: &'static str) -> Self {
        Self { bound: Bound::AtLeast, limit, unit }
    }

    /// The ratio must not exceed the limit.
    pub const fn at_most(limit: f64, unit: &'static str) -> Self {
        Self { bound: Bound::AtMost, limit, unit }
    }

    /// Whether a ratio misses it; one that could not be computed does.
    pub fn is_missed(self, ratio: f64) -> bool {
        let is_kept = match self.bound {
            Bound::AtLeast => ratio >= self.limit,
            Bound::AtMost => ratio <= self.limit,
        };
        !is_kept
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.bound == Bound::AtLeast { '≥' } else { '≤' };
        write!(f, "{sign} {} {}", self.limit, self.unit)
    }
}

/// A figure as it is printed and stored.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The row of docs/performance.md or another rule that it answers to.
    pub rule: &'static str,
    /// What was measured.
    pub figure: String,
    /// The value in words, with its spread.
    pub value: String,
    /// The value of each round or slice of time, in `unit`.
    pub rounds: Vec<f64>,
    /// The floor of each round, or each slice before what is measured began; may be empty.
    pub floor: Vec<f64>,
    /// What both are counted in.
    pub unit: &'static str,
    /// The value beside its floor: the median of the rounds' own ratios.
    pub ratio: Option<f64>,
    /// What the ratio is to, with its own value.
    pub beside: String,
    /// What the ratio must keep.
    pub budget: Option<Budget>,
    /// Whether it misses the budget.
    pub over_budget: bool,
}

impl Line {
    /// A figure whose rounds stand beside a floor of the same rounds.
    pub fn beside_floor(
        rule: &'static str,
        figure: impl Into<String>,
        unit: &'static str,
        rounds: Vec<f64>,
        floor: Vec<f64>,
        beside: &str,
    ) -> Self {
        let all = ratios(&rounds, &floor);
        let (least, most) = spread(&all);
        let beside =
            format!("× {beside} {} [{least:.2}…{most:.2}]", with_unit(median(&floor), unit));
        Self {
            rule,
            figure: figure.into(),
            value: in_words(&rounds, unit),
            ratio: Some(median(&all)),
            rounds,
            floor,
            unit,
            beside,
            budget: None,
            over_budget: false,
        }
    }

    /// A figure that is a ratio by itself.
    pub fn alone(
        rule: &'static str,
        figure: impl Into<String>,
        unit: &'static str,
        rounds: Vec<f64>,
        ratio: f64,
        beside: impl Into<String>,
    ) -> Self {
        Self {
            rule,
            figure: figure.into(),
            value: in_words(&rounds, unit),
            rounds,
            floor: Vec::new(),
            unit,
            ratio: Some(ratio),
            beside: beside.into(),
            budget: None,
            over_budget: false,
        }
    }

    /// Adds what else should be read beside the value.
    pub fn with(mut self, words: &str) -> Self {
        self.value = format!("{}, {words}", self.value);
        self
    }

    /// Holds it against a budget.
    pub fn within(mut self, budget: Budget) -> Self {
        self.over_budget = self.ratio.is_some_and(|ratio| budget.is_missed(ratio));
        self.budget = Some(budget);
        self
    }

    /// The four cells of the table; a miss is told at the line's end.
    pub fn cells(&self) -> [String; 4] {
        let ratio =
            self.ratio.map(|ratio| format!("{ratio:.2} {}", self.beside)).unwrap_or_default();
        let mut budget = self.budget.map_or_else(|| "–".into(), |budget| budget.to_string());
        if self.over_budget {
            budget.push_str("  over budget");
        }
        [format!("{} {}", self.rule, self.figure), self.value.clone(), ratio, budget]
    }
}

/// The median with its spread.
fn in_words(rounds: &[f64], unit: &'static str) -> String {
    let (least, most) = spread(rounds);
    format!("{} [{}…{}]", with_unit(median(rounds), unit), number(least), number(most))
}

/// `1,234/s` or `1.23 ms`.
pub fn with_unit(value: f64, unit: &str) -> String {
    if unit.starts_with('/') {
        format!("{}{unit}", number(value))
    } else {
        format!("{} {unit}", number(value))
    }
}

/// Three digits that matter, thousands set apart.
pub fn number(value: f64) -> String {
    if value.abs() < 10.0 {
        return format!("{value:.2}");
    }
    if value.abs() < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(rounds: &[f64], floor: &[f64]) -> Line {
        Line::beside_floor("P8", "a life", "/s", rounds.to_vec(), floor.to_vec(), "floor")
    }

    #[test]
    fn a_line_that_misses_its_budget_says_so_at_its_end() {
        let slow = line(&[500.0], &[1000.0]).within(Budget::at_least(0.6, "× floor"));
        assert!(slow.cells()[3].ends_with("over budget"));
        let fast = line(&[600.0], &[1000.0]).within(Budget::at_least(0.6, "× floor"));
        assert!(!fast.cells()[3].contains("over budget"));
    }

    #[test]
    fn a_ratio_that_could_not_be_computed_misses_every_budget() {
        for budget in [Budget::at_least(0.6, ""), Budget::at_most(2.0, "")] {
            assert!(line(&[], &[]).within(budget).over_budget);
        }
    }

    #[test]
    fn the_ratio_is_the_median_of_the_rounds_own_ratios() {
        // A slow moment of the machine hits both of a round: their ratio stays.
        let line = line(&[100.0, 10.0, 100.0], &[200.0, 20.0, 200.0]);
        assert!((line.ratio.unwrap_or_default() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn numbers_are_set_apart_by_thousands() {
        assert_eq!(number(1_234_567.4), "1,234,567");
        assert_eq!(number(999.6), "1,000");
        assert_eq!(number(12.34), "12.3");
        assert_eq!(number(0.456), "0.46");
        assert_eq!(with_unit(1500.0, "/s"), "1,500/s");
        assert_eq!(with_unit(1.5, "ms"), "1.50 ms");
    }
}
