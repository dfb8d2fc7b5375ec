//! The table on the screen and the file beside it.

use std::{fs, path::Path};

use serde::Serialize;

use crate::{
    fault::{Fault, trying},
    line::Line,
    machine::Machine,
};

const HEAD: [&str; 4] = ["figure", "value", "ratio", "budget"];

/// Everything that one run found.
#[derive(Debug, Serialize)]
pub struct Run {
    /// When it began, in UTC.
    pub begun: String,
    /// `short` or `full`.
    pub form: &'static str,
    /// What it ran on.
    pub machine: Machine,
    /// The load of the machine when it began and when it ended.
    pub load: [Option<f64>; 2],
    /// Figure by figure.
    pub figures: Vec<Measured>,
}

/// What one figure's module measured.
#[derive(Debug, Serialize)]
pub struct Measured {
    pub name: &'static str,
    /// How long a flush to the disk took just before, in microseconds; `None` on a foreign server.
    pub flush_us: Option<f64>,
    pub seconds: f64,
    pub lines: Vec<Line>,
}

/// Lines in columns, their head first.
pub fn render(lines: &[&Line]) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(lines.iter().map(|line| line.cells()));
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2)];
    let mut text = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(widths) {
            let fill = " ".repeat(width - cell.chars().count());
            text.push_str(&format!("{cell}{fill} | "));
        }
        text.push_str(&row[3]);
        text.push('\n');
    }
    text
}

impl Run {
    /// The table of all figures.
    pub fn table(&self) -> String {
        let lines: Vec<&Line> = self.figures.iter().flat_map(|each| &each.lines).collect();
        render(&lines)
    }

    /// Writes all of it as JSON.
    pub fn write(&self, path: &Path) -> Result<(), Fault> {
        let json = serde_json::to_vec_pretty(self)
            .map_err(|error| Fault::Said(format!("the run is no JSON: {error}")))?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(trying("make the folder of the JSON"))?;
        }
        fs::write(path, json).map_err(trying("write the JSON"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Budget;

    #[test]
    fn columns_stand_under_each_other_and_a_miss_ends_its_line() {
        let line = |rule, figure: &str, rate| {
            Line::beside_floor(rule, figure, "/s", vec![rate], vec![1000.0], "floor")
                .within(Budget::at_least(0.6, "× floor"))
        };
        let (slow, fast) = (line("P8", "a life of many words", 90.0), line("P9", "b", 900.0));
        let text = render(&[&slow, &fast]);
        let bars: Vec<Vec<usize>> = text
            .lines()
            .map(|line| line.chars().enumerate().filter(|(_, c)| *c == '|').map(|(at, _)| at))
            .map(Iterator::collect)
            .collect();
        assert_eq!(bars.len(), 3);
        assert!(bars.iter().all(|each| *each == bars[0] && each.len() == 3));
        let ends: Vec<bool> = text.lines().map(|line| line.ends_with("over budget")).collect();
        assert_eq!(ends, [false, true, false]);
    }
}
