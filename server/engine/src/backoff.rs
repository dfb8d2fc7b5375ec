//! Pauses between tries.

use rand::RngExt as _;

/// The pause before the next try: doubles from the kind's first, at most an hour, and each is cut
/// by up to a third at random so that rows which failed together do not return together.
pub(crate) fn jittered_backoff_ms(first_ms: i64, tries: i32) -> i64 {
    let doublings = u32::try_from(tries.clamp(0, 20)).unwrap_or_default();
    let full = first_ms.saturating_mul(1_i64 << doublings).min(3_600_000);
    full - rand::rng().random_range(0..=full / 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_an_hour_and_are_cut_by_at_most_a_third() {
        for (tries, full) in [(0, 900), (1, 1_800), (4, 14_400), (30, 3_600_000), (-1, 900)] {
            let pauses: Vec<i64> = (0..1_000).map(|_| jittered_backoff_ms(900, tries)).collect();
            assert!(pauses.iter().all(|pause| (full - full / 3..=full).contains(pause)), "{tries}");
            let (least, most) = (pauses.iter().min(), pauses.iter().max());
            assert!(
                least < Some(&(full - full / 4)) && most > Some(&(full - full / 12)),
                "{tries}: they spread"
            );
        }
    }
}
