//! Pauses between tries.

use rand::RngExt as _;

/// The pause before the next try: doubles from the kind's first, at most an hour, and each is cut
/// by up to a third at random so that rows which failed together do not return together.
pub(crate) fn jittered_backoff_ms(first_ms: i64, tries: i32) -> i64 {
    let doublings = u32::try_from(tries.clamp(0, 20)).unwrap_or_default();
    let full = first_ms.saturating_mul(1_i64 << doublings).min(3_600_000);
    full - rand::rng().random_range(0..=full / 3)
}
