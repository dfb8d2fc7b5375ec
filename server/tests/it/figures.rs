//! Figures of a test, printed past libtest's capture: they matter most where the test passes.

use std::{io::Write as _, time::Duration};

/// A line on the real standard output.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "  {line}");
}

/// The value below which so many of a hundred lie, in milliseconds.
pub fn percentile(times: &mut [Duration], of_a_hundred: usize) -> u128 {
    times.sort_unstable();
    let at = (times.len() * of_a_hundred).div_ceil(100).max(1) - 1;
    times.get(at).map_or(0, Duration::as_millis)
}
