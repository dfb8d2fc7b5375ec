//! Medians, percentiles and spread of what was measured.

/// The middle value; of two middles their mean. Nothing measured is not a number.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// The smallest measured value that at least `percent` of all do not exceed (nearest rank).
pub fn percentile(values: &[f64], percent: usize) -> f64 {
    let sorted = sorted(values);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// The least and the most.
pub fn spread(values: &[f64]) -> (f64, f64) {
    let sorted = sorted(values);
    match (sorted.first(), sorted.last()) {
        (Some(least), Some(most)) => (*least, *most),
        _ => (f64::NAN, f64::NAN),
    }
}

/// Each value divided by its neighbour of the same round.
pub fn ratios(values: &[f64], floors: &[f64]) -> Vec<f64> {
    values.iter().zip(floors).map(|(value, floor)| value / floor).collect()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert!((percentile(&hundred, 99) - 99.0).abs() < 1e-9);
        assert!((percentile(&hundred, 50) - 50.0).abs() < 1e-9);
        assert!((percentile(&[7.0], 99) - 7.0).abs() < 1e-9);
        assert!(percentile(&[], 99).is_nan());
    }

    #[test]
    fn the_spread_is_least_and_most() {
        assert_eq!(spread(&[2.0, 1.0, 3.0]), (1.0, 3.0));
    }
}
