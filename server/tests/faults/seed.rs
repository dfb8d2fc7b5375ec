//! Seeds: one for the run, printed, and one per scene made from it and the scene's name, so that
//! scenes which run side by side do not draw from each other.

use std::sync::LazyLock;

use rand::{SeedableRng as _, rngs::StdRng};

static SEED: LazyLock<u64> = LazyLock::new(|| match std::env::var("FAULT_SEED") {
    Ok(text) if !text.is_empty() => text.parse().expect("FAULT_SEED is a whole number"),
    _ => rand::random::<u32>().into(),
});

/// The run's.
pub fn seed() -> u64 {
    *SEED
}

/// A scene's.
pub fn of(scene: &str) -> StdRng {
    let own = scene
        .bytes()
        .fold(seed(), |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    StdRng::seed_from_u64(own)
}
