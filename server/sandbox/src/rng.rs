//! A seeded generator whose sequence never changes: the same seed tells the same story.
//!
//! `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
//! Generators, 2014). A library generator may change its stream between
//! versions, and would then tell another story; this one is twelve lines.
//! Not for secrets.

use sha2::{Digest, Sha256};

/// A `SplitMix64` stream.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts the stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Starts a stream of its own for `label` under `seed`, so that one more
    /// draw in one place never shifts another place.
    pub fn keyed(seed: u64, label: &str) -> Self {
        let digest = Sha256::new().chain_update(seed.to_be_bytes()).chain_update(label).finalize();
        let (head, _) = digest.split_at(8);
        Self(head.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte)))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, 0 for a bound of 0. The bias of the remainder
    /// is far below what a story of thousands of steps can show.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64().checked_rem(bound).unwrap_or(0)
    }

    /// One of `items`.
    ///
    /// # Panics
    /// When `items` is empty: the lists are written in this crate.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        let index = self.below(items.len() as u64);
        usize::try_from(index)
            .ok()
            .and_then(|i| items.get(i))
            .copied()
            .expect("a list to pick from is never empty")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        let mut rng = SplitMix64::new(1_234_567);
        assert_eq!(rng.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn labels_have_streams_of_their_own() {
        let first = SplitMix64::keyed(7, "acme").next_u64();
        assert_eq!(first, SplitMix64::keyed(7, "acme").next_u64());
        assert_ne!(first, SplitMix64::keyed(7, "globex").next_u64());
        assert_ne!(first, SplitMix64::keyed(8, "acme").next_u64());
    }
}
